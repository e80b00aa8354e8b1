/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/code/decode_code.h"

#include <elf.h>

#include "tests/support/unit.h"

/* 1139: push rbp; call 1145; jne 1139; call rax; ret; then a byte that is no instruction */
static const uint8_t x86_code[] = { 0x55, 0xe8, 0x06, 0x00, 0x00, 0x00,
				    0x75, 0xf8, 0xff, 0xd0, 0xc3, 0x06 };

/* 4000: stp x29, x30, [sp, #-16]!; bl 4010; cbz w0, 4000; data; ret */
static const uint8_t arm64_code[] = { 0xfd, 0x7b, 0xbf, 0xa9, 0x03, 0x00, 0x00, 0x94, 0xc0, 0xff,
				      0xff, 0x34, 0x00, 0x00, 0x00, 0x00, 0xc0, 0x03, 0x5f, 0xd6 };

static int decode(uint16_t machine, enum code_syntax syntax, const struct code_block *blocks,
		  size_t n_blocks, struct bytes *answer)
{
	scoped(bytes_release) struct bytes request = BYTES_INIT(MIB);

	assert_ok(code_request_write(&request, machine, syntax, blocks, n_blocks));
	return decode_code(bytes_view_of(&request), answer);
}

/* Asserts lines of "ADDRESS MNEMONIC OPERANDS -> TARGET". */
static void assert_decoded(uint16_t machine, enum code_syntax syntax,
			   const struct code_block *blocks, size_t n_blocks, const char *expected)
{
	scoped(bytes_release) struct bytes answer = BYTES_INIT(MIB);
	scoped(bytes_release) struct bytes text = BYTES_INIT(MIB);
	scoped(arena_freep) struct arena *arena = NULL;
	struct code_instruction *instructions;
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	assert_ok(decode(machine, syntax, blocks, n_blocks, &answer));
	assert_ok(code_answer_read(bytes_view_of(&answer), blocks, n_blocks, arena, &instructions,
				   &count));
	for (size_t i = 0; i < count; i++) {
		const struct code_instruction *row = &instructions[i];

		(void)bytes_append_format(&text, "%llx %s %s", (unsigned long long)row->elf_addr,
					  row->mnemonic, row->operands);
		if (row->target != CODE_NO_TARGET)
			(void)bytes_append_format(&text, " -> %llx",
						  (unsigned long long)row->target);
		(void)bytes_append_text(&text, row->is_data ? " (data)\n" : "\n");
	}
	assert_bytes_equal_text(&text, expected);
}

static struct code_block block_of(uint64_t elf_addr, const uint8_t *code, size_t size)
{
	return (struct code_block){ .elf_addr = elf_addr, .size = size, .bytes = { code, size } };
}

static void instructions_of_x86_have_addresses_and_targets(void **state)
{
	const struct code_block block = block_of(0x1139, x86_code, sizeof(x86_code));

	(void)state;
	assert_decoded(EM_X86_64, CODE_SYNTAX_INTEL, &block, 1,
		       "1139 push rbp\n"
		       "113a call 0x1145 -> 1145\n"
		       "113f jne 0x1139 -> 1139\n"
		       "1141 call rax\n"
		       "1143 ret \n"
		       "1144 .byte 0x06 (data)\n");
}

static void the_syntax_of_att_can_be_chosen(void **state)
{
	const struct code_block block = block_of(0x1139, x86_code, sizeof(x86_code));

	(void)state;
	assert_decoded(EM_X86_64, CODE_SYNTAX_ATT, &block, 1,
		       "1139 pushq %rbp\n"
		       "113a callq 0x1145 -> 1145\n"
		       "113f jne 0x1139 -> 1139\n"
		       "1141 callq *%rax\n"
		       "1143 retq \n"
		       "1144 .byte 0x06 (data)\n");
}

static void instructions_of_arm64_have_addresses_and_targets(void **state)
{
	const struct code_block block = block_of(0x4000, arm64_code, sizeof(arm64_code));

	(void)state;
	assert_decoded(EM_AARCH64, CODE_SYNTAX_INTEL, &block, 1,
		       "4000 stp x29, x30, [sp, #-0x10]!\n"
		       "4004 bl #0x4010 -> 4010\n"
		       "4008 cbz w0, #0x4000 -> 4000\n"
		       "400c .inst 0x00000000 (data)\n"
		       "4010 ret \n");
}

static void each_block_is_decoded_from_its_first_byte(void **state)
{
	/* The first block ends within the call. */
	const struct code_block blocks[] = {
		block_of(0x1139, x86_code, 3),
		block_of(0xffffffff81000000, x86_code + 8, 3),
	};

	(void)state;
	assert_decoded(EM_X86_64, CODE_SYNTAX_INTEL, blocks, ARRAY_SIZE(blocks),
		       "1139 push rbp\n"
		       "113a .byte 0xe8 (data)\n"
		       "113b .byte 0x06 (data)\n"
		       "ffffffff81000000 call rax\n"
		       "ffffffff81000002 ret \n");
}

static void other_machines_and_damaged_requests_are_refused(void **state)
{
	const struct code_block block = block_of(0x1139, x86_code, sizeof(x86_code));
	scoped(bytes_release) struct bytes answer = BYTES_INIT(MIB);
	scoped(bytes_release) struct bytes request = BYTES_INIT(MIB);

	(void)state;
	assert_errno(decode(EM_RISCV, CODE_SYNTAX_INTEL, &block, 1, &answer), -ENOTSUP);
	assert_ok(code_request_write(&request, EM_X86_64, CODE_SYNTAX_INTEL, &block, 1));
	for (size_t size = 0; size < request.size; size++)
		assert_errno(decode_code((struct bytes_view){ request.data, size }, &answer),
			     -EBADMSG);
	request.data[0] ^= 1;
	assert_errno(decode_code(bytes_view_of(&request), &answer), -EBADMSG);
}

static void an_answer_beyond_its_ceiling_is_an_error(void **state)
{
	const struct code_block block = block_of(0x1139, x86_code, sizeof(x86_code));
	scoped(bytes_release) struct bytes answer = BYTES_INIT(64);

	(void)state;
	assert_errno(decode(EM_X86_64, CODE_SYNTAX_INTEL, &block, 1, &answer), -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_of_x86_have_addresses_and_targets),
		cmocka_unit_test(the_syntax_of_att_can_be_chosen),
		cmocka_unit_test(instructions_of_arm64_have_addresses_and_targets),
		cmocka_unit_test(each_block_is_decoded_from_its_first_byte),
		cmocka_unit_test(other_machines_and_damaged_requests_are_refused),
		cmocka_unit_test(an_answer_beyond_its_ceiling_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
