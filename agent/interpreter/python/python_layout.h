/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The layouts of CPython's structures, by version (layouts.def). A further version is a row there.
 */

#include "bpf/abi/interpreter.h"
#include "common/base.h"

struct python_code_layout {
	uint16_t code_file, code_name, code_qualified_name;
	uint16_t code_first_line, code_line_table;
	uint16_t line_table_mark; /* a byte in front of the line table; 0: none */
	uint16_t text_length, text_state, text_ascii, text_other, bytes_data;
};

struct python_layout {
	uint32_t version; /* major << 8 | minor */
	struct abi_python_layout walk;
	struct python_code_layout code;
};

/* NULL: the version is not known. */
const struct python_layout *python_layout_of(uint32_t version);
