/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The first bytes of the executable segment that make_executables writes and use_executables calls.
 *
 * The function at the start of the segment plus head_offset[i] is the head of call chain i. It
 * takes the number of turns (> 0) of the loop in the last function of the chain, about a cycle
 * each.
 */

#include <stdint.h>

#define MADE_MAGIC      0x64616d6874726165u
#define MADE_MAX_CHAINS 64

struct made_header {
	uint64_t magic;
	uint32_t n_chains;
	uint32_t head_offset[MADE_MAX_CHAINS];
	uint32_t reserved;
};

typedef void (*made_head)(uint64_t turns);
