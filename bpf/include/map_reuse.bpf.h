/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * How to read elements of hash maps whose memory the kernel may reuse during the reading.
 *
 * Since Linux 6.1, and in preallocated maps always, the kernel reuses the memory of a removed or
 * replaced element at once, while programs on other CPUs still read it. The kernel fills the
 * element with memcpy(), whose stores become visible in any order, so no field of the value can
 * show whether the other fields still belong to it.
 *
 * A second lookup can show it. The kernel unlinks an element from its bucket before it frees it. It
 * releases the bucket's lock after unlinking, and takes the lock before it fills the element again;
 * this orders the unlinking before the first new byte. So a reader that has read a new byte no
 * longer finds the element under its key, if it looks the key up *after* reading. Whoever reads an
 * element
 *
 *   1. looks up the key and reads the fields that it needs, each word once,
 *   2. calls read_before() with all values that it has read,
 *   3. adds the zero that read_before() returned to the key, looks it up again, and uses the
 *      values only if it finds the same element.
 *
 * For keys that are never used again (sets of mappings) this check is exact. A key that is used
 * again (a pid) could be removed and get the same element between 1 and 3. That takes at least two
 * system calls of the agent within the time of one copy, and is not detected.
 *
 * The loads of 3 must not overtake those of 1. x86 keeps the order of loads, so only the compiler
 * must be prevented from reordering. arm64 keeps the order if the address of the later load is
 * computed from the results of the earlier loads. Adding the zero is such a computation, which
 * neither the compiler (it cannot see the zero) nor the kernel's JIT removes. So no barrier is
 * needed, and no BPF atomics with ordering, which arm64 lacks before Linux 5.18.
 */

#include "bpf/include/maps.bpf.h"

/* A word of any struct. */
typedef __u64 __attribute__((may_alias)) word;

/* Reads exactly once: the compiler must not read the word again after the check. */
#define read_once(field) (*(const volatile __typeof__(field) *)&(field))

static __always_inline __u32 read_before(__u64 read)
{
#if defined(__TARGET_ARCH_arm64)
	__u64 zero = 0;

	asm volatile("" : "+r"(zero)::"memory");
	return (__u32)(read & zero);
#else
	asm volatile("" ::: "memory");
	return 0;
#endif
}

/*
 * Copies @n_words words, a compile-time constant, each read once. The result depends on all of
 * them.
 */
static __always_inline __u64 copy_words(void *to, const void *from, __u32 n_words)
{
	const volatile word *source = from;
	word *target = to;
	__u64 read = 0;

#pragma unroll
	for (__u32 i = 0; i < n_words; i++) {
		target[i] = source[i];
		read ^= target[i];
	}
	return read;
}
