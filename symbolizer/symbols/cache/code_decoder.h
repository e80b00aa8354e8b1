/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the code of an executable from the debuginfo store, and has a helper process decode it
 * (code/decode_code.h), because the bytes are those of an upload. Takes some milliseconds.
 * Thread-safe.
 */

#include "symbolizer/symbols/code/code_exchange.h"
#include "symbolizer/symbols/cache/symbol_cache.h"

enum code_outcome {
	CODE_DECODED,
	CODE_NO_FILE,  /* no file with code of this identity is stored */
	CODE_NO_BYTES, /* the stored file does not have this code */
	CODE_REFUSED,  /* the file cannot be read, or its code cannot be decoded; see why */
};

/*
 * The caller sets the fields down to @n_blocks. Blocks have at most CODE_MAX_BYTES together, and
 * are at most CODE_MAX_BLOCKS.
 *
 *   blocks[n_blocks]              get their bytes
 *   instructions[n_instructions]  rising by block and address
 */
struct code_job {
	enum code_syntax syntax;
	struct code_block *blocks;
	size_t n_blocks;

	enum code_outcome outcome;
	uint16_t machine; /* EM_...; 0: not known */
	struct code_instruction *instructions;
	size_t n_instructions;
	char why[HELPER_WHY_SIZE];
};

/*
 * The results are in @arena. Returns 0; -EBUSY: too many helpers decode code; or another negative
 * errno: the store failed, or no helper could be started.
 */
int code_decoder_run(struct symbol_cache *cache, const struct executable_id *id,
		     struct code_job *job, struct arena *arena);
