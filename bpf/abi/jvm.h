/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Where HotSpot JVMs have the code that they generate. The map `jvms` has an entry for each process
 * with a JVM, by its pid.
 *
 * A code heap is divided into segments of equal size. Its segment map has a byte for each: 255 if
 * it is free, 0 if a block begins there, else a number of segments back towards the beginning of
 * the block. A block is a header and a CodeBlob, which has a name, the size of its stack frames,
 * and code:
 *
 *   "nmethod", "native nmethod"   a compiled Java method, with the methods inlined into it
 *   other names                   stubs: code that the JVM needs itself
 *
 * The code of the interpreter of byte code is one blob. Each interpreted method has a frame with a
 * frame pointer, which has the Method and the address of the byte code that it executes.
 *
 * The frame of a method that is interpreted is {Method, index in the byte code}. Frames of other
 * code are {CodeBlob, offset in its code}, and the address has a mark in its lowest bits. The agent
 * replaces each by the methods (agent/interpreter/hotspot).
 */

#include "bpf/abi/interpreter.h"

#define ABI_MAX_JVMS 1024

/* JDK 9 and later have three: for stubs, and for methods with and without counters. */
#define ABI_MAX_CODE_HEAPS 4

struct abi_code_heap {
	__u64 low, high;   /* as reserved, so that they do not change */
	__u64 segment_map; /* address of its first byte */
	__u32 segment_shift;
	__u32 zero;
};

/* The fields of a blob must be in its first bytes. */
#define ABI_CODE_BLOB_BYTES 256

/* Offsets in bytes, as the JVM describes them. Those of a blob must be multiples of their size. */
struct abi_hotspot_layout {
	__u16 heap_block_bytes; /* the header of a block */
	__u16 blob_name, blob_code;
	__u16 blob_frame_size;     /* words, with the return address */
	__u16 blob_frame_complete; /* offset in the code from which on there is a frame */
	/*
	 * A frame whose code is invalid returns to the address nmethod_deopt. Its true return
	 * address is then on the stack at the offset nmethod_orig_pc.
	 */
	__u16 nmethod_deopt, nmethod_orig_pc;
	__u16 method_const, const_method_bytes; /* the byte code follows the ConstMethod */
	__u16 zero[3];
};

enum abi_hotspot_mark {
	ABI_HOTSPOT_COMPILED = 1,
	ABI_HOTSPOT_STUB = 2,
	ABI_HOTSPOT_MARKS = 3,
};

struct abi_jvm {
	/* valid for this image of the process only, as in struct abi_process */
	__u64 start_time_10ms;
	__u32 n_execs; /* exec_count / ABI_EXEC_STEP */
	__u32 zero;
	struct abi_code_heap heaps[ABI_MAX_CODE_HEAPS]; /* unused: 0 */
	struct abi_code_range interpreter;              /* pcs */
	__u64 call_stub_return; /* return address in the code with which native code calls Java */
	struct abi_hotspot_layout layout;
};

_Static_assert(sizeof(struct abi_jvm) == 192, "part of the BPF/userspace ABI");
