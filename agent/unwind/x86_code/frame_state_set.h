/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The distinct frame states of a code range, numbered in the order in which they are added, so that
 * each instruction holds a number of 16 bits.
 */

#include "agent/unwind/x86_code/frame_state.h"

/* The largest range of libavcodec has some hundreds. */
#define FRAME_STATE_SET_MAX 8192

struct frame_state_set {
	struct frame_state *items;
	uint16_t *slots; /* open addressing: numbers + 1, 0 is empty */
	size_t count;
};

/* Removes all states. The first call is on a set that is all zero. 0 or -ENOMEM. */
int frame_state_set_reset(struct frame_state_set *set);
void frame_state_set_release(struct frame_state_set *set);

/* Adds the state if it is new. 1: *ret_number is its number; 0: the set is full. */
int frame_state_set_intern(struct frame_state_set *set, const struct frame_state *state,
			   uint16_t *ret_number);
