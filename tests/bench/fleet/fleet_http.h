/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The connections of simulated agents to the server. Each agent has one connection, which stays
 * open and comes from its own address in 127.0.0.0/8, as if each agent ran on another host. Used by
 * one thread.
 */

#include "common/bytes.h"

struct fleet_http;

struct fleet_answer {
	uint32_t agent;
	long status; /* 0: no answer */
	struct bytes_view body;
	uint64_t duration_ns; /* since fleet_http_post() */
};

typedef int (*fleet_answer_function)(void *argument, const struct fleet_answer *answer);

/* @server: http://127.0.0.1:PORT. Returns 0 or a negative errno. */
int fleet_http_new(const char *server, uint32_t n_agents, struct fleet_http **ret_http);
struct fleet_http *fleet_http_free(struct fleet_http *http);

/* Posts a batch. @body is borrowed until the answer. Returns 0 or a negative errno. */
int fleet_http_post(struct fleet_http *http, uint32_t agent, struct bytes_view body);

/*
 * Sends and receives bytes, and calls @function for each answer; @function may post again. If there
 * is nothing to do, waits for at most @wait_ns. Returns 0, or the negative errno of @function.
 */
int fleet_http_run(struct fleet_http *http, uint64_t wait_ns, fleet_answer_function function,
		   void *argument);

#include "common/scoped.h"
DEFINE_SCOPED(struct fleet_http *, fleet_http_free);
