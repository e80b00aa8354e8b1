/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbols_code */
#include "symbolizer/symbols/code/decode_code.h"

#define MAX_ANSWER_BYTES (4 * MIB)

/* The input is a request, and the answer of a helper to a request with two blocks. */
static void read_as_answer(struct bytes_view input)
{
	static const uint8_t code[64];
	static const struct code_block blocks[] = {
		{ .elf_addr = 0x1000, .size = 64, .bytes = { code, 64 } },
		{ .elf_addr = 0x2000, .size = 64, .bytes = { code, 8 } },
	};
	scoped(arena_freep) struct arena *arena = NULL;
	struct code_instruction *instructions;
	uint64_t end = 0;
	size_t count;

	if (arena_new(MAX_ANSWER_BYTES, &arena) < 0 ||
	    code_answer_read(input, blocks, ARRAY_SIZE(blocks), arena, &instructions, &count) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		const struct code_block *block = &blocks[instructions[i].block];

		assert(instructions[i].elf_addr >= end);
		end = instructions[i].elf_addr + instructions[i].size;
		assert(end <= block->elf_addr + block->bytes.size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct bytes_view input = { .data = data, .size = size };
	struct bytes answer = BYTES_INIT(MAX_ANSWER_BYTES);

	read_as_answer(input);
	(void)decode_code(input, &answer);
	bytes_release(&answer);
	return 0;
}
