/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A frame is {kind, executable, address}. The numbers are part of the wire format, of the store and
 * of stack IDs: never reuse one.
 *
 *   NATIVE, KERNEL   The address is an ELF virtual address in the executable. One is subtracted
 *                    from a return address, so that the address lies in the call instruction. In
 *                    the kernel image, the address is the distance of the pc from the symbol _text
 *                    of the running kernel. A frame has no executable if its pc lies in no mapping
 *                    (NATIVE) or in an unknown module (KERNEL). Its address is then the pc.
 *   *_FILE_OFFSET    The address is a file offset, because the process ended before its program
 *                    headers were read. The server converts it when it knows the load segments.
 *   KERNEL_NAMED     Code without an executable: BPF JIT code and ftrace trampolines. The address
 *                    is a key in the batch's table of names.
 */

enum frame_kind {
	FRAME_NATIVE = 1,
	FRAME_KERNEL = 2,
	FRAME_NATIVE_FILE_OFFSET = 3,
	FRAME_KERNEL_NAMED = 4,
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
