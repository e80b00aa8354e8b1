/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The commands of `hearth`, one file each. argv[0] is "hearth NAME".
 */

#include "common/base.h"

enum exit_code {
#define EXIT_CODE(name, number, meaning) name = number,
#include "symbolizer/cli/exit_codes.def"
#undef EXIT_CODE
};

/* Of a failure that was said: -EINVAL is a mistake in the arguments that the server found. */
static inline enum exit_code exit_code_of_error(int error)
{
	return error == -EINVAL ? EXIT_USAGE : EXIT_ERROR;
}

#define COMMAND(name, run, summary) enum exit_code run(int argc, char **argv);
#include "symbolizer/cli/commands.def"
#undef COMMAND
