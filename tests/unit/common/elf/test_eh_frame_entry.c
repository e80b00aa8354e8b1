/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests entries of .eh_frame up to their instructions. tests/unit/agent/unwind/cfi/test_eh_frame.c
 * tests the contents of CIEs.
 */

#include "common/elf/eh_frame_entry.h"

#include "tests/support/unit.h"

static void the_size_of_an_entry_is_computed_from_its_length_field(void **state)
{
	static const struct {
		uint8_t bytes[16];
		size_t n_bytes;
		bool is_debug_frame;
		int r;
		struct eh_frame_entry entry;
	} cases[] = {
		{ { 0x10 }, 4, false, 1, { 0x14, 4, 4 } },
		{ { 0x10 }, 4, true, 1, { 0x14, 4, 4 } },
		{ { 0 }, 4, false, 1, { 4, 4, 4 } },
		{ { 0xff, 0xff, 0xff, 0xff, 0x10 }, 12, false, 1, { 0x1c, 12, 4 } },
		{ { 0xff, 0xff, 0xff, 0xff, 0x10 }, 12, true, 1, { 0x1c, 12, 8 } },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
		  12,
		  false,
		  1,
		  { UINT64_MAX, 12, 4 } },
		{ { 0x10 }, 3, false, 0, {} },
		{ { 0xff, 0xff, 0xff, 0xff, 0x10 }, 11, false, 0, {} },
		{ { 0 }, 0, false, 0, {} },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct bytes_view rest = { cases[i].bytes, cases[i].n_bytes };
		struct eh_frame_entry entry = {};

		assert_int_equal(eh_frame_entry_measure(rest, cases[i].is_debug_frame, &entry),
				 cases[i].r);
		assert_true(entry.size == cases[i].entry.size);
		assert_int_equal(entry.id_at, cases[i].entry.id_at);
		assert_int_equal(entry.id_size, cases[i].entry.id_size);
	}
}

static void the_id_of_a_cie_depends_on_the_section(void **state)
{
	(void)state;
	assert_true(eh_frame_id_is_cie(0, 4, false));
	assert_false(eh_frame_id_is_cie(0, 4, true));
	assert_true(eh_frame_id_is_cie(UINT32_MAX, 4, true));
	assert_false(eh_frame_id_is_cie(UINT32_MAX, 8, true));
	assert_true(eh_frame_id_is_cie(UINT64_MAX, 8, true));
	assert_false(eh_frame_id_is_cie(UINT32_MAX, 4, false));
}

/* "zR", code alignment 4, data alignment -8, column 16, signed 4 bytes relative to themselves. */
static const uint8_t cie_bytes[] = { 1, 'z', 'R', 0, 4, 0x78, 16, 1, EH_PE_PCREL | EH_PE_SDATA4 };

static struct eh_frame_cie read_cie(void)
{
	struct bytes_reader cursor =
		bytes_reader_of((struct bytes_view){ cie_bytes, sizeof(cie_bytes) });
	struct eh_frame_cie cie;

	assert_ok(eh_frame_cie_read(&cursor, &cie));
	assert_int_equal(cursor_left(&cursor), 0);
	return cie;
}

static void a_cie_gives_alignments_and_the_encoding_of_addresses(void **state)
{
	struct eh_frame_cie cie = read_cie();

	(void)state;
	assert_int_equal(cie.code_align, 4);
	assert_int_equal(cie.data_align, -8);
	assert_int_equal(cie.ra_column, 16);
	assert_int_equal(cie.address_encoding, EH_PE_PCREL | EH_PE_SDATA4);
	assert_true(cie.has_augmentation_data);
	assert_false(cie.is_signal_frame);
}

static void an_fde_gives_the_range_of_its_function(void **state)
{
	static const struct eh_pointer_bases none = {};
	/* Start 0x200 before the field, 0x30 bytes, no augmentation data, one instruction. */
	const uint8_t fde[] = { 0x00, 0xfe, 0xff, 0xff, 0x30, 0, 0, 0, 0, 0x0c };
	const struct eh_frame_cie cie = read_cie();
	struct eh_frame_range range = {};

	(void)state;
	for (size_t size = 0; size <= sizeof(fde); size++) {
		struct bytes_reader cursor = bytes_reader_of((struct bytes_view){ fde, size });
		int r = eh_frame_fde_read(&cursor, &cie, 0x1000, &none, &range);

		if (size < 9) {
			assert_errno(r, -EBADMSG);
			continue;
		}
		assert_ok(r);
		assert_int_equal(range.start, 0xe00);
		assert_int_equal(range.end, 0xe30);
		assert_int_equal(cursor_left(&cursor), size - 9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_size_of_an_entry_is_computed_from_its_length_field),
		cmocka_unit_test(the_id_of_a_cie_depends_on_the_section),
		cmocka_unit_test(a_cie_gives_alignments_and_the_encoding_of_addresses),
		cmocka_unit_test(an_fde_gives_the_range_of_its_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
