/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Columns of numbers have a fixed width. Names get their share of the remaining width first, hosts
 * second, and services, which may be long, get the rest.
 */

#include "symbolizer/cli/list/sum_list.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/log.h"
#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/client/server_message.h"
#include "symbolizer/cli/print/number_format.h"
#include "symbolizer/cli/print/printable.h"
#include "symbolizer/cli/print/scoped_json.h"
#include "symbolizer/cli/print/terminal.h"

#define MAX_PATH_BYTES MIB

/* The largest limit that the server accepts. */
#define ALL_ROWS 100000

/* "  12345678  1 m 40 s   36.9 %  threads  ", without the texts */
#define PROCESS_FIGURES_COLUMNS 40
#define PROCESS_NAME_COLUMNS    15 /* the kernel stores no more */

/* "    1 m 40 s   36.9 %  processes  threads", after the name */
#define GROUP_FIGURES_COLUMNS 41

static const char *value_heading(enum event_type type)
{
	return type == EVENT_ON_CPU ? "CPU time" : event_type_name(type);
}

static int longest(const json_t *rows, const char *key, const char *heading, int most)
{
	int least = (int)strlen(heading);
	int columns = least;

	most = MAX(most, least);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		size_t length = strlen(list_text(json_array_get(rows, i), key));

		columns = MAX(columns, length < (size_t)most ? (int)length : most);
	}
	return columns;
}

/*
 * Returns the label service, or else container_id; "" if there is neither, or if it equals the name
 * of the process.
 */
static const char *service_of(const json_t *row)
{
	const json_t *labels = json_object_get(row, "labels");
	const char *service = list_text(labels, "service");

	if (!service[0])
		service = list_text(labels, "container_id");
	return strcmp(service, list_text(row, "name")) == 0 ? "" : service;
}

static void write_processes(const json_t *rows, uint64_t total, const struct sum_options *options,
			    struct bytes *out)
{
	enum event_type type = options->selection->event;
	int name = longest(rows, "name", "process", PROCESS_NAME_COLUMNS);
	int room = MAX(options->width - PROCESS_FIGURES_COLUMNS - name, 16);
	int host = longest(rows, "host", "host", room / 2);

	(void)bytes_append_format(out, "%8s  %-*s  %-*s  %10s  %7s  %7s  %.*s\n", "pid", name,
				  "process", host, "host", value_heading(type), "share", "threads",
				  MAX(room - host - 4, 0), "service");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		char value[NUMBER_TEXT_SIZE], share[NUMBER_TEXT_SIZE];

		format_value(type, list_number(row, "value"), value);
		format_share(list_number(row, "value"), total, share);
		(void)bytes_append_format(out, "%8" PRIu64 "  ", list_number(row, "pid"));
		printable_append_cell(out, list_text(row, "name"), name);
		printable_append_cell(out, list_text(row, "host"), host);
		(void)bytes_append_format(out, "%10s  %7s  %7" PRIu64 "  ", value, share,
					  list_number(row, "threads"));
		(void)printable_append(out, service_of(row), MAX(room - host - 4, 0));
		(void)bytes_append_byte(out, '\n');
	}
}

/* Returns the value of the tag; "(none)" for the row of processes without this tag. */
static const char *group_name(const json_t *row)
{
	return json_is_string(json_object_get(row, "name")) ? list_text(row, "name") : "(none)";
}

static void write_groups(const json_t *rows, uint64_t total, const struct sum_options *options,
			 struct bytes *out)
{
	enum event_type type = options->selection->event;
	int name = longest(rows, "name", options->selection->by,
			   MAX(options->width - GROUP_FIGURES_COLUMNS, 16));

	name = MAX(name, (int)strlen("(none)"));
	printable_append_cell(out, options->selection->by, name);
	(void)bytes_append_format(out, "%10s  %7s  %9s  %7s\n", value_heading(type), "share",
				  "processes", "threads");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		char value[NUMBER_TEXT_SIZE], share[NUMBER_TEXT_SIZE];

		format_value(type, list_number(row, "value"), value);
		format_share(list_number(row, "value"), total, share);
		printable_append_cell(out, group_name(row), name);
		(void)bytes_append_format(out, "%10s  %7s  %9" PRIu64 "  %7" PRIu64 "\n", value,
					  share, list_number(row, "processes"),
					  list_number(row, "threads"));
	}
}

static void append_others(const json_t *answer, const json_t *rows, enum event_type type,
			  struct bytes *out)
{
	uint64_t total = list_number(answer, "total"), shown = 0;
	uint64_t count = list_number(answer, "count");
	char value[NUMBER_TEXT_SIZE], share[NUMBER_TEXT_SIZE];

	if (count <= json_array_size(rows))
		return;
	for (size_t i = 0; i < json_array_size(rows); i++)
		shown += list_number(json_array_get(rows, i), "value");
	format_value(type, total - MIN(shown, total), value);
	format_share(total - MIN(shown, total), total, share);
	(void)bytes_append_format(out, "%" PRIu64 " more with %s (%s); --rows 0 lists them\n",
				  count - json_array_size(rows), value, share);
}

int sum_text_write(const json_t *answer, const struct sum_options *options, struct bytes *out)
{
	const json_t *rows =
		json_object_get(answer, options->selection->by ? "groups" : "processes");

	if (!json_is_array(rows))
		return -EBADMSG;
	if (options->selection->by)
		write_groups(rows, list_number(answer, "total"), options, out);
	else
		write_processes(rows, list_number(answer, "total"), options, out);
	append_others(answer, rows, options->selection->event, out);
	return bytes_error(out);
}

static int make_path(struct client *client, const struct sum_options *options, struct bytes *path)
{
	const struct selection_options *selection = options->selection;
	struct time_range_parameters range = time_range_parameters(&selection->range.range);
	char limit[NUMBER_TEXT_SIZE];

	(void)snprintf(limit, sizeof(limit), "%u",
		       options->rows > 0 ? MIN(options->rows, (uint32_t)ALL_ROWS) : ALL_ROWS);
	return client_path(client, path, selection->by ? "/v1/groups" : "/v1/processes", "service",
			   selection->service ? selection->service : "", "event",
			   event_type_name(selection->event), "filter",
			   selection->filter ? selection->filter : "", "group_by",
			   selection->by ? selection->by : "", "since", range.since, "until",
			   range.until, "limit", limit, NULL);
}

static enum exit_code print_answer(const json_t *answer, const struct sum_options *options)
{
	scoped_bytes struct bytes text = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	int r;

	if (list_number(answer, "count") == 0) {
		server_message_print_no_data(list_text(answer, "message"),
					     options->selection->event);
		return EXIT_NO_DATA;
	}
	server_message_print_note(list_text(answer, "message"));
	r = sum_text_write(answer, options, &text);
	if (r < 0) {
		(void)log_error_errno(r, "cannot print the server's answer: %m");
		return EXIT_ERROR;
	}
	return terminal_print(&text) < 0 ? EXIT_ERROR : EXIT_OK;
}

enum exit_code sum_list_print(struct client *client, const struct sum_options *given)
{
	struct selection_options selection = *given->selection;
	struct sum_options copy = *given;
	const struct sum_options *options = &copy;
	scoped_bytes struct bytes path = BYTES_INIT(MAX_PATH_BYTES);
	scoped_bytes struct bytes body = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	scoped(json_freep) json_t *answer = NULL;
	int r;

	/* Equal process IDs on two hosts are two processes: list processes instead of IDs. */
	if (selection.by && strcmp(selection.by, SELECTION_BY_PROCESS) == 0)
		selection.by = NULL;
	copy.selection = &selection;
	r = make_path(client, options, &path);
	if (r < 0) {
		(void)log_error_errno(r, "cannot write the request: %m");
		return EXIT_ERROR;
	}
	r = client_get(client, (const char *)path.data, &body);
	if (r < 0)
		return exit_code_of_error(r);
	answer = json_loadb((const char *)body.data, body.size, 0, NULL);
	if (!options->connection->json)
		return print_answer(answer, options);
	(void)bytes_append_byte(&body, '\n');
	if (terminal_print(&body) < 0)
		return EXIT_ERROR;
	return list_number(answer, "count") > 0 ? EXIT_OK : EXIT_NO_DATA;
}
