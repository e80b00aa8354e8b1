/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "common/frame_kinds.def"

/*
 * A frame is {kind, object, position}. frame_kinds.def defines the kinds and the meanings of object
 * and position. BPF programs include this header, so it includes nothing but that table;
 * frame_kind.h has the functions on kinds.
 */

enum frame_kind {
#define X(id, number, ...) FRAME_##id = number,
	FRAME_KINDS(X)
#undef X
		FRAME_KIND_END,
};

/*
 * A position of byte code (CODE_OFFSET) in a function of which the executed instruction is not
 * known: answers show the first line of the function.
 */
#define FRAME_CODE_UNKNOWN_OFFSET 0x7fffffffu

/*
 * The reasons why a stack is incomplete: number (on the wire), name (in answers and metrics), and
 * meaning (for readers of this file). NONE: the stack is complete.
 */
/* clang-format off */
#define STACK_CUTS(X)                                                                              \
	X(NONE,         0, "complete",          "the outermost frame was reached")                 \
	X(DEPTH,        1, "depth",             "more frames than one stack may hold")             \
	X(READ_FAULT,   2, "read-fault",        "a stack page was not resident")                   \
	X(NO_MAPPING,   3, "no-mapping",        "a return address is in no executable mapping")    \
	X(BAD_FRAME,    4, "bad-frame",                                                            \
	  "the caller's frame would be misaligned, or not above this frame")                       \
	X(UNKNOWN,      5, "unknown-process",                                                      \
	  "the process was not known yet, or its stack was not copied in full")                    \
	X(NO_USER_REGS, 6, "no-user-registers", "the user registers could not be read")            \
	X(NO_ROW,       7, "no-unwind-row",                                                        \
	  "there is no unwind row, and the frame pointer or return address is 0")                  \
	X(32_BIT,       8, "32-bit",                                                               \
	  "the thread runs 32-bit code, of which only the innermost frame is unwound")
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
