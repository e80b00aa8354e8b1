/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads code of CRuby from the memory of a process: the body of an iseq, which has the names of a
 * method or block, its file, and its lines. The process may have freed the body, and the garbage
 * collector may have moved the names: types are checked, everything is bounded.
 */

#include "agent/interpreter/runtime/read_code.h"
#include "agent/interpreter/ruby/ruby_layout.h"

struct ruby_memory {
	const struct ruby_layout *layout; /* of the version of CRuby in the process */
	memory_read read;
	void *arg;
};

/*
 * Reads the body at @address, as python_code_read(). The function is "price", the qualified name
 * what backtraces of Ruby show before 3.4: "block in price". The line table is that of the language
 * "ruby" (symbolizer/symbols/line_table/line_table.h).
 */
int ruby_code_read(const struct ruby_memory *memory, uint64_t address, uint64_t known_mark,
		   struct read_code *ret_code, uint8_t *content);
