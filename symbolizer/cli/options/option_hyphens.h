/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * All programs of Hearth accept '_' instead of '-' in the names of flags: this function changes
 * "--token_file" to "--token-file". It changes neither arguments after "--" nor the text after a
 * '='. A separate argument that begins with "--" counts as a flag, also if it is the value of the
 * flag before it: users must write such a value as --flag=VALUE.
 */
void option_hyphens_replace(int argc, char **argv);
