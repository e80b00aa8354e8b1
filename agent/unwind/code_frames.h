/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rows of functions that have no call frame information, from their code: x86-64. The stack pointer
 * is followed from the function's first instruction along all its ways (push, pop, add, sub, lea,
 * leave; calls leave it as it was). Where something else is done to it nothing is said; where two
 * ways lead to one place with different depths, which no compiler writes, the surer one counts.
 *
 * It is done for programs of the C library musl, which is built without call frame information, and
 * whose functions keep no frame pointers either. Pure.
 */

#include "agent/unwind/unwind_builder.h"
#include "common/vec.h"

VEC_DEFINE(code_address_vec, uint64_t);

/* Code that lies together. */
struct code_range {
	struct bytes_view bytes;
	uint64_t vaddr; /* of the first byte */
};

struct code_frames;

int code_frames_new(const struct code_range *code, struct code_frames **ret_frames);
struct code_frames *code_frames_free(struct code_frames *frames);

/*
 * The function at @start, which ends at @end at the latest: its rows are appended to @rows, by
 * rising address, and where they end is told. Addresses that it calls, or takes, and that are in
 * the code are appended to @found. 1; 0: nothing can be said; -ENOMEM.
 */
int code_frames_follow(struct code_frames *frames, uint64_t start, uint64_t end,
		       struct code_address_vec *found, uint64_t *ret_end);

/* Those of the last function. */
const struct unwind_builder_row *code_frames_rows(const struct code_frames *frames,
						  size_t *ret_count);

DEFINE_SCOPED(struct code_frames *, code_frames_free);
