/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "common/limits.h"
#include "symbolizer/store/sqlite/counter_codec.h"

#define MINUTE UINT64_C(29454480)
#define BEGIN  (MINUTE * COUNTER_MINUTE_NS)

static void entries_of_a_minute_are_read_in_order(void **state)
{
	scoped(bytes_release) struct bytes row = BYTES_INIT(KIB);
	scoped(bytes_release) struct bytes pairs = BYTES_INIT(KIB);
	struct counter_entry entry;
	struct bytes_reader reader, pair_reader;
	uint64_t id, value;

	(void)state;
	counter_add_pair(&pairs, 3, 300);
	counter_add_pair(&pairs, 200, UINT64_MAX);
	for (uint64_t i = 1; i <= 2; i++) {
		entry = (struct counter_entry){
			.sequence = i,
			.opened_ns = BEGIN + (i - 1) * 5 * NSEC_PER_SEC,
			.closed_ns = BEGIN + i * 5 * NSEC_PER_SEC,
			.delay_ms = i == 1 ? -1500 : 90000,
			.pairs = bytes_view_of(&pairs),
		};
		counter_add_entry(&row, &entry, MINUTE);
	}
	assert_ok(bytes_error(&row));

	reader = bytes_reader_of(bytes_view_of(&row));
	assert_int_equal(counter_next_entry(&reader, MINUTE, &entry), 1);
	assert_int_equal(entry.sequence, 1);
	assert_int_equal(entry.opened_ns, BEGIN);
	assert_int_equal(entry.closed_ns, BEGIN + 5 * NSEC_PER_SEC);
	assert_int_equal(entry.delay_ms, -1500);
	pair_reader = bytes_reader_of(entry.pairs);
	assert_true(counter_next_pair(&pair_reader, &id, &value));
	assert_int_equal(id, 3);
	assert_int_equal(value, 300);
	assert_true(counter_next_pair(&pair_reader, &id, &value));
	assert_int_equal(id, 200);
	assert_int_equal(value, UINT64_MAX);
	assert_false(counter_next_pair(&pair_reader, &id, &value));
	assert_int_equal(counter_next_entry(&reader, MINUTE, &entry), 1);
	assert_int_equal(entry.sequence, 2);
	assert_int_equal(entry.delay_ms, 90000);
	assert_int_equal(counter_next_entry(&reader, MINUTE, &entry), 0);
}

static void a_batch_that_closes_at_the_end_of_a_minute_belongs_to_that_minute(void **state)
{
	scoped(bytes_release) struct bytes row = BYTES_INIT(KIB);
	struct counter_entry entry = {
		.opened_ns = BEGIN - 5 * NSEC_PER_SEC,
		.closed_ns = BEGIN,
	};
	struct bytes_reader reader;

	(void)state;
	assert_int_equal(counter_minute(BEGIN), MINUTE - 1);
	assert_int_equal(counter_minute(BEGIN + 1), MINUTE);
	counter_add_entry(&row, &entry, MINUTE - 1);
	reader = bytes_reader_of(bytes_view_of(&row));
	assert_int_equal(counter_next_entry(&reader, MINUTE - 1, &entry), 1);
	assert_int_equal(entry.closed_ns, BEGIN);
	assert_int_equal(entry.opened_ns, BEGIN - 5 * NSEC_PER_SEC);
}

static void row_ids_order_senders_then_minutes_then_parts(void **state)
{
	(void)state;
	assert_int_equal(counter_row_id(1, 1440), counter_row_id(1, 1439) + (1 << 13));
	assert_true(counter_row_id(1, 1440) + (1 << 13) <= counter_row_id(2, 0));
	assert_int_equal(counter_row_minute(counter_row_id(7, 1439) + 8191), 1439);
}

static void a_damaged_row_ends_with_an_error(void **state)
{
	static const uint8_t too_long[] = { 9, 1, 2, 3 };
	static const uint8_t cut[] = { 2, 1, 0x80 };
	static const uint8_t before_1970[] = { 8, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0 };
	static const struct bytes_view cases[] = {
		{ too_long, sizeof(too_long) },
		{ cut, sizeof(cut) },
		{ before_1970, sizeof(before_1970) },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes_reader reader = bytes_reader_of(cases[i]);
		struct counter_entry entry;

		assert_int_equal(counter_next_entry(&reader, MINUTE, &entry), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_of_a_minute_are_read_in_order),
		cmocka_unit_test(a_batch_that_closes_at_the_end_of_a_minute_belongs_to_that_minute),
		cmocka_unit_test(row_ids_order_senders_then_minutes_then_parts),
		cmocka_unit_test(a_damaged_row_ends_with_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
