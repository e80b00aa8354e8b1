/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_code/x86_instruction.h"

#include <inttypes.h>

#include "tests/support/command.h"

#define ADDRESS UINT64_C(0x401000)

static struct x86_instruction decode(const uint8_t *bytes, size_t size)
{
	struct x86_instruction instruction;

	if (!x86_decode((struct bytes_view){ bytes, size }, ADDRESS, &instruction))
		fail_msg("byte %02x is not decoded", bytes[0]);
	return instruction;
}

static void the_stack_pointer_is_followed_through_what_compilers_write(void **state)
{
	static const struct {
		uint8_t bytes[12];
		uint8_t length;
		enum x86_effect effect;
		int64_t value;
	} cases[] = {
		{ { 0x55 }, 1, X86_PUSH, X86_RBP },
		{ { 0x41, 0x55 }, 2, X86_PUSH, 13 },
		{ { 0x6a, 0x01 }, 2, X86_PUSH, X86_NO_REGISTER },
		{ { 0x68, 1, 0, 0, 0 }, 5, X86_PUSH, X86_NO_REGISTER },
		{ { 0xff, 0xb4, 0x24, 0x98, 0x1d, 0, 0 }, 7, X86_PUSH, X86_NO_REGISTER },
		{ { 0x9c }, 1, X86_PUSH, X86_NO_REGISTER },
		{ { 0x5d }, 1, X86_POP, X86_RBP },
		{ { 0x41, 0x5d }, 2, X86_POP, 13 },
		{ { 0x5c }, 1, X86_LOAD, 0 },
		{ { 0x48, 0x83, 0xec, 0x18 }, 4, X86_ADD_SP, -24 },
		{ { 0x48, 0x81, 0xec, 0x58, 0x1d, 0, 0 }, 7, X86_ADD_SP, -7512 },
		{ { 0x48, 0x83, 0xc4, 0x18 }, 4, X86_ADD_SP, 24 },
		{ { 0x48, 0x8d, 0x64, 0x24, 0xf8 }, 5, X86_ADD_SP, -8 },
		{ { 0x48, 0x89, 0xe5 }, 3, X86_FP_FROM_SP, 0 },
		{ { 0x48, 0x8d, 0x6c, 0x24, 0x20 }, 5, X86_FP_FROM_SP, 32 },
		{ { 0x48, 0x89, 0xec }, 3, X86_SP_FROM_FP, 0 },
		{ { 0x48, 0x8d, 0x65, 0xd8 }, 4, X86_SP_FROM_FP, -40 },
		{ { 0x48, 0x89, 0x6c, 0x24, 0x18 }, 5, X86_STORE_FP, 24 },
		{ { 0xc9 }, 1, X86_LEAVE, 0 },
		{ { 0x48, 0x83, 0xe4, 0xf0 }, 4, X86_ALIGN_SP, 0 },
		{ { 0x48, 0x29, 0xc4 }, 3, X86_SP_LOST, 0 },
		{ { 0x48, 0x94 }, 2, X86_SP_LOST, 0 },
		{ { 0x31, 0xed }, 2, X86_FP_LOST, 0 },
		{ { 0x48, 0x8b, 0x6b, 0x08 }, 4, X86_FP_LOST, 0 },
		/* In operations on bytes, register 4 is ah; r12 and r13 are not rsp and rbp. */
		{ { 0x80, 0xcc, 0x0c }, 3, X86_PLAIN, 0 },
		{ { 0x30, 0xe4 }, 2, X86_PLAIN, 0 },
		{ { 0x49, 0x83, 0xec, 0x18 }, 4, X86_PLAIN, 0 },
		{ { 0x4c, 0x89, 0xe5 }, 3, X86_FP_LOST, 0 },
		{ { 0x49, 0x89, 0xe5 }, 3, X86_COPY_SP, 0 },
		{ { 0x48, 0x8d, 0x4c, 0x24, 0x20 }, 5, X86_COPY_SP, 32 },
		{ { 0x4c, 0x89, 0xec }, 3, X86_SP_FROM_COPY, 0 },
		{ { 0x48, 0x8d, 0x61, 0x10 }, 4, X86_SP_FROM_COPY, 16 },
		{ { 0x48, 0x89, 0x4c, 0x24, 0x18 }, 5, X86_STORE, 24 },
		{ { 0x48, 0x8b, 0x64, 0x24, 0x18 }, 5, X86_LOAD, 24 },
		{ { 0x48, 0x8b, 0x6c, 0x24, 0x18 }, 5, X86_LOAD, 24 },
		/* A move of half a register is not a copy. */
		{ { 0x89, 0x6c, 0x24, 0x18 }, 4, X86_PLAIN, 0 },
		{ { 0x89, 0xe5 }, 2, X86_FP_LOST, 0 },
		{ { 0x48, 0x39, 0xe5 }, 3, X86_PLAIN, 0 },
		{ { 0xc3 }, 1, X86_RETURN, 0 },
		{ { 0xf3, 0xc3 }, 2, X86_RETURN, 0 },
		{ { 0x0f, 0x0b }, 2, X86_STOP, 0 },
		{ { 0xff, 0xe0 }, 2, X86_JUMP_INDIRECT, 0 },
		{ { 0x41, 0xff, 0xd1 }, 3, X86_CALL_INDIRECT, 0 },
		/* vpxor, vzeroupper, an instruction of AVX-512. */
		{ { 0xc5, 0xf9, 0xef, 0xc0 }, 4, X86_PLAIN, 0 },
		{ { 0xc5, 0xf8, 0x77 }, 3, X86_PLAIN, 0 },
		{ { 0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x44, 0x24, 0x01 }, 8, X86_PLAIN, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct x86_instruction instruction = decode(cases[i].bytes, sizeof(cases[i].bytes));

		assert_int_equal(instruction.length, cases[i].length);
		assert_int_equal(instruction.effect, cases[i].effect);
		assert_int_equal(instruction.value, cases[i].value);
	}
}

static void targets_are_addresses(void **state)
{
	static const uint8_t call[] = { 0xe8, 0x10, 0, 0, 0 }, jump[] = { 0xeb, 0xfe };
	static const uint8_t jump_if[] = { 0x0f, 0x84, 0xfa, 0xff, 0xff, 0xff };
	static const uint8_t lea[] = { 0x48, 0x8d, 0x05, 0x00, 0x01, 0, 0 };
	static const uint8_t number[] = { 0x49, 0xc7, 0xc0, 0x00, 0x20, 0x40, 0x00 };

	(void)state;
	assert_int_equal(decode(call, sizeof(call)).target, ADDRESS + 0x15);
	assert_int_equal(decode(call, sizeof(call)).effect, X86_CALL);
	assert_int_equal(decode(jump, sizeof(jump)).target, ADDRESS);
	assert_int_equal(decode(jump_if, sizeof(jump_if)).target, ADDRESS);
	assert_int_equal(decode(jump_if, sizeof(jump_if)).effect, X86_JUMP_IF);
	assert_int_equal(decode(lea, sizeof(lea)).target, ADDRESS + 0x107);
	assert_int_equal(decode(lea, sizeof(lea)).effect, X86_ADDRESS);
	assert_int_equal(decode(number, sizeof(number)).target, 0x402000);
	assert_int_equal(decode(number, sizeof(number)).effect, X86_NUMBER);
}

static void cut_and_unknown_instructions_are_refused(void **state)
{
	static const uint8_t long_one[] = { 0x48, 0x81, 0xec, 0x58, 0x1d, 0, 0 };
	static const uint8_t prefixes[] = { 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
					    0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x90 };
	static const uint8_t none[] = { 0x06 };
	struct x86_instruction instruction;

	(void)state;
	for (size_t size = 0; size < sizeof(long_one); size++)
		assert_false(
			x86_decode((struct bytes_view){ long_one, size }, ADDRESS, &instruction));
	assert_false(x86_decode((struct bytes_view){ prefixes, sizeof(prefixes) }, ADDRESS,
				&instruction));
	assert_false(x86_decode((struct bytes_view){ none, sizeof(none) }, ADDRESS, &instruction));
}

/* The lengths of all instructions of the C library are those of objdump. */
static void lengths_agree_with_objdump(void **state)
{
	scoped(bytes_release) struct bytes listing = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	size_t n_instructions = 0, n_wrong = 0;
	char *line, *rest;

	(void)state;
	if (!command_exists("objdump"))
		skip();
	/* " 401000:<TAB>48 89 e5 <TAB>mov ..."; objdump takes fwait for a prefix. */
	assert_int_equal(
		command_output("objdump -d -w -j .text \"$(ldd /proc/$PPID/exe | "
			       "awk '/libc\\.so/ { print $3 }')\" 2>/dev/null | "
			       "grep -vE '\\(bad\\)|rex\\.|data16|\\.byte|:.9b|vprot|vpcmov|vfr'",
			       &listing),
		0);
	rest = (char *)listing.data;
	while ((line = strsep(&rest, "\n"))) {
		char *bytes = strchr(line, '\t');
		char *end = bytes ? strchr(bytes + 1, '\t') : NULL;
		struct x86_instruction instruction;
		uint8_t code[16];
		size_t size = 0;

		if (!end)
			continue;
		for (char *at = bytes + 1; at + 1 < end && *at != ' ' && size < sizeof(code);
		     at += 3)
			code[size++] = (uint8_t)strtoul(at, NULL, 16);
		n_instructions++;
		n_wrong += !x86_decode((struct bytes_view){ code, size }, 0, &instruction) ||
			   instruction.length != size;
	}
	if (n_instructions == 0)
		skip();
	assert_true(n_instructions > 100000);
	assert_int_equal(n_wrong, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stack_pointer_is_followed_through_what_compilers_write),
		cmocka_unit_test(targets_are_addresses),
		cmocka_unit_test(cut_and_unknown_instructions_are_refused),
		cmocka_unit_test(lengths_agree_with_objdump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
