/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/list/disassembly_text.h"

#include <stdlib.h>
#include <string.h>

#include "common/scoped.h"
#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/list/source_line_text.h"
#include "symbolizer/cli/print/number_format.h"
#include "symbolizer/cli/print/printable.h"

/* Instructions without a value that are printed before and after those with one. */
#define CONTEXT_ROWS 4

/* "  self %        self       total  " */
#define FIGURES_COLUMNS 34

#define NO_INDEX SIZE_MAX

/* A file of the answer while it is printed. */
struct printed_code {
	const struct disassembly_text_options *options;
	const json_t *file, *rows, *places;
	const char *function; /* the selected one */
	uint64_t whole;       /* self value of all instructions */
	uint64_t least;       /* a row with a smaller total counts as one without a value */
	bool *is_shown;       /* [n_rows] */
	size_t n_rows;
	size_t place; /* of the last row that was printed, or NO_INDEX */
	struct bytes *out;
};

static size_t index_of(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	return json_is_integer(value) && json_integer_value(value) >= 0
		       ? (size_t)json_integer_value(value)
		       : NO_INDEX;
}

static bool has_value(const struct printed_code *code, size_t row)
{
	const uint64_t total = list_number(json_array_get(code->rows, row), "total_value");

	return total > 0 && total >= code->least;
}

static int compare_totals(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a > b ? -1 : a < b;
}

/* Finds the total of the last one of the largest rows that are to be shown. */
static int find_least(struct printed_code *code)
{
	scoped_free uint64_t *totals = calloc(code->n_rows + 1, sizeof(*totals));

	if (!totals)
		return -ENOMEM;
	for (size_t i = 0; i < code->n_rows; i++)
		totals[i] = list_number(json_array_get(code->rows, i), "total_value");
	qsort(totals, code->n_rows, sizeof(*totals), compare_totals);
	if (code->options->rows > 0 && code->options->rows < code->n_rows)
		code->least = totals[code->options->rows - 1];
	return 0;
}

static int select_rows(struct printed_code *code)
{
	const bool all = code->options->all;

	code->n_rows = json_array_size(code->rows);
	code->is_shown = calloc(code->n_rows + 1, sizeof(*code->is_shown));
	if (!code->is_shown)
		return -ENOMEM;
	if (find_least(code) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < code->n_rows; i++) {
		const size_t first = i > CONTEXT_ROWS ? i - CONTEXT_ROWS : 0;

		if (all)
			code->is_shown[i] = true;
		else if (has_value(code, i))
			for (size_t k = first; k < MIN(i + CONTEXT_ROWS + 1, code->n_rows); k++)
				code->is_shown[k] = true;
	}
	return 0;
}

/* The line of a source line: its place, and its text if the file is found. */
static void append_place(struct printed_code *code, const json_t *place)
{
	const char *path = list_text(place, "file"), *slash = strrchr(path, '/');
	const char *function = list_text(place, "function");
	const uint64_t line = list_number(place, "line");
	const int columns = MAX(code->options->width - FIGURES_COLUMNS, 20);
	struct bytes_view text = {};
	int used = 0;

	(void)bytes_append_format(code->out, "%*s", FIGURES_COLUMNS, "");
	if (strcmp(function, code->function) != 0 && function[0]) {
		used += printable_append(code->out, function, columns / 2);
		(void)bytes_append_text(code->out, ", ");
		used += 2;
	}
	used += printable_append(code->out, path[0] ? (slash ? slash + 1 : path) : "?",
				 MAX(columns - used, 10));
	if (line > 0)
		(void)bytes_append_format(code->out, ":%llu", (unsigned long long)line);
	if (path[0] && line > 0)
		text = code->options->find(code->options->find_arg,
					   list_text(code->file, "build_id"), path);
	text = source_line_find(text, line);
	if (text.size > 0) {
		(void)bytes_append_text(code->out, "  ");
		source_line_append(code->out, text, columns - used - 10);
	}
	(void)bytes_append_byte(code->out, '\n');
}

static void append_instruction(struct printed_code *code, const json_t *row)
{
	const char *address = list_text(row, "address"),
		   *target = list_text(row, "target_function");
	const char *mnemonic = list_text(row, "mnemonic"), *operands = list_text(row, "operands");
	const int columns = MAX(code->options->width - FIGURES_COLUMNS, 20);
	int used = printable_append(code->out, address, columns);

	(void)bytes_append_byte(code->out, ':');
	if (!mnemonic[0]) {
		(void)bytes_append_byte(code->out, '\n');
		return;
	}
	(void)bytes_append_text(code->out, "  ");
	(void)printable_append(code->out, mnemonic, -1);
	used += 3 + (int)strlen(mnemonic);
	if (operands[0]) {
		(void)bytes_append_byte(code->out, ' ');
		used += 1 + printable_append(code->out, operands, -1);
	}
	if (target[0]) {
		(void)bytes_append_text(code->out, "  <");
		(void)printable_append(code->out, target, MAX(columns - used - 4, 10));
		(void)bytes_append_byte(code->out, '>');
	}
	(void)bytes_append_byte(code->out, '\n');
}

static void append_row(struct printed_code *code, const json_t *row)
{
	char share[NUMBER_TEXT_SIZE] = "", self[NUMBER_TEXT_SIZE] = "",
	     total[NUMBER_TEXT_SIZE] = "";
	const size_t place = index_of(row, "place");

	if (place != code->place && place != NO_INDEX)
		append_place(code, json_array_get(code->places, place));
	code->place = place;
	if (list_number(row, "self_value") > 0) {
		format_share(list_number(row, "self_value"), code->whole, share);
		format_value(code->options->event, list_number(row, "self_value"), self);
	}
	if (list_number(row, "total_value") > 0)
		format_value(code->options->event, list_number(row, "total_value"), total);
	(void)bytes_append_format(code->out, "%8s  %10s  %10s  ", share, self, total);
	append_instruction(code, row);
}

static void append_rows(struct printed_code *code)
{
	bool gap = false;

	for (size_t i = 0; i < code->n_rows; i++) {
		const json_t *row = json_array_get(code->rows, i);
		const json_t *before = i > 0 ? json_array_get(code->rows, i - 1) : NULL;

		if (!code->is_shown[i]) {
			gap = true;
			continue;
		}
		if (gap || (before && index_of(row, "block") != index_of(before, "block"))) {
			(void)bytes_append_format(code->out, "%*s...\n", FIGURES_COLUMNS, "");
			code->place = NO_INDEX;
		}
		gap = false;
		append_row(code, row);
	}
	if (gap)
		(void)bytes_append_format(code->out, "%*s...\n", FIGURES_COLUMNS, "");
}

static void append_heading(const struct printed_code *code)
{
	const char *name = list_text(code->file, "file"),
		   *machine = list_text(code->file, "machine");
	const char *message = list_text(code->file, "message");

	(void)bytes_append_byte(code->out, '\n');
	(void)printable_append(code->out, name[0] ? name : "unknown file", -1);
	(void)bytes_append_text(code->out, ", build ID ");
	(void)printable_append(code->out, list_text(code->file, "build_id"), -1);
	if (machine[0]) {
		(void)bytes_append_text(code->out, ", ");
		(void)printable_append(code->out, machine, -1);
	}
	(void)bytes_append_byte(code->out, '\n');
	if (message[0]) {
		printable_append_wrapped(code->out, message, 0, 2, code->options->width);
		(void)bytes_append_byte(code->out, '\n');
	}
	(void)bytes_append_format(code->out, "%8s  %10s  %10s  address and instruction\n", "self %",
				  "self", "total");
}

static int append_file(const json_t *file, const char *function, uint64_t whole,
		       const struct disassembly_text_options *options, struct bytes *out)
{
	struct printed_code code = {
		.options = options,
		.file = file,
		.rows = json_object_get(file, "instructions"),
		.places = json_object_get(file, "places"),
		.function = function,
		.whole = whole,
		.place = NO_INDEX,
		.out = out,
	};
	int r;

	if (!json_is_array(code.rows) || !json_is_array(code.places))
		return -EBADMSG;
	r = select_rows(&code);
	if (r == 0) {
		append_heading(&code);
		append_rows(&code);
	}
	free(code.is_shown);
	return r;
}

/* The function of the answer without "[l] " and the like. */
static const char *function_of(const json_t *answer)
{
	const char *label = list_text(answer, "function");

	return label[0] == '[' && label[1] && label[2] == ']' && label[3] == ' ' ? label + 4
										 : label;
}

static void append_sums(const json_t *answer, const struct disassembly_text_options *options,
			struct bytes *out)
{
	char self[NUMBER_TEXT_SIZE], total[NUMBER_TEXT_SIZE], inlined[NUMBER_TEXT_SIZE];

	format_value(options->event, list_number(answer, "self_value"), self);
	format_value(options->event, list_number(answer, "total_value"), total);
	format_value(options->event, list_number(answer, "inlined_value"), inlined);
	(void)bytes_append_format(out, "self %s, total %s", self, total);
	if (list_number(answer, "inlined_value") > 0)
		(void)bytes_append_format(out, ", self of inlined functions %s", inlined);
	if (list_number(answer, "files_left_out") > 0)
		(void)bytes_append_format(
			out, ", %llu files with smaller values left out",
			(unsigned long long)list_number(answer, "files_left_out"));
	(void)bytes_append_byte(out, '\n');
}

int disassembly_text_write(const json_t *answer, const struct disassembly_text_options *options,
			   struct bytes *out)
{
	const json_t *files = json_object_get(answer, "files");
	const uint64_t whole =
		list_number(answer, "self_value") + list_number(answer, "inlined_value");

	if (!json_is_array(files))
		return -EBADMSG;
	append_sums(answer, options, out);
	for (size_t i = 0; i < json_array_size(files); i++) {
		int r = append_file(json_array_get(files, i), function_of(answer), whole, options,
				    out);

		if (r < 0)
			return r;
	}
	return bytes_error(out);
}
