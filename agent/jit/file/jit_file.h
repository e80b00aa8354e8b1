/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads a perf map or a jitdump in pieces, each from where the piece before ended. Used in a
 * sandboxed helper: the file belongs to any user.
 */

#include "agent/jit/file/jit_code.h"
#include "agent/jit/file/jit_name.h"

enum jit_format {
	JIT_PERF_MAP,
	JIT_DUMP,
	JIT_FORMATS,
};

/* How far a file was read. All zero: nothing of it. */
struct jit_position {
	uint64_t offset;
	uint64_t before; /* hash of the bytes before the offset, which must stay the same */
	uint32_t in_long_line;
	uint32_t zero;
};

/* The largest part of a file that one call reads. */
#define JIT_PIECE_BYTES ((size_t)(128 * KIB))

struct jit_piece {
	struct jit_position next;
	/* the file was replaced or truncated: it was read from its beginning */
	bool restarted;
	bool at_end; /* nothing more can be read now */
	struct jit_codes codes;
};

/* 0; -EBADMSG: the file has not this format; or a negative errno from reading it. */
int jit_file_read(int fd, enum jit_format format, const struct jit_position *from,
		  struct jit_piece *ret_piece);

/*
 * Reads the name of the code whose entry is at @offset. *ret_line: the source line of the byte
 * @code_offset of the code, 0 if it is not recorded. 0; -EBADMSG: there is no such entry any
 * longer; or a negative errno from reading the file.
 */
int jit_file_name(int fd, enum jit_format format, uint32_t offset, uint32_t code_offset,
		  struct jit_name *ret_name, uint32_t *ret_line);
