/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/list/source_text.h"

#include <inttypes.h>
#include <string.h>

#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/list/source_line_text.h"
#include "symbolizer/cli/print/number_format.h"
#include "symbolizer/cli/print/printable.h"

/* Lines without a value that are printed before, between and after those with one. */
#define CONTEXT_LINES 3

/* "     line        self       total  " */
#define FIGURES_COLUMNS 35

/* A file of the answer while it is printed. */
struct printed_file {
	const struct source_text_options *options;
	const json_t *lines;
	struct bytes_view text;
	struct bytes *out;
	uint64_t next_line; /* number of the line at @at */
	size_t at;          /* offset in @text */
};

/* The line number @number, which is not before the last one asked for. Empty: it is not there. */
static struct bytes_view line_text(struct printed_file *file, uint64_t number)
{
	const char *begin, *end;
	struct bytes_view line = {};

	while (file->at < file->text.size) {
		begin = (const char *)file->text.data + file->at;
		end = memchr(begin, '\n', file->text.size - file->at);
		line.data = (const uint8_t *)begin;
		line.size = end ? (size_t)(end - begin) : file->text.size - file->at;
		if (file->next_line == number)
			return line;
		file->at += line.size + 1;
		file->next_line++;
	}
	return (struct bytes_view){};
}

static bool has_line(struct printed_file *file, uint64_t number)
{
	return line_text(file, number).data != NULL;
}

static void append_line(struct printed_file *file, uint64_t number, const json_t *row)
{
	char self[NUMBER_TEXT_SIZE] = "", total[NUMBER_TEXT_SIZE] = "";

	if (row && list_number(row, "self_value") > 0)
		format_value(file->options->event, list_number(row, "self_value"), self);
	if (row)
		format_value(file->options->event, list_number(row, "total_value"), total);
	if (number > 0)
		(void)bytes_append_format(file->out, "%9" PRIu64, number);
	else
		(void)bytes_append_format(file->out, "%9s", "?");
	(void)bytes_append_format(file->out, "  %10s  %10s  ", self, total);
	if (number > 0)
		source_line_append(file->out, line_text(file, number),
				   file->options->width - FIGURES_COLUMNS);
	(void)bytes_append_byte(file->out, '\n');
}

/* Appends the lines between two with values, or three dots in the place of many. */
static void append_between(struct printed_file *file, uint64_t after, uint64_t before)
{
	const uint64_t count = before - after - 1;
	const bool all = count <= 2 * CONTEXT_LINES + 1;

	if (file->text.size == 0)
		return;
	for (uint64_t i = after + 1; i < before; i++) {
		if (all || i - after <= CONTEXT_LINES || before - i <= CONTEXT_LINES) {
			if (has_line(file, i))
				append_line(file, i, NULL);
		} else if (i - after == CONTEXT_LINES + 1) {
			(void)bytes_append_format(file->out, "%9s\n", "...");
		}
	}
}

static uint64_t number_of(const json_t *lines, size_t i)
{
	return list_number(json_array_get(lines, i), "line");
}

static void append_lines(struct printed_file *file)
{
	const size_t count = json_array_size(file->lines);
	uint64_t last = 0;

	for (size_t i = 0; i < count; i++) {
		const uint64_t number = number_of(file->lines, i);

		/* Before the first line only its context. */
		if (last == 0 && number > CONTEXT_LINES + 1)
			last = number - CONTEXT_LINES - 1;
		if (number > last)
			append_between(file, last, number);
		append_line(file, number, json_array_get(file->lines, i));
		last = number;
	}
	if (last > 0)
		append_between(file, last, last + CONTEXT_LINES + 1);
}

static void append_file(const json_t *row, const struct source_text_options *options,
			struct bytes *out)
{
	const char *path = list_text(row, "file");
	struct printed_file file = {
		.options = options,
		.lines = json_object_get(row, "lines"),
		.out = out,
		.next_line = 1,
	};

	(void)printable_append(out, list_text(row, "function"), -1);
	(void)bytes_append_format(out, ", ");
	(void)printable_append(out, path[0] ? path : "file not known", -1);
	if (path[0])
		file.text = options->find(options->find_arg, list_text(row, "build_id"), path);
	(void)bytes_append_format(out, "%s\n%9s  %10s  %10s\n",
				  file.text.size > 0 ? "" : " (its text was not found)", "line",
				  "self", "total");
	append_lines(&file);
}

int source_text_write(const json_t *answer, const struct source_text_options *options,
		      struct bytes *out)
{
	const json_t *files = json_object_get(answer, "files");
	char self[NUMBER_TEXT_SIZE], total[NUMBER_TEXT_SIZE];

	if (!json_is_array(files))
		return -EBADMSG;
	format_value(options->event, list_number(answer, "self_value"), self);
	format_value(options->event, list_number(answer, "total_value"), total);
	(void)bytes_append_format(out, "self %s, total %s\n", self, total);
	for (size_t i = 0; i < json_array_size(files); i++) {
		(void)bytes_append_byte(out, '\n');
		append_file(json_array_get(files, i), options, out);
	}
	return bytes_error(out);
}
