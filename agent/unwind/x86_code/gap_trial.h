/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tests whether a function, or a case of a switch, begins at an offset of a CFI gap. Only
 * gap_analysis.c uses this header; gap_analysis.h describes the whole analysis.
 *
 * A trial decodes the instructions on all paths from the offset and stores their frame states in
 * gap_analysis.bytes. Then it accepts or rejects the code. It records each change of the array, so
 * that a rejection can undo the changes.
 *
 * Code after a call may be unreachable, because the callee may never return. Therefore a trial
 * follows the code after calls last. If that code contradicts the rest, the trial undoes
 * only the changes that it made after that call, and continues.
 */

#include "agent/unwind/x86_code/code_range.h"
#include "agent/unwind/x86_code/frame_state_set.h"

/* Flags in code_byte.reached, in addition to enum reachability. */
#define BYTE_IS_ACCEPTED 4 /* belongs to an accepted function */
#define BYTE_IS_ENTRY    8 /* the first instruction of an accepted function */

/* State of one byte of code. Only the first byte of an instruction is marked as reached. */
struct code_byte {
	uint16_t state;  /* number of the frame state before the instruction */
	uint8_t length;  /* bytes of the instruction; 0: not decoded */
	uint8_t reached; /* enum reachability, and flags */
};

static_assert(sizeof(struct code_byte) == 4, "there is one for each byte of code");

/* An element of gap_analysis.bytes before a trial changed it. */
struct code_change {
	uint32_t offset;
	struct code_byte before;
};

/* An instruction, and the number of the frame state before it. */
struct code_position {
	uint32_t offset;
	uint16_t state;
};

VEC_DEFINE(code_change_vec, struct code_change);
VEC_DEFINE(code_position_vec, struct code_position);
VEC_DEFINE(gap_row_vec, struct unwind_builder_row);

struct trial_result {
	/* a path cannot be code of a function: for example, it returns with data on the stack */
	bool is_contradicted;
	/*
	 * a path returns or leaves the range with sp at the return address, or continues in
	 * accepted code
	 */
	bool is_confirmed;
	/* a path cannot be followed further, or sp is not known where it ends */
	bool is_uncertain;
};

struct gap_analysis {
	struct code_range code;
	uint32_t size;
	struct code_byte *bytes; /* [size]: one for each byte of code */
	struct frame_state_set states;
	uint64_t steps_left; /* instructions that may still be decoded */
	/* of the current trial */
	struct code_change_vec changes;
	struct code_offset_vec paths;          /* instructions that are still to be followed */
	struct code_position_vec after_calls;  /* instructions after calls, still to be followed */
	struct code_position_vec new_switches; /* indirect jumps */
	struct trial_result result;
	enum reachability reachability; /* of the instructions that are added now */
	/* of all accepted functions */
	struct code_offset_vec called;     /* functions that they call, still to be tried */
	struct code_position_vec switches; /* indirect jumps */
	struct gap_row_vec rows;
};

static inline enum reachability reachability_of(const struct code_byte *byte)
{
	return (enum reachability)(byte->reached & ~(BYTE_IS_ACCEPTED | BYTE_IS_ENTRY));
}

/*
 * Tries a function that begins at @offset. @is_guess: no symbol, pointer or call refers to
 * @offset, so an uncertain result rejects the function. 1: accepted; 0: rejected; -ENOMEM.
 */
int gap_trial_function(struct gap_analysis *analysis, uint32_t offset, bool is_guess);

/*
 * Tries @offset as a case of a switch, with the frame state @state of the indirect jump. The case
 * is accepted if a path confirms it and no path contradicts it. 0, -ENOMEM.
 */
int gap_trial_case(struct gap_analysis *analysis, uint32_t offset, uint16_t state);
