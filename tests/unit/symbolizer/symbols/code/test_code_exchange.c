/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that a helper writes whose file has taken it over. */

#include "symbolizer/symbols/code/code_exchange.h"

#include "tests/support/unit.h"

static const uint8_t code[8];

static const struct code_block blocks[] = {
	{ .elf_addr = 0x1000, .size = 8, .bytes = { code, 8 } },
	{ .elf_addr = 0x2000, .size = 8, .bytes = { code, 4 } },
};

static int read_records(const struct code_record *records, size_t count, size_t *ret_count)
{
	scoped(bytes_release) struct bytes answer = BYTES_INIT(MIB);
	scoped(arena_freep) struct arena *arena = NULL;
	struct code_instruction *instructions;

	assert_ok(arena_new(MIB, &arena));
	for (size_t i = 0; i < count; i++) {
		assert_ok(bytes_append(&answer, &records[i], sizeof(records[i])));
		for (int k = 0; k < records[i].mnemonic_bytes + records[i].operands_bytes; k++)
			assert_ok(bytes_append_byte(&answer, 'x'));
	}
	return code_answer_read(bytes_view_of(&answer), blocks, ARRAY_SIZE(blocks), arena,
				&instructions, ret_count);
}

static void instructions_in_rising_order_are_read(void **state)
{
	static const struct code_record records[] = {
		{ .block = 0, .offset = 0, .size = 1, .mnemonic_bytes = 3 },
		{ .block = 0, .offset = 1, .size = 7, .operands_bytes = CODE_OPERANDS_MAX },
		{ .block = 1, .offset = 0, .size = 4 },
	};
	size_t count;

	(void)state;
	assert_ok(read_records(records, ARRAY_SIZE(records), &count));
	assert_int_equal(count, 3);
	assert_ok(read_records(NULL, 0, &count));
	assert_int_equal(count, 0);
}

static void instructions_that_overlap_or_lie_outside_are_refused(void **state)
{
	static const struct {
		const char *what;
		struct code_record records[2];
	} cases[] = {
		{ "no size", { { .offset = 0, .size = 0 }, { .size = 1 } } },
		{ "overlap", { { .offset = 0, .size = 4 }, { .offset = 3, .size = 1 } } },
		{ "back", { { .offset = 4, .size = 1 }, { .offset = 0, .size = 1 } } },
		{ "beyond the end", { { .offset = 0, .size = 1 }, { .offset = 6, .size = 3 } } },
		{ "beyond the bytes", { { .size = 1 }, { .block = 1, .offset = 3, .size = 2 } } },
		{ "far away", { { .size = 1 }, { .offset = UINT32_MAX, .size = 1 } } },
		{ "no block", { { .size = 1 }, { .block = 2, .size = 1 } } },
		{ "an earlier block", { { .block = 1, .size = 1 }, { .block = 0, .size = 1 } } },
		{ "too long", { { .size = CODE_INSTRUCTION_MAX_BYTES + 1 }, { .size = 1 } } },
		{ "long mnemonic",
		  { { .size = 1, .mnemonic_bytes = CODE_MNEMONIC_MAX + 1 },
		    { .offset = 1, .size = 1 } } },
		{ "long operands",
		  { { .size = 1, .operands_bytes = CODE_OPERANDS_MAX + 1 },
		    { .offset = 1, .size = 1 } } },
	};
	size_t count;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (read_records(cases[i].records, 2, &count) != -EBADMSG)
			fail_msg("accepted: %s", cases[i].what);
}

static void texts_have_printable_characters_only(void **state)
{
	static const struct code_instruction written = {
		.elf_addr = 0x1002,
		.size = 2,
		.target = CODE_NO_TARGET,
		.mnemonic = "a\033[2J\xff",
		.operands = "b\n",
	};
	scoped(bytes_release) struct bytes answer = BYTES_INIT(MIB);
	scoped(arena_freep) struct arena *arena = NULL;
	struct code_instruction *read;
	size_t count;

	(void)state;
	assert_ok(arena_new(MIB, &arena));
	assert_ok(code_record_write(&answer, &blocks[0], &written));
	assert_ok(code_answer_read(bytes_view_of(&answer), blocks, ARRAY_SIZE(blocks), arena, &read,
				   &count));
	assert_int_equal(count, 1);
	assert_int_equal(read[0].elf_addr, 0x1002);
	assert_string_equal(read[0].mnemonic, "a?[2J?");
	assert_string_equal(read[0].operands, "b?");
	for (size_t size = 1; size < answer.size; size++)
		assert_errno(code_answer_read((struct bytes_view){ answer.data, size }, blocks,
					      ARRAY_SIZE(blocks), arena, &read, &count),
			     -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_in_rising_order_are_read),
		cmocka_unit_test(instructions_that_overlap_or_lie_outside_are_refused),
		cmocka_unit_test(texts_have_printable_characters_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
