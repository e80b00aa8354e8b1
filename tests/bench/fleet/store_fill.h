/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fills a store with replayed batches, without HTTP: bodies are decoded and written by several
 * threads, as the server's workers do. The time to make the bodies is not measured.
 */

#include "symbolizer/store/store.h"
#include "tests/bench/fleet/replay.h"

struct store_fill_options {
	const struct capture *capture;
	uint32_t first_host, n_hosts; /* indices of replayed hosts */
	uint64_t from_wall_ns;        /* when the first batches open */
	uint64_t duration_ns;         /* the time that batches cover, from then on */
	unsigned int n_threads;
	unsigned int own_executables_pct;
	uint64_t max_wall_ns; /* stops after this measured time; 0: no limit */
};

struct store_fill_cost {
	uint64_t n_batches, n_rows, n_samples;
	uint64_t wall_ns;   /* of decoding and writing */
	uint64_t cpu_ns;    /* of the whole process meanwhile */
	uint64_t decode_ns; /* CPU time of decoding alone */
};

struct store_fill_result {
	uint64_t covered_ns; /* of duration_ns */
	struct store_fill_cost all;
	/* Without the first half of the first lap: then most definitions are known. */
	struct store_fill_cost steady;
};

/* Called with each round of bodies after it was written, outside of the measured time. */
typedef int (*store_fill_function)(void *arg, const struct bytes *bodies, size_t count);

/* @function may be NULL. Returns 0 or a negative errno, after a message on standard error. */
int store_fill(struct store *store, const struct store_fill_options *options,
	       store_fill_function function, void *arg, struct store_fill_result *ret_result);
