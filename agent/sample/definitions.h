/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the server knows of the numbers of this epoch.
 *
 * A definition remembers the first batch that carried it; batches are delivered in order, so it is
 * known once any batch from that one on was acknowledged. When a batch is dropped, or the server
 * says it lost numbers, everything not surely known counts as never sent.
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
	int32_t cpu;        /* -1 */
	uint32_t type;      /* enum event_type */
	uint64_t period_ns; /* on-cpu: of the timer; else 0 */
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
	uint64_t n_evicted; /* numbers that left before their time: there were too many */
};

int definitions_init(struct definitions *definitions);
void definitions_release(struct definitions *definitions);

/* Finds or gives a number. 0 or -ENOMEM. */
int definitions_stack(struct definitions *definitions, uint64_t content_hash, uint64_t window,
		      struct stack_number **ret_number);
int definitions_series(struct definitions *definitions, const struct series_key *key,
		       uint64_t window, struct series_number **ret_number);

void definitions_acknowledge(struct definitions *definitions, uint64_t sequence);

/* Whether batch @sequence must carry a definition first sent with *first_sent_sequence; notes it when it must. */
bool definitions_must_send(const struct definitions *definitions, uint64_t *first_sent_sequence,
			   uint64_t sequence);

/*
 * A batch was lost: forgets every sending that was not acknowledged. All: the server lost what it
 * knew.
 */
void definitions_forget(struct definitions *definitions, bool all);

/* Lets go of numbers not used for a while; a stack or series that comes back gets a new one. */
void definitions_sweep(struct definitions *definitions, uint64_t window);
