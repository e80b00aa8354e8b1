/* SPDX-License-Identifier: Apache-2.0 */
#include "common/frame.h"

#include "common/base.h"

static const char *const stack_cut_names[] = {
#define X(id, number, name, ...) [STACK_CUT_##id] = (name),
	STACK_CUTS(X)
#undef X
};

static_assert(ARRAY_SIZE(stack_cut_names) == STACK_CUT_END, "every reason needs a name");

const char *stack_cut_name(unsigned int cut)
{
	return cut < ARRAY_SIZE(stack_cut_names) ? stack_cut_names[cut] : NULL;
}
