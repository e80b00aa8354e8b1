/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The distinct states of a piece of code, numbered in the order of their appearance: its places
 * hold numbers.
 */

#include "agent/unwind/code_state.h"

/* libavcodec's largest piece has some hundreds. */
#define CODE_STATE_SET_MAX 8192

struct code_state_set {
	struct code_state *items;
	uint16_t *slots; /* open addressing: numbers + 1, 0 is empty */
	size_t count;
};

/* Empties it; may be the first call on one that is all zeros. 0 or -ENOMEM. */
int code_state_set_reset(struct code_state_set *set);
void code_state_set_release(struct code_state_set *set);

/* 1; 0: there is no room for it. */
int code_state_set_intern(struct code_state_set *set, const struct code_state *state,
			  uint16_t *ret_number);
