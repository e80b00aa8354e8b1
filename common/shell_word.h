/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Quotes words of a command that is printed for users to copy into a shell. Words may be untrusted:
 * an agent reports file names, and a file name must not run another command.
 */

#include "common/base.h"

/*
 * Appends @word to @text, a buffer of @size bytes. Quotes it if a shell would interpret it.
 * Replaces control characters by '?'. Truncates a word that does not fit.
 */
void shell_word_append(const char *word, char *text, size_t size);
