/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The part of the gap analysis that follows code, and accepts or rejects what it finds
 * (gap_analysis.h). Only gap_analysis.c uses it.
 *
 * A trial records each change, so that a rejection can undo it. Code behind a call may be
 * unreachable, because the callee may never return. It is followed after all other code, each such
 * continuation as a trial within the trial.
 */

#include "agent/unwind/x86_code/code_range.h"
#include "agent/unwind/x86_code/frame_state_set.h"

/* Flags beside enum reachability. */
#define BYTE_IS_ACCEPTED 4 /* belongs to an accepted function */
#define BYTE_IS_ENTRY    8 /* the first instruction of an accepted function */

/* An instruction that was reached, in the entry of its first byte. */
struct code_byte {
	uint16_t state;  /* number of the frame state before the instruction */
	uint8_t length;  /* of the instruction; 0: not decoded */
	uint8_t reached; /* enum reachability, and flags */
};

static_assert(sizeof(struct code_byte) == 4, "there is one for each byte of code");

/* A change of @bytes, for undoing it. */
struct code_change {
	uint32_t offset;
	struct code_byte before;
};

/* An instruction that is still to be followed, and the frame state there. */
struct code_position {
	uint32_t offset;
	uint16_t state;
};

VEC_DEFINE(code_change_vec, struct code_change);
VEC_DEFINE(code_position_vec, struct code_position);
VEC_DEFINE(gap_row_vec, struct unwind_builder_row);

struct trial_result {
	bool is_contradicted;
	bool is_confirmed;
	bool is_uncertain; /* a path ends where its frame is not known */
};

struct gap_analysis {
	struct code_range code;
	uint32_t size;
	struct code_byte *bytes; /* [size] */
	struct frame_state_set states;
	uint64_t steps_left;
	/* of the current trial */
	struct code_change_vec changes;
	struct code_offset_vec paths; /* instructions that are still to be followed */
	struct code_position_vec behind_calls;
	struct code_position_vec new_switches;
	struct trial_result result;
	enum reachability reachability; /* of the code that is being followed */
	/* of all accepted functions */
	struct code_offset_vec called; /* functions that they call, still to be tried */
	struct code_position_vec switches;
	struct gap_row_vec rows;
};

static inline enum reachability reachability_of(const struct code_byte *byte)
{
	return (enum reachability)(byte->reached & ~(BYTE_IS_ACCEPTED | BYTE_IS_ENTRY));
}

/*
 * Tries a function that begins at @offset. @is_guess: nothing refers to it, so it must not be
 * uncertain. 1: accepted; 0: rejected; -ENOMEM.
 */
int gap_trial_function(struct gap_analysis *analysis, uint32_t offset, bool is_guess);

/* Tries the case of a switch. It is accepted if it is confirmed and not contradicted. 0, -ENOMEM. */
int gap_trial_case(struct gap_analysis *analysis, uint32_t offset, uint16_t state);
