/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The callers or the callees of a function (flame/tree_side.h) instead of a whole profile. */

#include "symbolizer/query/profile.h"

/*
 * If the request names a function, replaces *tree, which is not finished, by one side of it. Counts
 * stacks for which the new tree had no room. Returns 1; 0 if no stack has the function, and sets
 * *tree to NULL; -ENOMEM.
 */
int profile_side_take(const struct profile_request *request, struct tree **tree,
		      struct profile_stats *stats);

/* Writes the message for a profile without the function. */
void profile_side_describe_missing(const struct profile_request *request,
				   char ret_message[PROFILE_MESSAGE_SIZE]);
