/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The layouts of CRuby's structures, by version (layouts.def). A further version is a row there.
 */

#include "bpf/abi/interpreter.h"
#include "common/base.h"

struct ruby_layout {
	uint32_t version;            /* major << 8 | minor */
	struct abi_ruby_layout walk; /* without addresses */
	uint16_t first_line, line_is_fixnum;
	uint16_t lines_body, lines_size, lines_positions, line_bytes;
	uint16_t text_has_length;
};

/* NULL: the version is not known. */
const struct ruby_layout *ruby_layout_of(uint32_t version);
