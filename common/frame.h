/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "common/frame_kinds.def"

/*
 * A frame is {kind, object, position}. frame_kinds.def defines the kinds and what object and
 * position mean. This header contains enumerations only, because BPF programs
 * include it; frame_kind.h has the functions.
 */

enum frame_kind {
#define X(id, number, ...) FRAME_##id = number,
	FRAME_KINDS(X)
#undef X
		FRAME_KIND_END,
};

/*
 * The reasons why a stack is incomplete. NONE: the stack is complete. The sentences appear in
 * answers and docs.
 */
/* clang-format off */
#define STACK_CUTS(X)                                                                              \
	X(NONE,         0, "complete",          "the stack reached its natural end")               \
	X(DEPTH,        1, "depth",             "more frames than one stack may hold")             \
	X(READ_FAULT,   2, "read-fault",        "a stack page was not resident")                   \
	X(NO_MAPPING,   3, "no-mapping",        "a return address lies in no executable mapping")  \
	X(BAD_FRAME,    4, "bad-frame",         "the frame pointer is misaligned or does not rise")\
	X(UNKNOWN,      5, "unknown-process",                                                      \
	  "the process was not known yet: only what frame pointers gave")                          \
	X(NO_USER_REGS, 6, "no-user-registers", "the user registers could not be read")            \
	X(NO_ROW,       7, "no-unwind-row",                                                        \
	  "no unwind row leads on, and the frame pointer is zero")                                 \
	X(32_BIT,       8, "32-bit",                                                               \
	  "a 32-bit program: only its innermost frame is known")
/* clang-format on */

enum stack_cut {
#define X(id, number, ...) STACK_CUT_##id = number,
	STACK_CUTS(X)
#undef X
		STACK_CUT_END,
};

/* Most frames of one stack, kernel and user frames together. */
#define STACK_MAX_FRAMES 640

const char *stack_cut_name(unsigned int cut);
