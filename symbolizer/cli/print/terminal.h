/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What standard output is. */

#include "common/bytes.h"

struct terminal {
	bool is_terminal;
	bool colours; /* a terminal, and NO_COLOR is not set */
	bool ascii;   /* the locale's characters are not UTF-8 */
	int width;
	int height;
};

/* A pipe or file counts as 120 columns and 50 lines. */
struct terminal terminal_of_stdout(void);

/* Rows of a table, so that its heading, a remark below it and the prompt stay visible with them; 30
 * where the output is no terminal. */
uint32_t terminal_table_rows(const struct terminal *terminal);

/* Lines that a text takes. */
uint32_t terminal_lines_of(const struct bytes *text);

/* Writes all to standard output. A reader that went away (`| head`) is no error. 0 or a negative
 * errno, said. */
int terminal_print(const struct bytes *text);
