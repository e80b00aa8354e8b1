/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * All programs of Hearth take '_' for '-' in the names of flags: "--token_file" becomes
 * "--token-file". Arguments behind "--" and what follows a '=' stay. A value that begins with "--"
 * must be written as --flag=VALUE, or it would be changed too.
 */
void option_hyphens_replace(int argc, char **argv);
