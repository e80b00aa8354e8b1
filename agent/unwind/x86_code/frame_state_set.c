/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_code/frame_state_set.h"

#include <stdlib.h>

#include "common/hash.h"

/* A power of two. At most half of the slots are taken. */
#define N_SLOTS (FRAME_STATE_SET_MAX * 2)

int frame_state_set_reset(struct frame_state_set *set)
{
	if (!set->items) {
		set->items = malloc(FRAME_STATE_SET_MAX * sizeof(*set->items));
		set->slots = malloc(N_SLOTS * sizeof(*set->slots));
		if (!set->items || !set->slots) {
			frame_state_set_release(set);
			return -ENOMEM;
		}
	}
	memset(set->slots, 0, N_SLOTS * sizeof(*set->slots));
	set->count = 0;
	return 0;
}

void frame_state_set_release(struct frame_state_set *set)
{
	free(set->items);
	free(set->slots);
	*set = (struct frame_state_set){};
}

int frame_state_set_intern(struct frame_state_set *set, const struct frame_state *state,
			   uint16_t *ret_number)
{
	size_t slot = (size_t)hash64_of(state, sizeof(*state)) & (N_SLOTS - 1);

	while (set->slots[slot] != 0) {
		if (memcmp(&set->items[set->slots[slot] - 1], state, sizeof(*state)) == 0) {
			*ret_number = (uint16_t)(set->slots[slot] - 1);
			return 1;
		}
		slot = (slot + 1) & (N_SLOTS - 1);
	}
	if (set->count == FRAME_STATE_SET_MAX)
		return 0;
	set->items[set->count++] = *state;
	set->slots[slot] = (uint16_t)set->count;
	*ret_number = (uint16_t)(set->count - 1);
	return 1;
}
