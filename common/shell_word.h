/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Words of a command that is printed for people to copy into a shell. They may come from others: a
 * file's name that an agent reports must not become a command.
 */

#include "common/base.h"

/*
 * Appends @word to the text in @text (of @size bytes), in quotes where a shell would read it
 * otherwise. Control characters become '?'. What does not fit is cut.
 */
void shell_word_append(const char *word, char *text, size_t size);
