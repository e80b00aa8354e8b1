/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Size and abilities of the terminal at standard output, and writing to it. */

#include "common/bytes.h"

struct terminal {
	bool is_terminal;
	bool colours; /* a terminal, and NO_COLOR is not set */
	bool ascii;   /* the character set of the locale is not UTF-8 */
	int width;
	int height;
};

/* For a pipe or file: 120 columns and 50 lines. */
struct terminal terminal_of_stdout(void);

/*
 * Returns how many rows of a table fit the terminal together with the table's heading, a remark
 * below it and the prompt; 30 if the output is not a terminal.
 */
uint32_t terminal_table_rows(const struct terminal *terminal);

/* Returns the number of lines of a text. */
uint32_t terminal_lines_of(const struct bytes *text);

/*
 * Writes @text to standard output. A reader that closed the pipe (`| head`) is not an error.
 * Returns 0, or logs the error and returns a negative errno.
 */
int terminal_print(const struct bytes *text);
