/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/in_process/in_process.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/condition.h"
#include "common/log.h"
#include "common/thread.h"
#include "symbolizer/in_process/fill.h"
#include "symbolizer/in_process/schedule.h"

#define ROUND_INTERVAL_NS (60 * NSEC_PER_SEC)

/* Changes that a round looks at. */
#define RECENT_NS (SCHEDULE_RECENT_NS + SCHEDULE_SETTLED_NS)

/* Between two searches for tables that killed servers have left. */
#define CLEANUP_INTERVAL_NS (3600 * NSEC_PER_SEC)

/* Corrections take at most a tenth of the time; half of it while symbol tables are being made. */
#define CORRECTION_PAUSE         10
#define CORRECTION_PENDING_PAUSE 1

struct in_process {
	struct in_process_options options;
	struct clickhouse_client *client;
	pthread_t thread;
	bool has_thread;
	struct cancel cancel;

	/* Used by the thread only. */
	uint64_t from_ns; /* changes since then are looked at */
	int last_error;   /* logged */
	bool is_in_vain;  /* a unit was not filled in this round */
	struct schedule schedule;
	/* Monotonic: nothing of this kind before it. */
	uint64_t corrects_at_ns, cleans_up_at_ns;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stops; /* under the lock */
};

static void log_change(struct in_process *self, int error)
{
	if (error == -ECANCELED || error == self->last_error)
		return;
	if (error < 0)
		log_warn_errno(error,
			       "cannot fill profile.in_process in ClickHouse, trying again each "
			       "minute, %s: %m",
			       clickhouse_client_message(self->client));
	else
		log_info("filling profile.in_process again");
	self->last_error = error;
}

static int write_unit(struct in_process *self, const struct fill_request *request,
		      struct fill_result *ret_result)
{
	const struct in_process_options *options = &self->options;
	const struct fill_options fill = {
		.store = options->store,
		.resolver = options->resolver,
		.clock = options->clock,
		.memory = options->memory,
		.cancel = &self->cancel,
		.client = self->client,
	};
	const uint64_t start_ns = clock_monotonic_ns(options->clock);
	int r = fill_unit(&fill, request, ret_result);
	const uint64_t end_ns = clock_monotonic_ns(options->clock);

	if (request->is_correction)
		self->corrects_at_ns =
			end_ns + (end_ns - start_ns) * (ret_result->has_pending_tables
								? CORRECTION_PENDING_PAUSE
								: CORRECTION_PAUSE);
	if (r == 0)
		log_debug("%s profile.in_process: unit %u, %llu rows, %llu stacks, %llu ms",
			  !request->is_correction    ? "filled"
			  : ret_result->is_published ? "corrected"
						     : "found no better names for",
			  request->unit, (unsigned long long)ret_result->n_rows,
			  (unsigned long long)ret_result->n_stacks,
			  (unsigned long long)(end_ns - start_ns) / NSEC_PER_MSEC);
	return r;
}

static void write_and_remember(struct in_process *self, const struct fill_request *request,
			       const struct schedule_now *now)
{
	struct schedule_write write = {
		.unit = request->unit,
		.state = request->state,
		.generation = now->generation,
		.at_ns = now->now_ns,
	};
	struct fill_result result;
	int r = write_unit(self, request, &result);

	if (r == 0) {
		write.generation = result.has_pending_tables ? 0 : now->generation;
		r = schedule_wrote(&self->schedule, &write);
	}
	self->is_in_vain |= r < 0;
	/* That this unit was written does not end the failure of another one. */
	if (r < 0)
		log_change(self, r);
}

/*
 * The first unit that is kept. A server whose clock is ahead must not remove all rows: the newest
 * samples count then.
 */
static uint64_t first_kept(const struct in_process *self, const struct in_process_units *units,
			   uint64_t now_ns)
{
	const uint64_t kept = self->options.retention_ns / NSEC_PER_SEC / IN_PROCESS_UNIT_S;
	uint64_t newest = now_ns / NSEC_PER_SEC / IN_PROCESS_UNIT_S;

	if (units->list.count == 0)
		return 0;
	newest = MIN(newest, units->list.items[0].unit);
	return newest > kept ? newest - kept : 0;
}

/*
 * Writes the newest unit below *end that is due, and sets *end to it. 1, also if that failed; 0:
 * there is none. The units are read anew for each, because another server may have filled it.
 */
static int write_next(struct in_process *self, uint64_t *end)
{
	const struct in_process_options *options = &self->options;
	struct schedule_now now = {
		.end = *end,
		.generation = 1 + debuginfo_generation(options->debuginfo),
		.now_ns = clock_wall_ns(options->clock),
		.no_corrections = clock_monotonic_ns(options->clock) < self->corrects_at_ns,
	};
	struct in_process_units units = {};
	const struct in_process_unit *unit;
	enum schedule_reason reason = SCHEDULE_NOTHING;
	int r = in_process_find_units(self->client, self->from_ns, &units);

	if (r == 0) {
		now.first = first_kept(self, &units, now.now_ns);
		reason = schedule_next(&self->schedule, &units, &now, &unit);
	}
	if (reason != SCHEDULE_NOTHING) {
		const struct fill_request request = {
			.unit = unit->unit,
			.state = schedule_state(unit, now.now_ns),
			.is_correction = reason == SCHEDULE_CORRECT,
		};

		write_and_remember(self, &request, &now);
		*end = unit->unit;
		r = 1;
	} else if (r == 0) {
		r = in_process_drop_before(self->client, (uint32_t)now.first);
	}
	vec_release(&units.list);
	return r;
}

static int clean_up(struct in_process *self)
{
	const uint64_t now_ns = clock_monotonic_ns(self->options.clock);
	int r;

	if (now_ns < self->cleans_up_at_ns)
		return 0;
	r = in_process_drop_old_fills(self->client);
	if (r == 0)
		self->cleans_up_at_ns = now_ns + CLEANUP_INTERVAL_NS;
	return r;
}

static int run_round(struct in_process *self)
{
	const uint64_t now_ns = clock_wall_ns(self->options.clock);
	uint64_t end = UINT64_MAX;
	int r = clean_up(self);

	self->is_in_vain = false;
	while (r == 0 && !cancel_is_requested(&self->cancel)) {
		r = write_next(self, &end);
		if (r == 0)
			break;
		r = MIN(r, 0);
	}
	if (r < 0 || self->is_in_vain)
		return r;
	self->from_ns = now_ns > RECENT_NS ? now_ns - RECENT_NS : 0;
	return 0;
}

/* False: the thread is to end. */
static bool wait_for_round(struct in_process *self, uint64_t wait_ns)
{
	const uint64_t deadline_ns = clock_monotonic_ns(&system_clock) + wait_ns;
	bool stops;

	(void)pthread_mutex_lock(&self->lock);
	while (!self->stops && condition_wait_until(&self->changed, &self->lock, deadline_ns))
		;
	stops = self->stops;
	(void)pthread_mutex_unlock(&self->lock);
	return !stops;
}

static void *work(void *arg)
{
	struct in_process *self = arg;

	do {
		int r = run_round(self);

		if (r < 0 || !self->is_in_vain)
			log_change(self, r);
	} while (wait_for_round(self, ROUND_INTERVAL_NS));
	return NULL;
}

int in_process_start(const struct in_process_options *options, struct in_process **ret_in_process)
{
	scoped(in_process_freep) struct in_process *self = calloc(1, sizeof(*self));
	struct clickhouse_options server = options->server;
	int r;

	if (!self)
		return -ENOMEM;
	self->options = *options;
	self->options.server = (struct clickhouse_options){}; /* the client has copied it */
	(void)pthread_mutex_init(&self->lock, NULL);
	condition_init(&self->changed);
	server.cancel = &self->cancel;
	r = clickhouse_client_new(&server, &self->client);
	if (r < 0)
		return r;
	r = thread_start("hearth-fill", work, self, &self->thread);
	if (r < 0)
		return r;
	self->has_thread = true;
	*ret_in_process = take_ptr(self);
	return 0;
}

struct in_process *in_process_free(struct in_process *self)
{
	if (!self)
		return NULL;
	if (self->has_thread) {
		(void)pthread_mutex_lock(&self->lock);
		self->stops = true;
		cancel_request(&self->cancel);
		(void)pthread_cond_signal(&self->changed);
		(void)pthread_mutex_unlock(&self->lock);
		(void)pthread_join(self->thread, NULL);
	}
	(void)clickhouse_client_free(self->client);
	schedule_release(&self->schedule);
	(void)pthread_cond_destroy(&self->changed);
	(void)pthread_mutex_destroy(&self->lock);
	free(self);
	return NULL;
}
