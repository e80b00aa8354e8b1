/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The layouts of V8's objects, by version (layouts.def). A further version is a row there.
 *
 * A pointer to an object is its address plus 1. The first word of an object points to its map,
 * which has the instance type: the class of the object, and for strings their representation.
 */

#include "agent/executable/interpreter_facts.h"
#include "common/base.h"

/* From this version on, a function has a handle instead of a pointer to its code. */
#define V8_FIRST_WITH_HANDLES (13U << 8)

struct v8_layout {
	uint32_t version; /* major << 8 | minor */
	uint16_t function_shared;
	uint16_t function_code; /* version 13: of the handle */
	uint16_t code_type, code_deopt, code_positions;
	uint8_t code_start;  /* of the pointer to the instructions; 0: they are in the object, */
	uint8_t code_header; /* at this offset */
	uint8_t code_flags, code_bytes;
	uint8_t first_optimized;
	uint8_t deopt_literals, deopt_shared, deopt_inlined; /* indexes */
	uint16_t shared_type, shared_name, shared_script;
	uint16_t scope_type, scope_of_module;
	uint16_t positions_first;
	uint16_t script_type;
};

/* NULL: the version is not known. */
const struct v8_layout *v8_layout_of(uint32_t version);

/* What the unwinder needs of it, and of the file with V8. */
struct abi_v8_layout v8_walk_of(const struct v8_layout *layout,
				const struct interpreter_facts *facts);
