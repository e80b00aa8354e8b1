/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round is the next batch of every host. Its bodies are made first, and then written by all
 * threads. Batches of one host are in different rounds, so they are written in order.
 */

#include "tests/bench/fleet/store_fill.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "symbolizer/ingest/batch_decoder.h"

#define MAX_THREADS 64u

struct round {
	struct store *store;
	const struct bytes *bodies;
	size_t count;
	atomic_size_t next;
	atomic_ullong decode_ns;
	atomic_int error;
};

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec time;

	(void)clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * NSEC_PER_SEC + (uint64_t)time.tv_nsec;
}

static int write_body(struct round *round, const struct bytes *body)
{
	scoped(arena_freep) struct arena *arena = NULL;
	uint64_t began_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	struct store_missing missing = {};
	char reason[DECODE_MESSAGE_SIZE];
	struct batch batch;
	int r;

	r = arena_new(BATCH_MAX_DECODED_BYTES, &arena);
	if (r < 0)
		return r;
	r = batch_decode(bytes_view_of(body), arena, &batch, reason);
	if (r < 0) {
		fprintf(stderr, "a replayed batch is invalid: %s\n", reason);
		return r;
	}
	atomic_fetch_add(&round->decode_ns, cpu_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns);
	r = store_write(round->store, "default", &batch, arena, &missing);
	if (r < 0 || r == STORE_STORED)
		return MIN(r, 0);
	fprintf(stderr, "the store did not take a batch of '%s': outcome %d\n", batch.host.name, r);
	return -EBADMSG;
}

static void *run_thread(void *arg)
{
	struct round *round = arg;
	size_t i;

	while ((i = atomic_fetch_add(&round->next, 1)) < round->count &&
	       atomic_load(&round->error) == 0) {
		int r = write_body(round, &round->bodies[i]);

		if (r < 0)
			atomic_store(&round->error, r);
	}
	return NULL;
}

static int write_round(struct round *round, unsigned int n_threads)
{
	pthread_t threads[MAX_THREADS];
	unsigned int n_started = 0;

	while (n_started < MIN(n_threads, MAX_THREADS) &&
	       pthread_create(&threads[n_started], NULL, run_thread, round) == 0)
		n_started++;
	if (n_started == 0)
		return -EAGAIN;
	for (unsigned int i = 0; i < n_started; i++)
		(void)pthread_join(threads[i], NULL);
	return atomic_load(&round->error);
}

/* The state of all hosts: they are at the same batch of the same lap. */
struct fill {
	const struct store_fill_options *options;
	struct replay_host *hosts; /* [n_hosts] */
	struct bytes *bodies;      /* [n_hosts] */
	struct arena *scratch;
	uint64_t lap;
	size_t position;
	uint64_t sequence;
};

static int make_bodies(struct fill *fill)
{
	const struct capture *capture = fill->options->capture;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < fill->options->n_hosts; i++) {
		const struct replay replay = { .capture = capture,
					       .host = &fill->hosts[i],
					       .lap = fill->lap };

		bytes_clear(&fill->bodies[i]);
		r = replay_encode(&replay, capture->batches[fill->position].message, fill->sequence,
				  fill->scratch, &fill->bodies[i]);
	}
	return r;
}

static void add_cost(struct store_fill_cost *sum, const struct store_fill_cost *cost)
{
	sum->n_batches += cost->n_batches;
	sum->n_rows += cost->n_rows;
	sum->n_samples += cost->n_samples;
	sum->wall_ns += cost->wall_ns;
	sum->cpu_ns += cost->cpu_ns;
	sum->decode_ns += cost->decode_ns;
}

static int run_round(struct fill *fill, struct store *store, struct store_fill_result *result)
{
	const struct store_fill_options *options = fill->options;
	const struct capture_batch *batch = &options->capture->batches[fill->position];
	struct round round = { .store = store, .bodies = fill->bodies, .count = options->n_hosts };
	struct store_fill_cost cost = {
		.n_batches = options->n_hosts,
		.n_rows = (uint64_t)batch->batch.n_rows * options->n_hosts,
		.n_samples = batch->n_samples * options->n_hosts,
	};
	uint64_t wall_ns, used_ns;
	int r;

	fill->sequence++;
	r = make_bodies(fill);
	if (r < 0)
		return r;
	wall_ns = clock_monotonic_ns(&system_clock);
	used_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	r = write_round(&round, options->n_threads);
	cost.wall_ns = clock_monotonic_ns(&system_clock) - wall_ns;
	cost.cpu_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - used_ns;
	cost.decode_ns = atomic_load(&round.decode_ns);
	add_cost(&result->all, &cost);
	if (fill->lap > 0 || fill->position >= options->capture->n_batches / 2)
		add_cost(&result->steady, &cost);
	return r;
}

static bool is_finished(struct fill *fill, struct store_fill_result *result)
{
	const struct store_fill_options *options = fill->options;
	const struct replay replay = { .capture = options->capture,
				       .host = &fill->hosts[0],
				       .lap = fill->lap };

	result->covered_ns = replay_closed_wall_ns(&replay, fill->position) - options->from_wall_ns;
	if (++fill->position == options->capture->n_batches) {
		fill->position = 0;
		fill->lap++;
	}
	return result->covered_ns >= options->duration_ns ||
	       (options->max_wall_ns && result->all.wall_ns >= options->max_wall_ns);
}

static int init(struct fill *fill, const struct store_fill_options *options)
{
	fill->options = options;
	fill->hosts = calloc(options->n_hosts, sizeof(*fill->hosts));
	fill->bodies = calloc(options->n_hosts, sizeof(*fill->bodies));
	if (!fill->hosts || !fill->bodies)
		return -ENOMEM;
	for (uint32_t i = 0; i < options->n_hosts; i++) {
		replay_host_init(&fill->hosts[i], options->capture, options->first_host + i,
				 options->from_wall_ns);
		fill->hosts[i].own_executables_pct = options->own_executables_pct;
		fill->bodies[i] = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES);
	}
	return arena_new(BATCH_MAX_DECODED_BYTES, &fill->scratch);
}

static void release(struct fill *fill)
{
	for (uint32_t i = 0; fill->bodies && i < fill->options->n_hosts; i++)
		bytes_release(&fill->bodies[i]);
	free(fill->bodies);
	free(fill->hosts);
	(void)arena_free(fill->scratch);
}

int store_fill(struct store *store, const struct store_fill_options *options,
	       store_fill_function function, void *arg, struct store_fill_result *ret_result)
{
	scoped(release) struct fill fill = {};
	struct store_fill_result result = {};
	int r;

	r = init(&fill, options);
	if (r < 0)
		return r;
	do {
		r = run_round(&fill, store, &result);
		if (r == 0 && function)
			r = function(arg, fill.bodies, options->n_hosts);
	} while (r == 0 && !is_finished(&fill, &result));
	if (r < 0) {
		fprintf(stderr, "cannot fill the store: %s\n", strerror(-r));
		return r;
	}
	*ret_result = result;
	return 0;
}
