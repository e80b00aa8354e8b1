/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The addresses of the code that a file describes: ranges without overlap, each with the offset of
 * its entry in the file. Where entries overlap, the later one holds, because the runtime has freed
 * the older code and used its memory again. For some time the ranges that later entries replaced
 * are kept with the time until which they held, if the file records times (jitdump).
 *
 * A range takes 24 bytes; names are not kept. Used by the agent's main thread.
 */

#include "agent/jit/file/jit_code.h"
#include "common/vec.h"

/* Most ranges of a file: 3 MiB. A function takes one; 64 MiB of code have some 100 thousand. */
#define JIT_MAX_RANGES ((size_t)(128 * KIB))

/* The highest bit of a range's size: source lines are recorded (JIT_CODE_LINES). */
#define JIT_RANGE_LINES (1u << 31)

struct jit_range {
	uint64_t start;
	uint32_t size; /* and JIT_RANGE_LINES */
	uint32_t offset;
	uint32_t start_in_code; /* of a range whose beginning was replaced */
	uint32_t zero;
};

/* A range that held until @until_ns. */
struct jit_replaced {
	struct jit_range range;
	uint64_t until_ns;
};

VEC_DEFINE(jit_range_vec, struct jit_range);
VEC_DEFINE(jit_replaced_vec, struct jit_replaced);
VEC_DEFINE(jit_code_vec, struct jit_code);

struct jit_ranges {
	struct jit_range_vec live; /* by rising start */
	struct jit_replaced_vec replaced;
	struct jit_code_vec fresh; /* added since the last commit, in the order of the file */
	uint64_t keep_since_ns;    /* ranges that were replaced before are not kept */
	uint64_t n_dropped;        /* entries without room */
};

void jit_ranges_release(struct jit_ranges *ranges);
void jit_ranges_clear(struct jit_ranges *ranges);

/* Adds entries of a file in their order. 0 or -ENOMEM. */
int jit_ranges_add(struct jit_ranges *ranges, const struct jit_codes *codes);

/* Makes added entries visible to jit_ranges_find(). 0 or -ENOMEM. */
int jit_ranges_commit(struct jit_ranges *ranges);

/*
 * The code at @pc at @time_ns. If only later code is known there, returns it: its writer was late.
 * *ret_code_offset: of @pc in the code. NULL: there is none. Valid until the next change.
 */
const struct jit_range *jit_ranges_find(const struct jit_ranges *ranges, uint64_t pc,
					uint64_t time_ns, uint32_t *ret_code_offset);

/* Forgets ranges that were replaced before @time_ns, and keeps no such ranges in later commits. */
void jit_ranges_forget_replaced(struct jit_ranges *ranges, uint64_t time_ns);

static inline size_t jit_ranges_count(const struct jit_ranges *ranges)
{
	return ranges->live.count;
}
