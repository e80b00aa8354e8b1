/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A chain of 25 functions, each of which calls the next one, with frames of different sizes. The
 * file is compiled twice, with and without frame pointers. CHAIN_NAME is the outermost function.
 */

#include "tests/bench/unwind_cost_chain.h"

/* Volatile, so that the frame exists and the call is not a tail call. */
#define LINK(number, next, words)                                                                  \
	static __attribute__((noinline)) int link_##number(chain_function function, void *arg)     \
	{                                                                                          \
		volatile long words_of_frame[words];                                               \
		int r;                                                                             \
		words_of_frame[0] = number;                                                        \
		r = next(function, arg);                                                           \
		return r + (words_of_frame[0] != number);                                          \
	}

static __attribute__((noinline)) int link_0(chain_function function, void *arg)
{
	volatile int r = function(arg);

	return r;
}

LINK(1, link_0, 2)
LINK(2, link_1, 4)
LINK(3, link_2, 1)
LINK(4, link_3, 9)
LINK(5, link_4, 3)
LINK(6, link_5, 20)
LINK(7, link_6, 2)
LINK(8, link_7, 5)
LINK(9, link_8, 40)
LINK(10, link_9, 1)
LINK(11, link_10, 6)
LINK(12, link_11, 3)
LINK(13, link_12, 12)
LINK(14, link_13, 2)
LINK(15, link_14, 8)
LINK(16, link_15, 1)
LINK(17, link_16, 30)
LINK(18, link_17, 4)
LINK(19, link_18, 2)
LINK(20, link_19, 7)
LINK(21, link_20, 3)
LINK(22, link_21, 16)
LINK(23, link_22, 2)

int CHAIN_NAME(chain_function function, void *arg)
{
	volatile int r = link_23(function, arg);

	return r;
}
