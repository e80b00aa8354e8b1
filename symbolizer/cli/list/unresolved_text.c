/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/cli/list/unresolved_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/shell_word.h"
#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/list/unresolved_list.h"
#include "symbolizer/cli/print/number_format.h"
#include "symbolizer/cli/print/printable.h"

/* A hint names at most this number of files; `hearth why` lists more. */
#define HINT_FILES 3

/* The last line of the list sums up the files with a share that rounds to 0.0 %. */
#define LIST_MIN_PCT 0.05

#define COMMAND_SIZE 1024

/*
 * Indentation of the lines of the list, and of the lines that follow a label of a file ("build-ID
 * ").
 */
#define LIST_INDENT  9
#define LABEL_INDENT 11

/* ---- lines ---------------------------------------------------------------------------------- */

static void indent(struct bytes *out, int columns)
{
	(void)bytes_append_format(out, "%*s", columns, "");
}

/* At least 30 columns: on a narrower terminal, lines are longer than it is wide. */
static int room(const struct unresolved_text_options *options, int columns)
{
	return MAX(options->width, columns + 30) - columns;
}

/*
 * Appends @words, broken at blanks into lines. The caller has written the first @columns of the
 * first line; further lines are indented by @columns.
 */
static void append_words(struct bytes *out, const char *words, int columns,
			 const struct unresolved_text_options *options)
{
	const int width = room(options, columns);
	int used = 0;

	while (*words) {
		char word[COMMAND_SIZE];
		size_t length = strcspn(words, " ");

		(void)snprintf(word, sizeof(word), "%.*s", (int)length, words);
		if (used > 0 && used + 1 + (int)length > width) {
			(void)bytes_append_byte(out, '\n');
			indent(out, columns);
			used = 0;
		}
		if (used > 0)
			(void)bytes_append_byte(out, ' ');
		used += (used > 0) + printable_append(out, word, -1);
		words += length;
		words += strspn(words, " ");
	}
	(void)bytes_append_byte(out, '\n');
}

static double share_of(const json_t *row)
{
	return 100.0 * json_number_value(json_object_get(row, "share"));
}

/* ---- below a profile ------------------------------------------------------------------------ */

static void add_option(char command[COMMAND_SIZE], const char *option, const char *value)
{
	size_t used = strlen(command);

	if (!value)
		return;
	(void)snprintf(command + used, COMMAND_SIZE - used, " %s ", option);
	shell_word_append(value, command, COMMAND_SIZE);
}

/* Writes `hearth why NAME` with the options of the same selection. */
static void write_why_command(const struct unresolved_text_options *options, const char *name,
			      char command[COMMAND_SIZE])
{
	const struct selection_options *selection = options->selection;
	const struct time_range_texts *texts = &selection->range.texts;

	(void)snprintf(command, COMMAND_SIZE, "hearth why %s", name[0] == '-' ? "-- " : "");
	shell_word_append(name, command, COMMAND_SIZE);
	if (name[0] == '-')
		return;
	add_option(command, "-S", selection->service);
	add_option(command, "-f", selection->filter);
	add_option(command, "-e",
		   selection->event == EVENT_ON_CPU ? NULL : event_type_name(selection->event));
	add_option(command, "-l", texts->last);
	add_option(command, "--since", texts->since);
	add_option(command, "--until", texts->until);
	add_option(command, "-s", options->server);
}

static void append_hint_row(const json_t *row, const struct unresolved_text_options *options,
			    struct bytes *out)
{
	const char *name = unresolved_base_name(row);
	struct bytes line = BYTES_INIT(64 * KIB);
	char command[COMMAND_SIZE];
	int columns;

	(void)bytes_append_format(&line, "  %4.1f %%  ", share_of(row));
	if (!unresolved_is_file(row)) {
		(void)bytes_append(out, line.data, line.size);
		append_words(out, list_text(row, "why"), LIST_INDENT + 1, options);
		bytes_release(&line);
		return;
	}
	columns = LIST_INDENT + 1 + printable_append(&line, name, -1);
	(void)bytes_append_format(&line, " (%s)",
				  unresolved_reason_words(list_text(row, "reason")));
	columns += (int)strlen(unresolved_reason_words(list_text(row, "reason"))) + 3;
	(void)bytes_append(out, line.data, line.size);
	bytes_release(&line);
	write_why_command(options, name, command);
	if (columns + 2 + (int)strlen(command) <= options->width) {
		(void)bytes_append_text(out, ": ");
		(void)printable_append(out, command, -1);
		(void)bytes_append_byte(out, '\n');
	} else {
		(void)bytes_append_text(out, ":\n");
		printable_append_command(out, command, LIST_INDENT + 1, options->width);
	}
}

void unresolved_hint_write(const json_t *root, const struct unresolved_text_options *options,
			   struct bytes *out)
{
	const json_t *files = json_object_get(root, "files");
	double total = json_number_value(json_object_get(root, "total"));
	double unresolved = json_number_value(json_object_get(root, "unresolved"));

	if (total <= 0 || 100 * unresolved < UNRESOLVED_MIN_PCT * total)
		return;
	(void)bytes_append_format(out, "%.1f %% has no names:\n", 100 * unresolved / total);
	for (size_t i = 0; i < MIN(json_array_size(files), (size_t)HINT_FILES); i++) {
		const json_t *row = json_array_get(files, i);

		if (i == 0 || share_of(row) >= UNRESOLVED_MIN_PCT)
			append_hint_row(row, options, out);
	}
}

/* ---- hearth why ----------------------------------------------------------------------------- */

static void append_heading(const json_t *root, const struct unresolved_text_options *options,
			   struct bytes *out)
{
	const struct selection_options *selection = options->selection;
	uint64_t total = list_number(root, "total"), unresolved = list_number(root, "unresolved");
	char text[NUMBER_TEXT_SIZE], share[NUMBER_TEXT_SIZE];

	format_value(selection->event, total, text);
	format_share(unresolved, total, share);
	(void)printable_append(out, selection->service ? selection->service : "all services", -1);
	(void)bytes_append_format(out, ", %s: %s of %s has no names\n",
				  event_type_name(selection->event), share, text);
}

static void append_services(const json_t *row, struct bytes *words)
{
	const json_t *services = json_object_get(row, "services");

	for (size_t i = 0; i < json_array_size(services); i++) {
		const char *name = json_string_value(json_array_get(services, i));

		(void)bytes_append_format(words, "%s%s", i > 0 ? ", " : "", name ? name : "");
	}
	(void)bytes_append_byte(words, '\0');
}

/* Appends a line with @label and @words; nothing for empty @words. */
static void append_labelled(struct bytes *out, const char *label, const char *words,
			    const struct unresolved_text_options *options)
{
	if (!words[0])
		return;
	(void)bytes_append_format(out, "  %-*s", LABEL_INDENT - 2, label);
	append_words(out, words, LABEL_INDENT, options);
}

static void append_users(const json_t *row, const struct unresolved_text_options *options,
			 struct bytes *out)
{
	struct bytes words = BYTES_INIT(64 * KIB);

	append_services(row, &words);
	if (bytes_error(&words) == 0)
		append_labelled(out, "used by", (const char *)words.data, options);
	bytes_release(&words);
}

static void append_remedy(const json_t *row, const struct unresolved_text_options *options,
			  struct bytes *out)
{
	append_labelled(out, "remedy", list_text(row, "remedy"), options);
	printable_append_command(out, list_text(row, "command"), LABEL_INDENT + 2, options->width);
}

static void append_row(const json_t *row, const struct unresolved_text_options *options,
		       struct bytes *out)
{
	(void)bytes_append_format(out, "\n%.1f %%  ", share_of(row));
	(void)printable_append(out, list_text(row, "file"), -1);
	(void)bytes_append_format(out, " (%s)\n",
				  unresolved_reason_words(list_text(row, "reason")));
	append_labelled(out, "build-ID", list_text(row, "build_id"), options);
	append_users(row, options, out);
}

static bool same_text(const json_t *a, const json_t *b, const char *key)
{
	return strcmp(list_text(a, key), list_text(b, key)) == 0;
}

/* Adjacent rows often have the same reason and remedy, and differ only in the command. */
static void append_reason_once(const json_t *row, const json_t *before,
			       const struct unresolved_text_options *options, struct bytes *out)
{
	if (before && same_text(row, before, "why") && same_text(row, before, "remedy")) {
		append_labelled(out, "remedy", "as above", options);
		printable_append_command(out, list_text(row, "command"), LABEL_INDENT + 2,
					 options->width);
		return;
	}
	append_labelled(out, "why", list_text(row, "why"), options);
	append_remedy(row, options, out);
}

/* Returns how many rows, from the first, the list shows. */
static size_t count_shown(const json_t *files, const struct unresolved_text_options *options)
{
	size_t count = json_array_size(files);

	while (!options->all && count > 1 &&
	       share_of(json_array_get(files, count - 1)) < LIST_MIN_PCT)
		count--;
	return count;
}

static void append_rest(const json_t *root, size_t n_shown, struct bytes *out)
{
	const json_t *files = json_object_get(root, "files");
	uint64_t rest = list_number(root, "unresolved");
	char share[NUMBER_TEXT_SIZE];

	for (size_t i = 0; i < n_shown; i++)
		rest -= MIN(rest, list_number(json_array_get(files, i), "value"));
	format_share(rest, list_number(root, "total"), share);
	if (strcmp(share, "0.0 %") != 0 || n_shown < json_array_size(files))
		(void)bytes_append_format(out, "\nOther files: %s together (--rows 0 lists all)\n",
					  share);
}

void unresolved_list_write(const json_t *root, const struct unresolved_text_options *options,
			   struct bytes *out)
{
	const json_t *files = json_object_get(root, "files");
	size_t n_shown = count_shown(files, options);

	append_heading(root, options, out);
	for (size_t i = 0; i < n_shown; i++) {
		const json_t *row = json_array_get(files, i);

		append_row(row, options, out);
		append_reason_once(row, i > 0 ? json_array_get(files, i - 1) : NULL, options, out);
	}
	append_rest(root, n_shown, out);
	if (list_text(root, "message")[0]) {
		(void)bytes_append_byte(out, '\n');
		append_words(out, list_text(root, "message"), 0, options);
	}
}

/* ---- the details of one file ---------------------------------------------------------------- */

static void append_stored_file(const json_t *file, const struct unresolved_text_options *options,
			       struct bytes *out)
{
	uint64_t uploaded_s = list_number(file, "uploaded_time");
	char size[NUMBER_TEXT_SIZE], age[NUMBER_TEXT_SIZE], words[256];

	format_bytes(list_number(file, "size_bytes"), size);
	format_age(options->now_s > uploaded_s ? options->now_s - uploaded_s : 0, age);
	(void)snprintf(words, sizeof(words), "%.40s%s from %.20s, %s, %s", list_text(file, "has"),
		       json_is_true(json_object_get(file, "executable")) ? " and code" : "",
		       list_text(file, "origin"), size, age);
	append_labelled(out, "stored", words, options);
}

static void append_table(const json_t *table, const struct unresolved_text_options *options,
			 struct bytes *out)
{
	const json_t *sources = json_object_get(table, "sources");
	struct bytes words = BYTES_INIT(64 * KIB);

	(void)bytes_append_format(&words, "%s, %" PRIu64 " functions", list_text(table, "status"),
				  list_number(table, "functions"));
	for (size_t i = 0; i < json_array_size(sources); i++) {
		const char *source = json_string_value(json_array_get(sources, i));

		(void)bytes_append_format(&words, "%s%s", i == 0 ? " from " : ", ",
					  source ? source : "");
	}
	if (list_text(table, "why")[0])
		(void)bytes_append_format(&words, ". %s", list_text(table, "why"));
	(void)bytes_append_byte(&words, '\0');
	if (bytes_error(&words) == 0)
		append_labelled(out, "table", (const char *)words.data, options);
	bytes_release(&words);
}

static void append_search(const json_t *search, const struct unresolved_text_options *options,
			  struct bytes *out)
{
	uint64_t misses = list_number(search, "upstream_misses");
	char words[256];

	if (!json_is_true(json_object_get(search, "upstream")))
		append_labelled(out, "upstream", "no server is configured (debuginfo.upstream)",
				options);
	else if (misses == 0)
		append_labelled(out, "upstream", "queried when needed; no failure so far", options);
	else {
		(void)snprintf(words, sizeof(words), "queried %" PRIu64 " times without success",
			       misses);
		append_labelled(out, "upstream", words, options);
	}
	append_labelled(out, "agents",
			list_number(search, "agents_again_time") > 0
				? "one was asked for it"
				: "none was asked for it since the server started",
			options);
}

void unresolved_status_write(const json_t *status, const struct unresolved_text_options *options,
			     struct bytes *out)
{
	const json_t *files = json_object_get(status, "files");

	for (size_t i = 0; i < json_array_size(files); i++)
		append_stored_file(json_array_get(files, i), options, out);
	if (json_array_size(files) == 0)
		append_labelled(out, "stored", "nothing", options);
	append_table(json_object_get(status, "table"), options, out);
	append_search(json_object_get(status, "looked_for"), options, out);
}

void unresolved_file_write(const json_t *row, const json_t *status,
			   const struct unresolved_text_options *options, struct bytes *out)
{
	append_row(row, options, out);
	append_labelled(out, "why", list_text(row, "why"), options);
	if (status)
		unresolved_status_write(status, options, out);
	append_remedy(row, options, out);
}
