/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Services with their CPU time: one row per name, made of the answer of /v1/services and of the
 * processes that /v1/top answers for Total.
 *
 *   rows[count]   by descending CPU time, then by name; names belong to the answer of /v1/services
 */

#include <jansson.h>

#include "common/bytes.h"
#include "symbolizer/cli/client/client.h"

/* Names of all event types fit. */
#define SERVICE_EVENTS_SIZE 128

struct service_row {
	const char *name;
	char events[SERVICE_EVENTS_SIZE]; /* "off-cpu, on-cpu" */
	uint64_t cpu_us;
	uint64_t n_hosts; /* of the event type with the most hosts; likewise n_processes */
	uint64_t n_processes;
	uint64_t last_s;
	size_t first; /* rows of this service in the answer: [first, first + count) */
	size_t count;
};

struct service_list {
	json_t *answer; /* of /v1/services */
	struct service_row *rows;
	size_t count;
	uint64_t cpu_total_us; /* of all processes, including those of no service */
};

/* The message for an empty list. */
#define SERVICE_LIST_EMPTY                                                                         \
	"no service has samples in this time range; a longer one (--last 24h) may have, and "      \
	"'hearth hosts' lists the hosts whose agents sent any"

/* Fetches both answers from the server. Logs errors. */
int service_list_fetch(struct client *client, const struct time_range *range,
		       struct service_list *ret_list);

/*
 * Makes the list of two answers: @services of /v1/services, in which rows of one name are adjacent,
 * and @top of /v1/top?service=Total&fold_threads=true. Returns -EBADMSG if they have another form.
 * Takes a reference to @services.
 */
int service_list_make(json_t *services, const json_t *top, struct service_list *ret_list);
void service_list_release(struct service_list *list);

struct service_text_options {
	int width; /* columns; names and event types are cut to it */
	bool all;  /* also services with a share that rounds to 0.0 % */
	uint64_t now_s;
};

/*
 * Appends the table. Its last line counts the services with a share of the CPU time that rounds to
 * 0.0 %. Exceptions: the SERVICE_MIN_ROWS largest services with CPU time always have a row, and if
 * no service has CPU time, all have one. Returns 0 or -ENOMEM.
 */
#define SERVICE_MIN_ROWS 10
int service_text_write(const struct service_list *list, const struct service_text_options *options,
		       struct bytes *out);

/*
 * Appends the answer of /v1/services in the order of the list, and adds "cpu_value" to each row and
 * "cpu_total" to the answer, in microseconds.
 */
int service_json_write(const struct service_list *list, struct bytes *out);

#include "common/scoped.h"
#define scoped_service_list scoped(service_list_release)
