/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The commands of `hearth`, one file each. argv[0] is "hearth NAME".
 */

enum exit_code {
	EXIT_OK = 0,
	EXIT_ERROR = 1,
	EXIT_USAGE = 2,
	EXIT_NO_DATA = 3, /* the question was right, and there is nothing to show */
};

#define COMMAND(name, run, summary) enum exit_code run(int argc, char **argv);
#include "symbolizer/cli/commands.def"
#undef COMMAND
