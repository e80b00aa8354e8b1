/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which stored files the symbol table of an executable is made from: the best one for names (or,
 * where none has symbols, the executable itself: Go's table and the PLT are in its code), the
 * executable beside debuginfo without code, the file that dwz moved shared parts to, and what the
 * compiler split off (.dwp).
 */

#include "symbolizer/debuginfo/debuginfo_store.h"
#include "symbolizer/symbols/cache/table_database.h"

/* 1 found, 0 there is nothing for @id. @alt_id (NONE: none) is what is known of earlier reading. */
int input_hashes_find(struct debuginfo_store *debuginfo, const struct executable_id *id,
		      const struct executable_id *alt_id, struct input_hashes *ret_hashes);

bool input_hashes_equal(const struct input_hashes *a, const struct input_hashes *b);

struct compile_inputs {
	struct symbol_compile_input fds; /* ours */
	struct input_hashes hashes;
	struct executable_id alt_id;
	uint64_t size_bytes; /* of all of them */
};

/* 1 open, 0 there is nothing for @id. To be released also after a failure. */
int compile_inputs_open(struct debuginfo_store *debuginfo, const struct executable_id *id,
			struct compile_inputs *ret_inputs);
void compile_inputs_release(struct compile_inputs *inputs);
