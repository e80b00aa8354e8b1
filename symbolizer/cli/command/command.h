/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The commands of `hearth`, one file each. argv[0] is "hearth NAME". */

#include "symbolizer/cli/options/exit_code.h"

#define COMMAND(name, run, summary) enum exit_code run(int argc, char **argv);
#include "symbolizer/cli/command/commands.def"
#undef COMMAND
