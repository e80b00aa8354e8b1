/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Macros for the C files of agent, symbolizer, common and tests. They allocate no memory and keep
 * no state.
 */

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define NSEC_PER_USEC UINT64_C(1000)
#define NSEC_PER_MSEC UINT64_C(1000000)
#define NSEC_PER_SEC  UINT64_C(1000000000)

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)

#define MIN(a, b)                                                                                  \
	({                                                                                         \
		__typeof__(a) min_a_ = (a);                                                        \
		__typeof__(b) min_b_ = (b);                                                        \
		min_a_ < min_b_ ? min_a_ : min_b_;                                                 \
	})
#define MAX(a, b)                                                                                  \
	({                                                                                         \
		__typeof__(a) max_a_ = (a);                                                        \
		__typeof__(b) max_b_ = (b);                                                        \
		max_a_ > max_b_ ? max_a_ : max_b_;                                                 \
	})

/* @alignment must be a power of two. */
#define ROUND_UP(value, alignment) (((value) + (alignment)-1) & ~((__typeof__(value))(alignment)-1))

#define must_check            __attribute__((warn_unused_result))
#define printf_like(fmt, arg) __attribute__((format(printf, fmt, arg)))
#define maybe_unused          __attribute__((unused))

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
