/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Texts from outside (names, paths, messages of the server) for a terminal. Each control character,
 * which could move the cursor or do worse, is replaced by '?'.
 */

#include "common/bytes.h"

/*
 * Appends @text in at most @max_columns columns; -1: all of it. From a longer text the middle is
 * removed and replaced by an ellipsis, because names and paths differ at their ends. Returns the
 * number of columns used; a character counts as one column.
 */
int printable_append(struct bytes *out, const char *text, int max_columns);

/* Appends a cell of a table: @text, shortened or padded to @width columns, and two blanks. */
void printable_append_cell(struct bytes *out, const char *text, int width);

/*
 * Appends all of @text to a line of which @used columns are taken. Where a word would end beyond
 * column @width, it begins a new line with @indent blanks.
 */
void printable_append_wrapped(struct bytes *out, const char *text, int used, int indent, int width);

/*
 * Appends a shell command on separate lines, each after @indent blanks. Long commands are broken
 * between words with a backslash, so that a shell joins the lines again when a user pastes them.
 * Appends nothing for "".
 */
void printable_append_command(struct bytes *out, const char *command, int indent, int width);
