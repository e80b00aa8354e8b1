/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/cli/print/terminal.h"

#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/file.h"
#include "common/log.h"

#define DEFAULT_WIDTH  120
#define DEFAULT_HEIGHT 50

/* Rows of a table if the output is not a terminal. */
#define DEFAULT_TABLE_ROWS 30

/* Heading, remark and prompt. */
#define LINES_AROUND_TABLE 3

struct terminal terminal_of_stdout(void)
{
	struct terminal terminal = { .width = DEFAULT_WIDTH, .height = DEFAULT_HEIGHT };
	const char *no_color = getenv("NO_COLOR");
	struct winsize size = {};

	terminal.is_terminal = isatty(STDOUT_FILENO) == 1;
	terminal.colours = terminal.is_terminal && (!no_color || no_color[0] == '\0');
	terminal.ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	if (terminal.is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
	    size.ws_col > 0) {
		terminal.width = size.ws_col;
		terminal.height = MAX(size.ws_row, 10);
	}
	return terminal;
}

uint32_t terminal_table_rows(const struct terminal *terminal)
{
	if (!terminal->is_terminal)
		return DEFAULT_TABLE_ROWS;
	return (uint32_t)(terminal->height - LINES_AROUND_TABLE);
}

uint32_t terminal_lines_of(const struct bytes *text)
{
	uint32_t count = 0;

	for (size_t i = 0; i < text->size; i++)
		count += text->data[i] == '\n';
	return count;
}

int terminal_print(const struct bytes *text)
{
	int r = bytes_error(text);

	if (r == 0)
		r = write_all(STDOUT_FILENO, text->data, text->size);
	if (r < 0 && r != -EPIPE)
		return log_error_errno(r, "cannot write the output: %m");
	return 0;
}
