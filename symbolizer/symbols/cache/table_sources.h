/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which stored files the symbol table of an executable is made from: the best one for names (or,
 * where none has symbols, the executable itself: Go's table and the PLT are in its code), the
 * executable beside debuginfo without code, the file that dwz moved shared parts to, and what the
 * compiler split off (.dwp).
 */

#include "symbolizer/debuginfo/debuginfo_store.h"
#include "symbolizer/symbols/cache/table_store.h"

/* 1 found, 0 there is nothing for @id. @alt_id (NONE: none) is what is known of earlier reading. */
int table_sources_find(struct debuginfo_store *debuginfo, const struct executable_id *id,
		       const struct executable_id *alt_id, struct table_sources *ret_sources);

bool table_sources_equal(const struct table_sources *a, const struct table_sources *b);

struct table_inputs {
	struct symbol_compile_input fds; /* ours */
	struct table_sources sources;
	struct executable_id alt_id;
	uint64_t size_bytes; /* of all of them */
};

/* 1 open, 0 there is nothing for @id. To be released also after a failure. */
int table_inputs_open(struct debuginfo_store *debuginfo, const struct executable_id *id,
		      struct table_inputs *ret_inputs);
void table_inputs_release(struct table_inputs *inputs);
