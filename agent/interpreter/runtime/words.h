/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Numbers in a copy of a structure of another process, at any alignment. The caller checks that
 * @offset is in the copy.
 */

#include <string.h>

#include "common/base.h"

static inline uint64_t word_at(const uint8_t *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static inline uint32_t half_at(const uint8_t *bytes, size_t offset)
{
	uint32_t half;

	memcpy(&half, bytes + offset, sizeof(half));
	return half;
}
