/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elf/go_pclntab.h"

#include "tests/support/unit.h"

/* A header whose eight fields after the magic are 1, 2, ... */
static void make_header(uint32_t magic, uint8_t header[GO_PCLNTAB_HEADER_BYTES])
{
	memcpy(header, &magic, sizeof(magic));
	header[4] = 0;
	header[5] = 0;
	header[6] = 4;
	header[7] = 8;
	for (uint64_t field = 1; field <= 8; field++)
		memcpy(header + field * 8, &field, sizeof(field));
}

static void the_parts_of_each_layout_are_found(void **state)
{
	static const struct {
		uint32_t magic;
		enum go_pclntab_version version;
		uint64_t text_start, names, functions;
	} cases[] = {
		{ 0xfffffffa, GO_PCLNTAB_1_16, 0, 3, 7 },
		{ 0xfffffff0, GO_PCLNTAB_1_18, 3, 4, 8 },
		{ 0xfffffff1, GO_PCLNTAB_1_20, 3, 4, 8 },
	};
	uint8_t bytes[GO_PCLNTAB_HEADER_BYTES];
	struct go_pclntab_header header;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make_header(cases[i].magic, bytes);
		assert_true(go_pclntab_header_read(bytes, &header));
		assert_int_equal(header.version, cases[i].version);
		assert_int_equal(header.quantum, 4);
		assert_int_equal(header.n_functions, 1);
		assert_int_equal(header.text_start, cases[i].text_start);
		assert_int_equal(header.names, cases[i].names);
		assert_int_equal(header.units, cases[i].names + 1);
		assert_int_equal(header.files, cases[i].names + 2);
		assert_int_equal(header.values, cases[i].names + 3);
		assert_int_equal(header.functions, cases[i].functions);
	}
}

static void headers_of_other_layouts_are_refused(void **state)
{
	static const struct {
		size_t offset;
		uint8_t value;
	} changes[] = { { 0, 0xfb }, { 3, 0 }, { 4, 1 }, { 5, 1 }, { 6, 0 }, { 6, 3 }, { 7, 4 } };
	uint8_t bytes[GO_PCLNTAB_HEADER_BYTES];
	struct go_pclntab_header header;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		make_header(0xfffffff1, bytes);
		bytes[changes[i].offset] = changes[i].value;
		assert_false(go_pclntab_header_read(bytes, &header));
	}
}

/* Changes are zigzag: 2 is +1, 3 is -2. */
static void values_are_sums_of_their_changes(void **state)
{
	static const uint8_t table[] = { 2, 5, 3, 1, 0 };
	struct go_pc_values values = go_pc_values_of((struct bytes_view){ table, 5 }, 4);
	uint32_t length;

	(void)state;
	assert_true(go_pc_values_next(&values, &length));
	assert_int_equal(values.value, 0);
	assert_int_equal(length, 20);
	assert_true(go_pc_values_next(&values, &length));
	assert_int_equal(values.value, -2);
	assert_int_equal(length, 4);
	assert_false(go_pc_values_next(&values, &length));
}

static void a_first_change_of_zero_does_not_end_the_table(void **state)
{
	static const uint8_t table[] = { 0, 1, 0 };
	struct go_pc_values values = go_pc_values_of((struct bytes_view){ table, 3 }, 1);
	uint32_t length;

	(void)state;
	assert_true(go_pc_values_next(&values, &length));
	assert_int_equal(values.value, -1);
	assert_false(go_pc_values_next(&values, &length));
}

static void malformed_pieces_end_the_table(void **state)
{
	static const struct {
		uint8_t bytes[6];
		size_t size;
	} cases[] = {
		{ { 2 }, 1 },                               /* no length */
		{ { 2, 0 }, 2 },                            /* a length of zero */
		{ { 2, 0xff, 0xff, 0xff, 0xff, 0x07 }, 6 }, /* a length beyond 32 bits */
		{ { 0x80 }, 1 },                            /* a number without an end */
	};
	uint32_t length;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes_view view = { cases[i].bytes, cases[i].size };
		struct go_pc_values values = go_pc_values_of(view, 4);

		assert_false(go_pc_values_next(&values, &length));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_parts_of_each_layout_are_found),
		cmocka_unit_test(headers_of_other_layouts_are_refused),
		cmocka_unit_test(values_are_sums_of_their_changes),
		cmocka_unit_test(a_first_change_of_zero_does_not_end_the_table),
		cmocka_unit_test(malformed_pieces_end_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
