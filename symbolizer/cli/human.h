/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Values and texts for people: "1.25 s", "3.4 MiB", "12.3 %", and names that cannot command the
 * terminal.
 */

#include "common/bytes.h"
#include "common/event_type.h"

#define HUMAN_SIZE 24

/* @value in microseconds or bytes, as the event type has it. */
void human_value(enum event_type type, uint64_t value, char ret_text[HUMAN_SIZE]);
void human_bytes(uint64_t bytes, char ret_text[HUMAN_SIZE]);

/* "12.3 %"; "0.0 %" when @whole is 0. */
void human_share(uint64_t part, uint64_t whole, char ret_text[HUMAN_SIZE]);

/* "just now", "12 s ago", "3 h ago", "5 d ago". */
void human_age(uint64_t seconds, char ret_text[HUMAN_SIZE]);

/*
 * Appends @text in @max_columns columns; of a longer one the middle is left out and marked by an
 * ellipsis, because names and paths differ at their ends. -1: all of it. Control
 * characters, which could move the cursor or worse, become '?'. Returns the columns used; a
 * character counts as one.
 */
int human_append(struct bytes *out, const char *text, int max_columns);

/*
 * Appends all of @text to a line of which @used columns are taken, and begins further lines with
 * @indent blanks wherever a word would end behind column @width.
 */
void human_append_wrapped(struct bytes *out, const char *text, int used, int indent, int width);

/*
 * Appends a shell command on lines of its own, @indent blanks before them. It is broken between
 * words, with a backslash, so that a shell that the lines are pasted into joins them again. Nothing
 * for "".
 */
void human_append_command(struct bytes *out, const char *command, int indent, int width);
