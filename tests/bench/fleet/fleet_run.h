/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A fleet of virtual agents that send to one server, in one thread.
 */

#include <stdio.h>

#include "tests/bench/fleet/fleet_http.h"
#include "tests/bench/fleet/latencies.h"
#include "tests/bench/fleet/virtual_agent.h"

/* Number of positions in a capture at which agents start to replay it. */
#define FLEET_STARTS 6

#define FLEET_MAX_CAPTURES 4

struct fleet_options {
	const char *server;
	const char *capture_folders[FLEET_MAX_CAPTURES];
	unsigned int capture_pct[FLEET_MAX_CAPTURES]; /* of the agents; the sum is 100 */
	size_t n_captures;
	uint32_t n_agents;
	unsigned int own_executables_pct;
	unsigned int retry_pct;
};

struct fleet_counts {
	uint64_t n_accepted;    /* batches acknowledged */
	uint64_t n_late;        /* batches due in the measured time and not acknowledged in it */
	uint64_t n_refused;     /* answers with another status than 200 */
	uint64_t n_unanswered;  /* requests without an answer */
	uint64_t n_supplements; /* answers with unknown numbers */
	uint64_t n_samples;
	uint64_t n_bytes; /* of accepted batches */
};

struct fleet {
	const struct fleet_options *options;
	struct capture *captures[FLEET_MAX_CAPTURES];
	struct virtual_agent_start starts[FLEET_MAX_CAPTURES][FLEET_STARTS];
	struct virtual_agent *agents;
	const struct virtual_agent_start **agent_starts; /* [n_agents] */
	bool *waits;        /* [n_agents] the agent waits for an answer */
	uint32_t n_waiting; /* agents that wait for an answer */
	struct fleet_http *http;
	struct arena *scratch;
	/* Since the measurement began; without the warm-up. */
	struct fleet_counts counts;
	struct latencies answers;    /* from sending a batch to its answer */
	struct latencies deliveries; /* from the time when a batch was due to its acknowledgement */
};

/* Returns 0 or a negative errno, after a message on standard error. */
int fleet_new(const struct fleet_options *options, struct fleet **ret_fleet);
struct fleet *fleet_free(struct fleet *fleet);

/* Each agent sends the definitions of all batches before its position in the capture, so that the
 * measurement begins with a server that knows most definitions. */
int fleet_warm_up(struct fleet *fleet);

/* Agents send their batches for @duration_ns, each first at a random phase of the interval. */
int fleet_measure(struct fleet *fleet, uint64_t duration_ns);

/* Begins no new batch, and sends retries and supplements until every sent batch is acknowledged. */
int fleet_drain(struct fleet *fleet);

DEFINE_SCOPED(struct fleet *, fleet_free);
