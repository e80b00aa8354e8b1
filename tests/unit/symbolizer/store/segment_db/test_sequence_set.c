/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "symbolizer/store/segment_db/sequence_set.h"

enum { N_NUMBERS = 200 };

static void adding_numbers_in_any_order_gives_their_ranges(void **state)
{
	scoped(sequence_set_release) struct sequence_set set = {};
	static const uint64_t numbers[] = { 5, 3, 9, 4, 4, 10, UINT64_MAX, 0, UINT64_MAX - 1 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		assert_ok(sequence_set_add(&set, numbers[i]));
	assert_int_equal(set.count, 4);
	assert_int_equal(set.items[1].first, 3);
	assert_int_equal(set.items[1].last, 5);
	assert_int_equal(set.items[3].first, UINT64_MAX - 1);
	assert_true(sequence_set_has(&set, 0));
	assert_true(sequence_set_has(&set, UINT64_MAX));
	assert_false(sequence_set_has(&set, 6));
	assert_false(sequence_set_has(&set, 11));
}

static void a_set_of_pseudorandom_numbers_has_exactly_these(void **state)
{
	scoped(sequence_set_release) struct sequence_set set = {};
	bool added[N_NUMBERS] = {};
	uint32_t random = 12345;

	(void)state;
	for (int i = 0; i < 150; i++) {
		random = random * 1664525 + 1013904223;
		added[random / 65536 % N_NUMBERS] = true;
		assert_ok(sequence_set_add(&set, random / 65536 % N_NUMBERS));
		for (uint64_t k = 0; k < N_NUMBERS; k++)
			assert_int_equal(sequence_set_has(&set, k), added[k]);
	}
}

static void a_set_survives_encoding(void **state)
{
	scoped(sequence_set_release) struct sequence_set set = {}, decoded = {};
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(KIB);

	(void)state;
	for (uint64_t i = 0; i < 20; i++)
		assert_ok(sequence_set_add(&set, i * i));
	assert_ok(sequence_set_add(&set, UINT64_MAX));
	assert_ok(sequence_set_encode(&set, &bytes));
	assert_ok(sequence_set_decode(bytes_view_of(&bytes), &decoded));
	assert_int_equal(decoded.count, set.count);
	assert_memory_equal(decoded.items, set.items, set.count * sizeof(*set.items));
}

static void damaged_bytes_are_refused(void **state)
{
	static const struct {
		uint8_t bytes[24];
		size_t size;
	} cases[] = {
		{ { 0x05 }, 1 },                   /* no length */
		{ { 0x05, 0x80 }, 2 },             /* cut varint */
		{ { 0x05, 0x01, 0x00, 0x01 }, 4 }, /* adjacent ranges */
		/* the end of a range exceeds 64 bits */
		{ { 0x05, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 }, 11 },
		/* a range after the largest number */
		{ { 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x01, 0x00 },
		  13 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(sequence_set_release) struct sequence_set set = {};

		assert_errno(sequence_set_decode(
				     (struct bytes_view){ cases[i].bytes, cases[i].size }, &set),
			     -EBADMSG);
	}
}

static void a_full_set_has_room_only_beside_its_ranges(void **state)
{
	scoped(sequence_set_release) struct sequence_set set = {};

	(void)state;
	for (uint64_t i = 0; i < SEQUENCE_SET_MAX_RANGES; i++)
		assert_ok(sequence_set_add(&set, 10 + 4 * i));
	assert_false(sequence_set_has_room(&set, 12));
	assert_false(sequence_set_has_room(&set, 1));
	assert_true(sequence_set_has_room(&set, 10));
	assert_true(sequence_set_has_room(&set, 11));
	assert_true(sequence_set_has_room(&set, 9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adding_numbers_in_any_order_gives_their_ranges),
		cmocka_unit_test(a_set_of_pseudorandom_numbers_has_exactly_these),
		cmocka_unit_test(a_set_survives_encoding),
		cmocka_unit_test(damaged_bytes_are_refused),
		cmocka_unit_test(a_full_set_has_room_only_beside_its_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
