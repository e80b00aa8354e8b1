/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elf/eh_pointer.h"

#include "tests/support/unit.h"

static const struct eh_pointer_bases bases = { .text = 0x1000, .data = 0x2000, .function = 0x3000 };

static void a_pointer_is_a_value_plus_its_base(void **state)
{
	/* The field is at 0x5001. Values are 16, or -16 in signed formats. */
	static const struct {
		uint8_t encoding;
		uint8_t bytes[16];
		uint64_t pointer;
		size_t size;
	} cases[] = {
		{ EH_PE_ABSPTR, { 16 }, 16, 8 },
		{ EH_PE_UDATA2, { 16 }, 16, 2 },
		{ EH_PE_UDATA4, { 16 }, 16, 4 },
		{ EH_PE_UDATA8, { 16 }, 16, 8 },
		{ EH_PE_ULEB128, { 0x90, 0 }, 16, 2 },
		{ EH_PE_SLEB128 | EH_PE_PCREL, { 0x70 }, 0x4ff1, 1 },
		{ EH_PE_SDATA2 | EH_PE_PCREL, { 0xf0, 0xff }, 0x4ff1, 2 },
		{ EH_PE_SDATA4 | EH_PE_PCREL, { 0xf0, 0xff, 0xff, 0xff }, 0x4ff1, 4 },
		{ EH_PE_UDATA4 | EH_PE_TEXTREL, { 16 }, 0x1010, 4 },
		{ EH_PE_UDATA4 | EH_PE_DATAREL, { 16 }, 0x2010, 4 },
		{ EH_PE_UDATA4 | EH_PE_FUNCREL, { 16 }, 0x3010, 4 },
		{ EH_PE_ALIGNED, { 1, 1, 1, 1, 1, 1, 1, 16 }, 16, 15 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes_reader cursor = bytes_reader_of(
			(struct bytes_view){ cases[i].bytes, sizeof(cases[i].bytes) });

		assert_true(eh_pointer_read(&cursor, cases[i].encoding, 0x5001, &bases) ==
			    cases[i].pointer);
		assert_ok(cursor.error);
		assert_int_equal(cursor_left(&cursor), sizeof(cases[i].bytes) - cases[i].size);
	}
}

static void indirect_and_unknown_encodings_are_errors(void **state)
{
	static const uint8_t encodings[] = { EH_PE_OMIT, EH_PE_INDIRECT, 0x05, 0x60, 0x70 };
	static const uint8_t bytes[16] = { 16 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(encodings); i++) {
		struct bytes_reader cursor =
			bytes_reader_of((struct bytes_view){ bytes, sizeof(bytes) });

		(void)eh_pointer_read(&cursor, encodings[i], 0x5000, &bases);
		assert_errno(cursor.error, -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pointer_is_a_value_plus_its_base),
		cmocka_unit_test(indirect_and_unknown_encodings_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
