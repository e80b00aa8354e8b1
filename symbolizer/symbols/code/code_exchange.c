/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/code/code_exchange.h"

#include <string.h>

int code_request_write(struct bytes *out, uint16_t machine, enum code_syntax syntax,
		       const struct code_block *blocks, size_t n_blocks)
{
	struct code_request_header header = {
		.machine = machine,
		.syntax = (uint16_t)syntax,
		.n_blocks = (uint32_t)n_blocks,
	};

	memcpy(header.magic, CODE_REQUEST_MAGIC, sizeof(header.magic));
	(void)bytes_append(out, &header, sizeof(header));
	for (size_t i = 0; i < n_blocks; i++) {
		const struct code_request_block block = {
			.elf_addr = blocks[i].elf_addr,
			.size = (uint32_t)blocks[i].bytes.size,
		};

		(void)bytes_append(out, &block, sizeof(block));
	}
	for (size_t i = 0; i < n_blocks; i++)
		(void)bytes_append(out, blocks[i].bytes.data, blocks[i].bytes.size);
	return bytes_error(out);
}

/* Takes @size bytes from the front of @view. Returns NULL if it has fewer. */
static const uint8_t *take(struct bytes_view *view, size_t size)
{
	const uint8_t *taken = view->data;

	if (view->size < size)
		return NULL;
	view->data += size;
	view->size -= size;
	return taken;
}

static bool copy_from(struct bytes_view *view, void *to, size_t size)
{
	const uint8_t *from = take(view, size);

	if (from)
		memcpy(to, from, size);
	return from != NULL;
}

int code_request_read(struct bytes_view request, struct arena *arena,
		      struct code_request_header *ret_header, struct code_block **ret_blocks)
{
	struct code_request_header header;
	struct code_block *blocks;

	if (!copy_from(&request, &header, sizeof(header)) ||
	    memcmp(header.magic, CODE_REQUEST_MAGIC, sizeof(header.magic)) != 0 ||
	    header.n_blocks > CODE_MAX_BLOCKS)
		return -EBADMSG;
	blocks = arena_alloc_array(arena, header.n_blocks + 1UL, sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	for (uint32_t i = 0; i < header.n_blocks; i++) {
		struct code_request_block block;

		if (!copy_from(&request, &block, sizeof(block)))
			return -EBADMSG;
		blocks[i] = (struct code_block){ .elf_addr = block.elf_addr, .size = block.size };
	}
	for (uint32_t i = 0; i < header.n_blocks; i++) {
		blocks[i].bytes.size = blocks[i].size;
		blocks[i].bytes.data = take(&request, blocks[i].size);
		if (!blocks[i].bytes.data)
			return -EBADMSG;
	}
	*ret_header = header;
	*ret_blocks = blocks;
	return 0;
}

int code_record_write(struct bytes *out, const struct code_block *block,
		      const struct code_instruction *instruction)
{
	const size_t mnemonic_bytes = strnlen(instruction->mnemonic, CODE_MNEMONIC_MAX);
	const size_t operands_bytes = strnlen(instruction->operands, CODE_OPERANDS_MAX);
	const struct code_record record = {
		.target = instruction->target,
		.block = instruction->block,
		.offset = (uint32_t)(instruction->elf_addr - block->elf_addr),
		.size = (uint8_t)instruction->size,
		.is_data = instruction->is_data,
		.mnemonic_bytes = (uint8_t)mnemonic_bytes,
		.operands_bytes = (uint8_t)operands_bytes,
	};

	(void)bytes_append(out, &record, sizeof(record));
	(void)bytes_append(out, instruction->mnemonic, mnemonic_bytes);
	return bytes_append(out, instruction->operands, operands_bytes);
}

/* Where the next instruction may begin. */
struct reading {
	const struct code_block *blocks;
	size_t n_blocks;
	uint32_t block;
	uint64_t offset;
};

static bool is_valid(struct reading *reading, const struct code_record *record)
{
	const struct code_block *block;

	if (record->block >= reading->n_blocks || record->block < reading->block)
		return false;
	if (record->block > reading->block)
		reading->offset = 0;
	block = &reading->blocks[record->block];
	if (record->offset < reading->offset || record->size == 0 ||
	    record->size > CODE_INSTRUCTION_MAX_BYTES || record->offset > block->bytes.size ||
	    record->size > block->bytes.size - record->offset ||
	    record->mnemonic_bytes > CODE_MNEMONIC_MAX ||
	    record->operands_bytes > CODE_OPERANDS_MAX)
		return false;
	reading->block = record->block;
	reading->offset = record->offset + (uint64_t)record->size;
	return true;
}

/* Copies a text, with '?' in the place of bytes that are not printable ASCII. */
static const char *read_text(struct bytes_view *answer, size_t size, struct arena *arena)
{
	const uint8_t *from = take(answer, size);
	char *text = from ? arena_copy_text(arena, (const char *)from, size) : NULL;

	for (char *c = text; c && c < text + size; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return text;
}

/* Counts the records, so that one array has room for all of them. */
static int count_records(struct bytes_view answer, size_t *ret_count)
{
	size_t count = 0;

	while (answer.size > 0) {
		struct code_record record;

		if (!copy_from(&answer, &record, sizeof(record)) ||
		    !take(&answer, (size_t)record.mnemonic_bytes + record.operands_bytes))
			return -EBADMSG;
		count++;
	}
	*ret_count = count;
	return 0;
}

int code_answer_read(struct bytes_view answer, const struct code_block *blocks, size_t n_blocks,
		     struct arena *arena, struct code_instruction **ret_instructions,
		     size_t *ret_count)
{
	struct reading reading = { .blocks = blocks, .n_blocks = n_blocks };
	struct code_instruction *instructions;
	size_t count;
	int r = count_records(answer, &count);

	if (r < 0)
		return r;
	instructions = arena_alloc_array(arena, count + 1, sizeof(*instructions));
	if (!instructions)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct code_instruction *to = &instructions[i];
		struct code_record record;

		(void)copy_from(&answer, &record, sizeof(record));
		if (!is_valid(&reading, &record))
			return -EBADMSG;
		*to = (struct code_instruction){
			.elf_addr = blocks[record.block].elf_addr + record.offset,
			.size = record.size,
			.block = record.block,
			.is_data = record.is_data != 0,
			.target = record.target,
			.mnemonic = read_text(&answer, record.mnemonic_bytes, arena),
			.operands = read_text(&answer, record.operands_bytes, arena),
		};
		if (!to->mnemonic || !to->operands)
			return -ENOMEM;
	}
	*ret_instructions = instructions;
	*ret_count = count;
	return 0;
}
