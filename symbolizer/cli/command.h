/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The commands of `hearth`, one file each. argv[0] is "hearth NAME".
 */

enum exit_code {
#define EXIT_CODE(name, number, meaning) name = number,
#include "symbolizer/cli/exit_codes.def"
#undef EXIT_CODE
};

#define COMMAND(name, run, summary) enum exit_code run(int argc, char **argv);
#include "symbolizer/cli/commands.def"
#undef COMMAND
