/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/wanted.h"

#include <string.h>

int wanted_add(struct wanted_vec *queue, const struct wanted *wanted)
{
	if (queue->count >= WANTED_MAX)
		return 0;
	for (size_t i = 0; i < queue->count; i++) {
		if (executable_id_equal(&queue->items[i].id, &wanted->id)) {
			queue->items[i].trusted_only &= wanted->trusted_only;
			return 0;
		}
	}
	return vec_push(queue, *wanted);
}

bool wanted_take(struct wanted_vec *queue, wanted_rank_fn *rank, void *arg,
		 struct wanted *ret_wanted)
{
	uint64_t largest = WANTED_NOT_NOW;
	size_t found = 0;

	for (size_t i = 0; i < queue->count; i++) {
		uint64_t rank_of_item = rank(arg, &queue->items[i]);

		if (rank_of_item > largest) {
			largest = rank_of_item;
			found = i;
		}
	}
	if (largest == WANTED_NOT_NOW)
		return false;
	*ret_wanted = queue->items[found];
	memmove(queue->items + found, queue->items + found + 1,
		(queue->count - found - 1) * sizeof(*queue->items));
	queue->count--;
	return true;
}
