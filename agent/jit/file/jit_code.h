/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a runtime writes about the code that it generates, in one of two formats:
 *
 *   perf map   /tmp/perf-PID.map, lines "START SIZE NAME" with hexadecimal numbers (perf_map.h)
 *   jitdump    jit-PID.dump, binary records with times and source lines (jit_dump.h)
 *
 * Both grow at their end. The parsers convert a piece of a file to entries; names stay in the file
 * until a sampled address needs them (jit_file.h). The bytes are those of any user.
 */

#include "common/bytes.h"

/* Entries beyond this offset are not read: an offset in a file has 32 bits. */
#define JIT_FILE_MAX_BYTES ((uint64_t)UINT32_MAX)

/* Larger code is not taken for code: it would hide all other names of the process. */
#define JIT_CODE_MAX_BYTES ((uint64_t)(256 * MIB))

/* Addresses of user memory are below this on all supported architectures (52 bits on arm64). */
#define JIT_CODE_END (UINT64_C(1) << 56)

/* Most entries of one piece, so that an answer of a helper holds them. */
#define JIT_MAX_CODES 1500

enum jit_code_flags {
	JIT_CODE_MOVED = 1, /* the code at moved_from is now at start */
	JIT_CODE_LINES = 2, /* source lines are recorded: its name depends on the address */
};

struct jit_code {
	uint64_t start;
	uint64_t moved_from;
	uint64_t time_ns; /* CLOCK_MONOTONIC; 0: not recorded */
	uint32_t size;
	uint32_t offset; /* of the entry in the file */
	uint32_t flags;  /* enum jit_code_flags */
	uint32_t zero;
};

struct jit_codes {
	size_t count;
	struct jit_code items[JIT_MAX_CODES];
};

/* Whether memory can have code at [@start, @start + @size). */
static inline bool jit_code_is_valid(uint64_t start, uint64_t size)
{
	return size > 0 && size <= JIT_CODE_MAX_BYTES && start < JIT_CODE_END - size;
}
