/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Locates the machine code that HotSpot JVMs generate. The map `jvms` has one entry for each
 * process with a JVM. The key is the pid.
 *
 * The JVM allocates code in code heaps. A code heap is divided into segments of equal size. Its
 * segment map has one byte for each segment: 255 if the segment is free, 0 if a block begins in it,
 * otherwise how many segments to go back to get closer to the beginning of the block. A block is a
 * header and a CodeBlob. A CodeBlob has a name, the size of its stack frame, and code. The name is
 * the kind of code:
 *
 *   "nmethod", "native nmethod"   a compiled Java method, with the methods inlined into it
 *   other names                   stubs: code that the JVM itself needs
 *
 * The byte code interpreter is a single blob. A method that it executes has a stack frame with a
 * frame pointer. The frame contains the address of the Method and, unless the frame is the
 * innermost one, the address of the current byte code instruction.
 *
 * The unwinder adds one frame (FRAME_HOTSPOT) to the sample for each of these stack frames:
 *
 *   interpreted method   {address of the Method, index in the byte code}
 *   compiled method      {address of the CodeBlob | ABI_HOTSPOT_COMPILED, offset in its code}
 *   stub                 {address of the CodeBlob | ABI_HOTSPOT_STUB, 0}
 *
 * The agent replaces it by one frame for each method, or by a frame with the name of the stub
 * (agent/interpreter/hotspot).
 */

#include "bpf/abi/interpreter.h"

#define ABI_MAX_JVMS 1024

/* JDK 9 and later have three: stubs, methods that count for the compiler, and other methods. */
#define ABI_MAX_CODE_HEAPS 4

struct abi_code_heap {
	__u64 low, high;   /* the reserved range, which stays the same while the heap grows */
	__u64 segment_map; /* address of the segment map's first byte */
	__u32 segment_shift;
	__u32 zero;
};

/* The unwinder reads this many bytes of a CodeBlob, so they must contain all fields below. */
#define ABI_CODE_BLOB_BYTES 256

/*
 * Offsets in bytes, from tables that libjvm.so exports. The offset of a field in a blob must be a
 * multiple of the size of the field.
 */
struct abi_hotspot_layout {
	__u16 heap_block_bytes; /* size of the header of a block */
	__u16 blob_name, blob_code;
	__u16 blob_frame_size;     /* in words, including the return address */
	__u16 blob_frame_complete; /* offset in the code at which the frame has been set up */
	/*
	 * When the JVM invalidates compiled code, it replaces the pc of each frame of this code by
	 * the value of the field nmethod_deopt. It saves the true pc in the frame, at the offset
	 * from the stack pointer that the field nmethod_orig_pc has.
	 */
	__u16 nmethod_deopt, nmethod_orig_pc;
	__u16 method_const, const_method_bytes; /* the byte code is behind the ConstMethod */
	/* blob_code and nmethod_deopt have 32 bits, and are offsets from the blob, not addresses */
	__u16 places_are_relative;
	__u16 byte_code_below_fp; /* in the frame of an interpreted method: distance in bytes */
	__u16 zero;
};

enum abi_hotspot_mark {
	ABI_HOTSPOT_COMPILED = 1,
	ABI_HOTSPOT_STUB = 2,
	ABI_HOTSPOT_MARKS = 3,
};

struct abi_jvm {
	/*
	 * the entry is used only if these two match the sampled process, as in struct abi_process
	 */
	__u64 start_time_10ms;
	__u32 n_execs; /* exec_count / ABI_EXEC_STEP */
	__u32 zero;
	struct abi_code_heap heaps[ABI_MAX_CODE_HEAPS]; /* unused: 0 */
	struct abi_code_range interpreter;              /* pcs of the byte code interpreter */
	__u64 call_stub_return; /* return address in the stub by which native code calls Java */
	struct abi_hotspot_layout layout;
};

_Static_assert(sizeof(struct abi_jvm) == 192, "part of the BPF/userspace ABI");
