/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Distributes the off-CPU time of skipped waits (their stack was not captured) over the rows of
 * captured waits (their stack is known).
 *
 * A wait site is the code address and the length class of a wait (struct abi_wait.site). Under load
 * the BPF program captures the stack of one wait in 2^weight_shift per thread and site. With each
 * captured wait it reports the number and the exact total time of the waits that it skipped at that
 * site. When a window closes, the skipped time of each thread and site is added to the rows of the
 * same thread and site. Each row gets a part in proportion to its duration times the number of
 * waits that it represents. The sum is exact; each stack's part is correct on average.
 *
 * Capturing a stack lengthens a wait if the CPU that captures it also has to wake the thread. If
 * another CPU wakes the thread, the wait keeps its length. The lengthening is estimated as the
 * difference between the mean durations of captured and of skipped waits. It is subtracted from the
 * durations of captured waits before the parts are computed.
 *
 * Used by the agent's main thread.
 */

#include "agent/sample/window.h"
#include "bpf/abi/sample_record.h"
#include "common/hash_table.h"
#include "common/vec.h"

/* A row of the window: a captured wait, or a piece of a long captured wait. */
struct captured_wait {
	size_t row;         /* index into the window's rows */
	uint32_t site;      /* index into skipped_waits.sites */
	uint32_t n_skipped; /* number of skipped waits that the row represents */
	uint64_t piece_ns;  /* duration of the wait or of the piece */
};

struct wait_site {
	uint64_t skipped_ns;
	uint64_t n_skipped;
	/* sums over the rows of the site */
	uint64_t n_captured;
	uint64_t captured_ns;
	uint64_t capture_ns; /* time that capturing their stacks took */
	/* set by skipped_waits_distribute() */
	uint64_t lengthened_ns;   /* mean time by which capturing lengthened a wait */
	unsigned __int128 weight; /* sum of the weights of the rows that have no part yet */
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

/* Identifies a wait site of one thread. Skipped time is added only to rows with the same key. */
struct wait_site_key {
	uint32_t process; /* struct process.number */
	uint32_t tid;
	uint32_t site;
};

/*
 * Adds the skipped time that @wait reports. The caller then passes *ret_site to
 * skipped_waits_add_row(). 0 or -ENOMEM.
 */
int skipped_waits_add_time(struct skipped_waits *waits, const struct wait_site_key *key,
			   const struct abi_wait *wait, uint32_t *ret_site);

/* Adds row @row, which lasted @piece_ns, to the rows that get a part of the skipped time. */
int skipped_waits_add_row(struct skipped_waits *waits, uint32_t site, const struct abi_wait *wait,
			  size_t row, uint64_t piece_ns);

/* Adds each row's part of the skipped time to its value, then clears @waits for the next window. */
void skipped_waits_distribute(struct skipped_waits *waits, struct window_row *rows);
