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
