/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Distributes the off-CPU time of waits without a captured stack over the rows of waits with one.
 *
 * Under load the kernel side captures the stack of one wait in 2^weight_shift per site. With each
 * captured wait it reports the exact time and the number of the waits that it skipped at that site.
 * At the end of a window the skipped time of each thread and site is added to the rows of the same
 * thread and site, in proportion to the number of waits that each row stands for, times the row's
 * duration. The sum is exact; each stack's part is correct on average.
 *
 * Capturing a stack lengthens a wait if the capturing CPU also has to wake the thread, and does not
 * if another CPU wakes it. The lengthening is estimated as the difference between the mean
 * durations of captured and of skipped waits. It is subtracted before the durations are compared.
 *
 * Used by the agent's main thread.
 */

#include "agent/sample/window.h"
#include "bpf/abi/sample_record.h"
#include "common/hash_table.h"
#include "common/vec.h"

/* One row: a wait with a stack, or a piece of a long one. */
struct captured_wait {
	size_t row;         /* index */
	uint32_t site;      /* index */
	uint32_t n_skipped; /* skipped waits that it stands for, from its sampling rate */
	uint64_t piece_ns;
};

struct wait_site {
	uint64_t skipped_ns;
	uint64_t n_skipped;
	/* of the rows */
	uint64_t n_captured;
	uint64_t captured_ns;
	uint64_t capture_ns; /* CPU time for capturing their stacks */
	/* set by skipped_waits_distribute() */
	uint64_t lengthened_ns;
	unsigned __int128 weight;
};

VEC_DEFINE(captured_wait_vec, struct captured_wait);
VEC_DEFINE(wait_site_vec, struct wait_site);

struct skipped_waits {
	struct hash_table *index; /* struct wait_site_key -> uint32_t index of sites */
	struct wait_site_vec sites;
	struct captured_wait_vec captured;
};

int skipped_waits_init(struct skipped_waits *waits);
void skipped_waits_release(struct skipped_waits *waits);

/* Skipped time stays within one thread and wait site. */
struct wait_site_key {
	uint32_t process; /* number */
	uint32_t tid;
	uint32_t site;
};

/*
 * Adds the skipped time that @wait reports. *ret_site: to be passed to skipped_waits_add_row(),
 * which must follow. 0 or -ENOMEM.
 */
int skipped_waits_add_time(struct skipped_waits *waits, const struct wait_site_key *key,
			   const struct abi_wait *wait, uint32_t *ret_site);

/* Adds row @row, which lasted @piece_ns, to the rows that get a part of the skipped time. */
int skipped_waits_add_row(struct skipped_waits *waits, uint32_t site, const struct abi_wait *wait,
			  size_t row, uint64_t piece_ns);

/* Adds each row's part of the skipped time to its value, then clears @waits for the next window. */
void skipped_waits_distribute(struct skipped_waits *waits, struct window_row *rows);
