/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Identifies a stack by its content: frames with all that their objects are, and the reason for
 * which it was cut. Equal stacks of all agents have an equal content, so that a segment looks up a
 * stack of any agent once.
 *
 * The content is a seeded hash of 128 bits: nobody can make a stack that is taken for another one.
 */

#include "symbolizer/store/head/numbers.h"

struct stack_seeds {
	uint64_t seeds[2];
};

/*
 * The content of a stack of @numbers. It is computed at the first call, and kept in the stack and
 * in its objects: use the same seeds for all calls with the same numbers.
 */
const struct content *stack_content(const struct numbers *numbers, const struct stack_seeds *seeds,
				    struct numbers_stack *stack);
