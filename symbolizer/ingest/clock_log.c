/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/ingest/clock_log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "common/hash_table.h"
#include "common/log.h"

/* Maximum number of agents in the table. Further agents are neither logged nor counted. */
#define MAX_AGENTS 65536

/* Hosts that are logged one by one within LOG_INTERVAL_NS. */
#define MAX_LOGGED      5
#define LOG_INTERVAL_NS (3600 * NSEC_PER_SEC)

struct differing_agent {
	bool is_refused;
	bool is_logged;
};

struct clock_log {
	pthread_mutex_t lock;      /* protects the fields below */
	struct hash_table *agents; /* struct hash128 -> struct differing_agent */
	uint64_t interval_ns;      /* beginning of the present interval */
	unsigned int n_logged;     /* in the present interval */
};

int clock_log_new(struct clock_log **ret_log)
{
	scoped(clock_log_freep) struct clock_log *log = calloc(1, sizeof(*log));
	int r;

	if (!log)
		return -ENOMEM;
	(void)pthread_mutex_init(&log->lock, NULL);
	r = hash_table_new(sizeof(struct hash128), sizeof(struct differing_agent), MAX_AGENTS,
			   &log->agents);
	if (r < 0)
		return r;
	*ret_log = take_ptr(log);
	return 0;
}

struct clock_log *clock_log_free(struct clock_log *log)
{
	if (!log)
		return NULL;
	(void)hash_table_free(log->agents);
	(void)pthread_mutex_destroy(&log->lock);
	free(log);
	return NULL;
}

static void print(const struct clock_observation *observation)
{
	bool ahead = observation->offset_ns > 0;
	int64_t offset_s =
		(ahead ? observation->offset_ns : -observation->offset_ns) / (int64_t)NSEC_PER_SEC;

	log_warn("the clock of host '%.100s' is %" PRId64 " s %s this server's, %s; set the wrong "
		 "one of the two clocks (timedatectl, chronyc tracking)",
		 observation->host, offset_s, ahead ? "ahead of" : "behind",
		 observation->is_refused ? "its agent keeps its batches until the clocks agree"
					 : "its samples are shown that much too late or too early");
}

/* The caller holds the lock. Returns whether the host is logged, or the hosts are too many. */
static bool log_difference(struct clock_log *log, const struct clock_observation *observation)
{
	if (log->n_logged == 0 || observation->now_ns - log->interval_ns >= LOG_INTERVAL_NS) {
		log->interval_ns = observation->now_ns;
		log->n_logged = 0;
	}
	log->n_logged++;
	if (log->n_logged <= MAX_LOGGED) {
		print(observation);
		return true;
	}
	if (log->n_logged == MAX_LOGGED + 1)
		log_warn("the clocks of more than %d hosts differ from this server's: its own "
			 "clock is probably wrong (timedatectl, chronyc tracking); further hosts "
			 "are not logged for an hour",
			 MAX_LOGGED);
	return false;
}

/* The caller holds the lock. */
static void observe_difference(struct clock_log *log, const struct clock_observation *observation)
{
	struct differing_agent *agent;
	void *value;
	int r = hash_table_insert(log->agents, &observation->agent_id, &value);

	if (r < 0)
		return;
	agent = value;
	if (r > 0 || (observation->is_refused && !agent->is_refused))
		agent->is_logged = log_difference(log, observation);
	agent->is_refused = observation->is_refused;
}

/* The caller holds the lock. */
static void observe_agreement(struct clock_log *log, const struct clock_observation *observation)
{
	const struct differing_agent *agent = hash_table_find(log->agents, &observation->agent_id);

	if (!agent)
		return;
	if (agent->is_logged)
		log_info("the clock of host '%.100s' agrees with this server's again",
			 observation->host);
	(void)hash_table_remove(log->agents, &observation->agent_id);
}

void clock_log_observe(struct clock_log *log, const struct clock_observation *observation)
{
	bool differs = observation->is_refused ||
		       observation->offset_ns >= CLOCK_LOG_MIN_OFFSET_NS ||
		       observation->offset_ns <= -CLOCK_LOG_MIN_OFFSET_NS;

	(void)pthread_mutex_lock(&log->lock);
	if (differs)
		observe_difference(log, observation);
	else
		observe_agreement(log, observation);
	(void)pthread_mutex_unlock(&log->lock);
}

size_t clock_log_count(struct clock_log *log)
{
	size_t count;

	(void)pthread_mutex_lock(&log->lock);
	count = hash_table_count(log->agents);
	(void)pthread_mutex_unlock(&log->lock);
	return count;
}
