/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/profile_side.h"

#include <stdio.h>

#include "symbolizer/flame/tree_side.h"

/* Returns the function, or NULL if the whole profile is requested. */
static const char *requested_side(const struct profile_request *request, enum tree_side *ret_side)
{
	*ret_side = request->callers_of && request->callers_of[0] ? TREE_CALLERS : TREE_CALLEES;
	if (*ret_side == TREE_CALLERS)
		return request->callers_of;
	return request->callees_of && request->callees_of[0] ? request->callees_of : NULL;
}

int profile_side_take(const struct profile_request *request, struct tree **tree,
		      struct profile_stats *stats)
{
	scoped(tree_freep) struct tree *whole = NULL;
	enum tree_side side;
	const char *function = requested_side(request, &side);
	uint64_t n_shortened;
	int r;

	if (!function)
		return 1;
	whole = take_ptr(*tree);
	r = tree_side_make(whole, function, side, tree, &n_shortened);
	if (r > 0)
		stats->n_stacks_shortened += n_shortened;
	return r;
}

void profile_side_describe_missing(const struct profile_request *request,
				   char ret_message[PROFILE_MESSAGE_SIZE])
{
	enum tree_side side;

	(void)snprintf(ret_message, PROFILE_MESSAGE_SIZE,
		       "no stack of the selection has the function '%.200s': top lists those that "
		       "it has",
		       requested_side(request, &side));
}
