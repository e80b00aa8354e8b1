/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The bytes that the server exchanges with the helper that decodes machine code
 * (compile/table_helper.h): blocks of code in one direction, instructions in the other. Integers
 * are little-endian, as on all machines that Hearth runs on.
 *
 *   request  struct code_request_header, n_blocks times struct code_request_block, then the code of
 *            the blocks, one after another
 *   answer   for each instruction struct code_record, then its mnemonic and its operands
 *
 * The helper parses hostile code, so the server checks the answer like any other input.
 */

#include "common/arena.h"
#include "common/bytes.h"

/* Code of one request. The largest functions of Debian's libraries have 100 KiB. */
#define CODE_MAX_BYTES (256 * KIB)

/* A block is at least one instruction that was sampled. */
#define CODE_MAX_BLOCKS 4096

/* An instruction of x86-64 has at most 15 bytes, one of AArch64 has 4. */
#define CODE_INSTRUCTION_MAX_BYTES 16

/* An answer for CODE_MAX_BYTES instructions of one byte, with texts of usual length. */
#define CODE_ANSWER_MAX_BYTES (32 * MIB)

#define CODE_MNEMONIC_MAX 32
#define CODE_OPERANDS_MAX 160

enum code_syntax {
	CODE_SYNTAX_INTEL,
	CODE_SYNTAX_ATT,
};

/* Contiguous code. */
struct code_block {
	uint64_t elf_addr;
	uint64_t size;
	struct bytes_view bytes; /* at most @size; less: the rest is not available */
};

/* CODE_NO_TARGET: the instruction is no direct jump or call. */
#define CODE_NO_TARGET UINT64_MAX

struct code_instruction {
	uint64_t elf_addr;
	uint32_t size;
	uint32_t block;
	bool is_data;         /* these bytes are no instruction that the library knows */
	uint64_t target;      /* ELF address that a direct jump or call goes to */
	const char *mnemonic; /* printable ASCII */
	const char *operands; /* likewise; "" if there are none */
};

#define CODE_REQUEST_MAGIC "HrthCode"

struct code_request_header {
	char magic[8];
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
	uint16_t syntax;  /* enum code_syntax */
	uint32_t n_blocks;
};

struct code_request_block {
	uint64_t elf_addr;
	uint32_t size;
	uint32_t zero;
};

struct code_record {
	uint64_t target;
	uint32_t block;
	uint32_t offset; /* in the block */
	uint8_t size;
	uint8_t is_data;
	uint8_t mnemonic_bytes;
	uint8_t operands_bytes;
	uint32_t zero;
};
static_assert(sizeof(struct code_record) == 24, "part of the exchange");

/* Appends the request. Blocks have at most CODE_MAX_BYTES bytes together. */
int code_request_write(struct bytes *out, uint16_t machine, enum code_syntax syntax,
		       const struct code_block *blocks, size_t n_blocks);

/*
 * Reads a request: the blocks are in @arena, and refer to @request. 0; -EBADMSG: not a request;
 * -ENOMEM.
 */
int code_request_read(struct bytes_view request, struct arena *arena,
		      struct code_request_header *ret_header, struct code_block **ret_blocks);

/* Appends an instruction; its texts are cut at CODE_MNEMONIC_MAX and CODE_OPERANDS_MAX. */
int code_record_write(struct bytes *out, const struct code_block *block,
		      const struct code_instruction *instruction);

/*
 * Reads the instructions of @blocks into @arena. They rise by block and address, and do not
 * overlap. 0; -EBADMSG: the answer is not valid; -ENOMEM.
 */
int code_answer_read(struct bytes_view answer, const struct code_block *blocks, size_t n_blocks,
		     struct arena *arena, struct code_instruction **ret_instructions,
		     size_t *ret_count);
