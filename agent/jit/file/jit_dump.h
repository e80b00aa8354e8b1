/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parses a jitdump: a header and records, in the byte order of the machine that wrote it. A record
 * of code (JIT_CODE_LOAD) has the address, the size, the name and the bytes of the code. A record
 * of its source lines (JIT_CODE_DEBUG_INFO) precedes it. Pure functions of bytes.
 */

#include "agent/jit/file/jit_code.h"

#define JIT_DUMP_HEADER_BYTES 40

/* The id of a record of source lines. */
#define JIT_DUMP_LINES 2

struct jit_dump {
	bool is_swapped;       /* its byte order is not that of this machine */
	bool has_times;        /* its times are of CLOCK_MONOTONIC, not of a counter of the CPU */
	uint32_t first_record; /* offset */
};

/* False: @bytes are no header of a jitdump. */
bool jit_dump_open(struct bytes_view bytes, struct jit_dump *ret_dump);

struct jit_dump_piece {
	struct bytes_view bytes;
	uint64_t offset;    /* of the bytes in the file: a record begins there */
	uint64_t file_size; /* a record that reaches beyond it is not complete */
};

/*
 * Adds the code of complete records to @codes until it is full. Returns the offset of the next
 * record, which is beyond the piece if the last record is. A record of source lines is left for the
 * next piece if the record of its code does not follow. *is_closed: no record can follow.
 */
uint64_t jit_dump_parse(const struct jit_dump *dump, const struct jit_dump_piece *piece,
			struct jit_codes *codes, bool *is_closed);

struct jit_dump_name {
	struct bytes_view function;
	struct bytes_view file; /* empty: not recorded */
	uint32_t first_line;    /* 0: not recorded, also below */
	uint32_t line;          /* of the address */
};

/*
 * The name of the code whose entry is at the start of @bytes, and the source line of the byte
 * @code_offset of the code. False: there is no such record, or it is not complete in @bytes.
 */
bool jit_dump_name(const struct jit_dump *dump, struct bytes_view bytes, uint64_t code_offset,
		   struct jit_dump_name *ret_name);
