/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads Go's table of functions, .gopclntab: their addresses and names, and by how much their code
 * has lowered the stack pointer at each instruction ("pcsp"). Go's runtime itself walks stacks by
 * it, so that every Go program has it, stripped or not. common/elf/go_pclntab.h describes the
 * format.
 */

#include "agent/unwind/file/byte_window.h"
#include "common/elf/go_pclntab.h"

/* Longer names are cut. The names that are searched for are shorter. */
#define GO_NAME_SIZE 48

enum go_function_flag {
	GO_FUNCTION_TOP_FRAME = 1, /* the outermost frame of its stack */
	/* sets the stack pointer to a value that pcsp does not describe */
	GO_FUNCTION_SP_WRITE = 2,
	GO_FUNCTION_ASM = 4,
};

struct go_pclntab {
	uint64_t text_start;
	uint32_t n_functions;
	uint8_t quantum; /* size of the smallest instruction */
	bool has_flags;  /* Go 1.16 has no flags, and 1.17 no GO_FUNCTION_ASM */
	enum go_pclntab_version version;
	struct byte_window functions, records, names;
	struct bytes pctab;
};

struct go_function {
	uint64_t start;
	uint32_t name_offset;
	uint32_t pcsp_offset;
	uint8_t flags; /* enum go_function_flag */
};

/*
 * @whole has to outlive the table. @text_start: the address that addresses of functions are
 * relative to; not used before Go 1.18. 1: opened; 0: the table is not supported; -ENOMEM,
 * -ENODATA.
 */
int go_pclntab_open(const struct byte_window *whole, uint64_t text_start,
		    struct go_pclntab *ret_table);
void go_pclntab_release(struct go_pclntab *table);

/* 1; 0: the function is malformed; -ENODATA. */
int go_pclntab_function(struct go_pclntab *table, uint32_t index, struct go_function *ret_function);

/* "" if it is malformed. 0, -ENODATA. */
int go_pclntab_name(struct go_pclntab *table, const struct go_function *function,
		    char ret_name[GO_NAME_SIZE]);

/* In [start, end) the stack pointer is @delta below its value at the entry of the function. */
struct go_pcsp_row {
	uint64_t start, end;
	int32_t delta;
};

struct go_pcsp {
	struct go_pc_values values;
	uint64_t pc;
};

struct go_pcsp go_pcsp_of(const struct go_pclntab *table, const struct go_function *function);

/* False: at the end, or the bytes are malformed. */
bool go_pcsp_next(struct go_pcsp *pcsp, struct go_pcsp_row *ret_row);
