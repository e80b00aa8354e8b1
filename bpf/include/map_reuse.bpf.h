/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Reading elements of hash maps that may be reused under the reader.
 *
 * Since Linux 6.1, and in preallocated maps always, the memory of an element that was removed or
 * replaced is handed out again at once, while programs on other CPUs still read it. The kernel
 * fills it with memcpy(), whose stores become visible in any order: no field of the value can say
 * whether the other fields still belong to it.
 *
 * What can say so is the map. The kernel unlinks an element from its bucket before it frees it, and
 * the bucket's lock that it releases then and the lock that it takes before it fills the element
 * again put the unlinking before the first new byte. So a reader that saw a new byte cannot find
 * the element under its key any more, if it looks the key up *after* it has read. Whoever reads an
 * element
 *
 *   1. looks the key up and reads what it needs, each word once,
 *   2. calls read_before() with everything it has read,
 *   3. looks the key up again, with the zero that read_before() returned added to the key, and believes what it read
 *      only if the same element is still there.
 *
 * For keys that never come back (sets of mappings) this is exact. A key that does come back (a pid)
 * could be replaced and get the same element again between 1 and 3: two system calls of the agent
 * or more, within the time of one copy. That is not noticed.
 *
 * The loads of 3 must not overtake those of 1. x86 keeps the order of loads, so only the compiler
 * must be stopped. arm64 keeps it where the address of the later load is computed from what the
 * earlier loads returned: the added zero is such a computation, which neither the compiler (it
 * cannot see the zero) nor the kernel's JIT removes. A barrier is not needed, nor are BPF atomics
 * with ordering, which arm64 does not have before Linux 5.18.
 */

#include "bpf/include/maps.bpf.h"

/* A word of any struct. */
typedef __u64 __attribute__((may_alias)) word;

/* The compiler must not read a word a second time after the check. */
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

/* Copies @n_words words, a constant, each read once. The result depends on all of them. */
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
