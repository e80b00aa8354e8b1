/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Services by falling CPU time: the answer of /v1/services, and what /v1/top says of the processes
 * of Total, in one list with one row per name.
 *
 *   rows[count]   by falling CPU time, then by name; names belong to the answer of /v1/services
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
	uint64_t n_hosts; /* of the event type that has most; so for the processes */
	uint64_t n_processes;
	uint64_t last_s;
	size_t first; /* its rows in the answer: [first, first + count) */
	size_t count;
};

struct service_list {
	json_t *answer; /* of /v1/services */
	struct service_row *rows;
	size_t count;
	uint64_t cpu_total_us; /* of all processes, also those that are no services */
};

/* What is said of an empty list. */
#define SERVICE_LIST_EMPTY                                                                         \
	"no service has samples in this time range; a longer one (--last 24h) may have, and "      \
	"'hearth hosts' lists the hosts whose agents sent any"

/* Asks the server. Errors are said. */
int service_list_fetch(struct client *client, const struct time_range *range,
		       struct service_list *ret_list);

/*
 * @services as /v1/services answers, rows of one name beside each other, and @top as
 * /v1/top?service=Total&fold_threads=true answers. -EBADMSG where they are not. Takes a reference
 * to @services.
 */
int service_list_make(json_t *services, const json_t *top, struct service_list *ret_list);
void service_list_release(struct service_list *list);

struct service_text_options {
	int width; /* columns; names and event types are cut to it */
	bool all;  /* also those whose share rounds to 0.0 % */
	uint64_t now_s;
};

/*
 * Appends the table. Services whose share of the CPU time rounds to 0.0 % are counted in its last
 * line, but for the SERVICE_MIN_ROWS largest that have CPU time; without any CPU time all are
 * listed. 0 or -ENOMEM.
 */
#define SERVICE_MIN_ROWS 10
int service_text_write(const struct service_list *list, const struct service_text_options *options,
		       struct bytes *out);

/*
 * Appends the answer of /v1/services in the list's order, with "cpu_value" in each row and
 * "cpu_total" beside the rows, in microseconds.
 */
int service_json_write(const struct service_list *list, struct bytes *out);

#include "common/scoped.h"
#define scoped_service_list scoped(service_list_release)
