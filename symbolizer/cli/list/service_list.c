/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/cli/list/service_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/print/scoped_json.h"

/* A unix time in decimal. */
#define SECONDS_SIZE 24

/* The prefix of a process in the answer of /v1/top. */
static const char process_prefix[] = "[p] ";

void service_list_release(struct service_list *list)
{
	free(list->rows);
	json_decref(list->answer);
	*list = (struct service_list){};
}

/* Makes an object of microseconds by label, because a JSON object is a hash table. */
static json_t *cpu_by_label(const json_t *top)
{
	const json_t *rows = json_object_get(top, "functions");
	json_t *cpu = json_object();

	for (size_t i = 0; cpu && i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		(void)json_object_set(cpu, list_text(row, "function"),
				      json_object_get(row, "total_value"));
	}
	return cpu;
}

/* In labels, the server writes ':' instead of ';', and "unknown" for an empty name. */
static uint64_t cpu_of(const json_t *cpu, const char *name)
{
	scoped_free char *label = NULL;
	const json_t *value;

	if (asprintf(&label, "%s%s", process_prefix, name[0] ? name : "unknown") < 0)
		return 0;
	for (char *semicolon = label; (semicolon = strchr(semicolon, ';'));)
		*semicolon = ':';
	value = json_object_get(cpu, label);
	return json_integer_value(value) > 0 ? (uint64_t)json_integer_value(value) : 0;
}

static void add_event(struct service_row *row, const json_t *answer_row)
{
	size_t used = strlen(row->events);

	(void)snprintf(row->events + used, sizeof(row->events) - used, "%s%s", used > 0 ? ", " : "",
		       list_text(answer_row, "event"));
	row->n_hosts = MAX(row->n_hosts, list_number(answer_row, "hosts"));
	row->n_processes = MAX(row->n_processes, list_number(answer_row, "processes"));
	row->last_s = MAX(row->last_s, list_number(answer_row, "last_time"));
	row->count++;
}

static int compare_rows(const void *left, const void *right)
{
	const struct service_row *a = left;
	const struct service_row *b = right;

	if (a->cpu_us != b->cpu_us)
		return a->cpu_us > b->cpu_us ? -1 : 1;
	return strcmp(a->name, b->name);
}

int service_list_make(json_t *services, const json_t *top, struct service_list *ret_list)
{
	const json_t *rows = json_object_get(services, "services");
	scoped(json_freep) json_t *cpu = cpu_by_label(top);
	struct service_list list = {
		.rows = calloc(json_array_size(rows) + 1, sizeof(*list.rows)),
		.cpu_total_us = list_number(json_object_get(top, "stats"), "total"),
	};

	if (!cpu || !list.rows || !json_is_array(rows) ||
	    !json_is_array(json_object_get(top, "functions"))) {
		bool no_memory = !cpu || !list.rows;

		free(list.rows);
		return no_memory ? -ENOMEM : -EBADMSG;
	}
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *answer_row = json_array_get(rows, i);
		const char *name = list_text(answer_row, "name");

		if (list.count == 0 || strcmp(list.rows[list.count - 1].name, name) != 0)
			list.rows[list.count++] = (struct service_row){ .name = name,
									.cpu_us = cpu_of(cpu, name),
									.first = i };
		add_event(&list.rows[list.count - 1], answer_row);
	}
	qsort(list.rows, list.count, sizeof(*list.rows), compare_rows);
	list.answer = json_incref(services);
	*ret_list = list;
	return 0;
}

int service_json_write(const struct service_list *list, struct bytes *out)
{
	const json_t *rows = json_object_get(list->answer, "services");
	scoped(json_freep) json_t *answer = json_copy(list->answer);
	json_t *sorted = json_array();
	char *text;

	for (size_t i = 0; i < list->count; i++) {
		const struct service_row *row = &list->rows[i];

		for (size_t j = row->first; j < row->first + row->count; j++) {
			json_t *copy = json_copy(json_array_get(rows, j));

			(void)json_object_set_new(copy, "cpu_value",
						  json_integer((json_int_t)row->cpu_us));
			(void)json_array_append_new(sorted, copy);
		}
	}
	(void)json_object_set_new(answer, "services", sorted);
	(void)json_object_set_new(answer, "cpu_total",
				  json_integer((json_int_t)list->cpu_total_us));
	text = json_dumps(answer, JSON_COMPACT);
	if (!text)
		return -ENOMEM;
	(void)bytes_append_text(out, text);
	free(text);
	return bytes_append_byte(out, '\n');
}

static int fetch(struct client *client, const char *path, json_t **ret_root)
{
	scoped_bytes struct bytes answer = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	int r = client_get(client, path, &answer);

	if (r < 0)
		return r;
	*ret_root = json_loadb((const char *)answer.data, answer.size, 0, NULL);
	return 0;
}

int service_list_fetch(struct client *client, const struct time_range *range,
		       struct service_list *ret_list)
{
	scoped_bytes struct bytes services_path = BYTES_INIT(4 * KIB);
	scoped_bytes struct bytes top_path = BYTES_INIT(4 * KIB);
	scoped(json_freep) json_t *services = NULL;
	scoped(json_freep) json_t *top = NULL;
	char since[SECONDS_SIZE], until[SECONDS_SIZE];
	int r;

	(void)snprintf(since, sizeof(since), "%" PRIu64, range->since_s);
	/* The server excludes the end of the range, this program includes it. */
	(void)snprintf(until, sizeof(until), "%" PRIu64, range->until_s + 1);
	(void)client_path(client, &services_path, "/v1/services", "since", since, "until", until,
			  NULL);
	r = client_path(client, &top_path, "/v1/top", "service", "Total", "fold_threads", "true",
			"limit", "100000", "since", since, "until", until, NULL);
	if (r < 0 || bytes_error(&services_path) < 0)
		return log_error_errno(-ENOMEM, "cannot request the services: %m");
	r = fetch(client, (const char *)services_path.data, &services);
	if (r < 0)
		return r;
	r = fetch(client, (const char *)top_path.data, &top);
	if (r < 0)
		return r;
	r = service_list_make(services, top, ret_list);
	if (r < 0)
		return log_error_errno(
			r, "the answer is no list of services (%m); is this a hearth-symbolizer?");
	return 0;
}
