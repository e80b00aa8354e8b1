/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The exit statuses of `hearth`. */

#include "common/base.h"

enum exit_code {
#define EXIT_CODE(name, number, meaning) name = number,
#include "symbolizer/cli/options/exit_codes.def"
#undef EXIT_CODE
};

/*
 * Returns the exit status for a negative errno. -EINVAL means wrong arguments: the URL is invalid,
 * or the server refused the request.
 */
static inline enum exit_code exit_code_of_error(int error)
{
	return error == -EINVAL ? EXIT_USAGE : EXIT_ERROR;
}
