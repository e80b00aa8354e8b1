/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Time of waits whose stacks were not taken, shared out among those of the same thread and site
 * that were.
 *
 * The kernel side takes the stack of one wait in 2^weight_shift and tells with it the exact time
 * and number of those that it skipped. Within one window a site's skipped time goes to its rows by
 * what each stands for: the sum is exact, and so is each stack's part on the average. Used by the
 * agent's main thread.
 *
 * Taking a stack lengthens a wait where the CPU that is busy with it has to wake the thread, and
 * does not where another one does. How much it was tells the difference between the means of those
 * with a stack and those without.
 */

#include "agent/sample/window.h"
#include "bpf/abi/sample_record.h"
#include "common/hash_table.h"
#include "common/vec.h"

struct wait_share {
	size_t row;        /* index */
	uint32_t site;     /* index */
	uint32_t n_others; /* that it stands for, by the lot */
	uint64_t piece_ns;
};

struct wait_site_total {
	uint64_t others_ns;
	uint64_t n_others;
	/* Of those that had a stack. */
	uint64_t n_taken;
	uint64_t taken_ns;
	uint64_t capture_ns;
	/* While settling. */
	uint64_t lengthened_ns;
	unsigned __int128 weight;
};

VEC_DEFINE(wait_share_vec, struct wait_share);
VEC_DEFINE(wait_site_total_vec, struct wait_site_total);

struct wait_shares {
	struct hash_table *index; /* process, thread and site -> uint32_t index */
	struct wait_site_total_vec sites;
	struct wait_share_vec shares;
};

int wait_shares_init(struct wait_shares *shares);
void wait_shares_release(struct wait_shares *shares);

/* What the waits of one site belong to. */
struct wait_owner {
	uint32_t process; /* number */
	uint32_t tid;
	uint32_t site;
};

/* Skipped time came in. *ret_site is for wait_shares_add_row(), which must follow. 0 or -ENOMEM. */
int wait_shares_add_time(struct wait_shares *shares, const struct wait_owner *owner,
			 const struct abi_wait *wait, uint32_t *ret_site);

/* Row @row, which lasted @piece_ns itself, takes part. */
int wait_shares_add_row(struct wait_shares *shares, uint32_t site, const struct abi_wait *wait,
			size_t row, uint64_t piece_ns);

/* Adds to the rows' values what is theirs, and forgets all. */
void wait_shares_settle(struct wait_shares *shares, struct window_row *rows);
