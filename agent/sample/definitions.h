/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Numbers of stacks and series of this epoch, and which of them the server knows.
 *
 * A definition records the first batch that carried it. Batches are delivered in order, so the
 * server knows the definition once any batch from that one on is acknowledged. When a batch is
 * dropped, or the server reports lost numbers, every definition that is not certainly known counts
 * as not sent.
 */

#include "agent/sample/window.h"
#include "common/hash_table.h"

struct stack_number {
	uint32_t number;
	uint64_t first_sent_sequence;
	uint64_t last_window;
};

struct series_key {
	uint32_t process; /* number */
	uint32_t tid;
	int32_t cpu;        /* -1: CPUs are not distinguished */
	uint32_t type;      /* enum event_type */
	uint64_t period_ns; /* on-cpu: period of the timer; else 0 */
	char thread_name[16];
};

struct series_number {
	uint32_t number;
	uint64_t first_sent_sequence;
	uint64_t last_window;
};

struct definitions {
	struct hash_table *stacks; /* uint64_t content hash -> struct stack_number */
	struct hash_table *series; /* struct series_key -> struct series_number */
	uint32_t next_stack;
	uint32_t next_series;
	uint64_t acknowledged_sequence;
	uint64_t n_evicted; /* recently used numbers that were removed to make room */
};

int definitions_init(struct definitions *definitions);
void definitions_release(struct definitions *definitions);

/* Finds or assigns a number. 0 or -ENOMEM. */
int definitions_stack(struct definitions *definitions, uint64_t content_hash, uint64_t window,
		      struct stack_number **ret_number);
int definitions_series(struct definitions *definitions, const struct series_key *key,
		       uint64_t window, struct series_number **ret_number);

void definitions_acknowledge(struct definitions *definitions, uint64_t sequence);

/*
 * Whether batch @sequence must carry a definition that was first sent with *first_sent_sequence (0:
 * never; then it is set to @sequence).
 */
bool definitions_must_send(const struct definitions *definitions, uint64_t *first_sent_sequence,
			   uint64_t sequence);

/*
 * Marks definitions as not sent: those that were not acknowledged, because a batch was lost; or
 * @all, because the server lost its numbers.
 */
void definitions_forget(struct definitions *definitions, bool all);

/* Removes numbers that were not used for a while. A stack or series used again gets a new one. */
void definitions_sweep(struct definitions *definitions, uint64_t window);
