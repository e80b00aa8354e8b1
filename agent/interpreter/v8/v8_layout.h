/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The layouts of V8's objects, by version (layouts.def). A further version is a row there.
 *
 * A pointer to an object is its address plus 1. The first word of an object points to its map,
 * which has the instance type: the class of the object, and for strings their representation.
 */

#include "bpf/abi/interpreter.h"
#include "common/base.h"

struct v8_layout {
	uint32_t version; /* major << 8 | minor */
	uint16_t function_shared;
	uint16_t shared_type, shared_name, shared_script;
	uint16_t scope_type, scope_of_module;
	uint16_t positions_first;
	uint16_t script_type;
};

/* NULL: the version is not known. */
const struct v8_layout *v8_layout_of(uint32_t version);
