/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the files of the debuginfo store from which the symbol table of an executable is compiled:
 *
 *   main         the file with the best names; if none has symbols, the executable itself, for Go's
 *                table and the PLT
 *   executable   the executable, if the main file has no code
 *   alt          the file that dwz moved shared parts to
 *   split        the .dwp
 */

#include "symbolizer/debuginfo/debuginfo_store.h"
#include "symbolizer/symbols/cache/table_database.h"

/*
 * Finds the hashes of the files. Returns 1, or 0 if there is no main file. @alt_id is the identity
 * of the alt file, which an earlier compile_inputs_open() has read, or NONE.
 */
int input_hashes_find(struct debuginfo_store *debuginfo, const struct executable_id *id,
		      const struct executable_id *alt_id, struct input_hashes *ret_hashes);

bool input_hashes_equal(const struct input_hashes *a, const struct input_hashes *b);

struct compile_inputs {
	struct symbol_compile_input fds; /* owned */
	struct input_hashes hashes;
	struct executable_id alt_id;
	uint64_t size_bytes; /* of all of them */
};

/*
 * Opens the files. Returns 1, or 0 if there is no main file. The caller releases it also on errors.
 */
int compile_inputs_open(struct debuginfo_store *debuginfo, const struct executable_id *id,
			struct compile_inputs *ret_inputs);
void compile_inputs_release(struct compile_inputs *inputs);
