/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Remembers which agents have a clock that differs from the server's, and logs once when the
 * difference appears and once when it ends. If the server's own clock is wrong, all agents differ:
 * after a few hosts in an hour one line says so, and the other hosts are not logged.
 * Memory is bounded. Thread-safe.
 */

#include "common/hash.h"
#include "common/scoped.h"

struct clock_log;

int clock_log_new(struct clock_log **ret_log);
struct clock_log *clock_log_free(struct clock_log *log);

/* A smaller difference is not logged. */
#define CLOCK_LOG_MIN_OFFSET_NS (INT64_C(60) * (int64_t)NSEC_PER_SEC)

struct clock_observation {
	struct hash128 agent_id;
	const char *host;
	int64_t offset_ns; /* the agent's clock less the server's */
	bool is_refused;   /* the batch is kept by its agent because of it */
	uint64_t now_ns;   /* monotonic */
};

void clock_log_observe(struct clock_log *log, const struct clock_observation *observation);

/* Agents with a difference that was observed with their last batch. */
size_t clock_log_count(struct clock_log *log);

DEFINE_SCOPED(struct clock_log *, clock_log_free);
