/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/unwind/table/unwind_builder.h"
#include "common/vec.h"

/* Contiguous code. */
struct code_range {
	struct bytes_view bytes;
	uint64_t vaddr; /* of the first byte */
};

VEC_DEFINE(code_address_vec, uint64_t);
VEC_DEFINE(code_offset_vec, uint32_t);

/* How an instruction is reached. A higher value replaces a lower one. */
enum reachability {
	UNREACHED = 0,
	REACHED_AFTER_CALL = 1, /* only if a callee returns */
	REACHED = 2,
};
