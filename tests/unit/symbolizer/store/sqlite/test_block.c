/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "common/vec.h"
#include "symbolizer/store/sqlite/block.h"

struct collected {
	VEC_DEFINE(, struct block_row) rows; /* stack_index is the ID of the stack */
	size_t stop_after;
};

static int collect(void *arg, uint32_t series_index, uint64_t stack_id, uint64_t slot,
		   uint64_t value)
{
	struct collected *collected = arg;

	assert_ok(vec_push(&collected->rows, (struct block_row){ .series = series_index,
								 .stack_index = (uint32_t)stack_id,
								 .slot = slot,
								 .value = value }));
	return collected->stop_after && collected->rows.count == collected->stop_after ? -ECANCELED
										       : 0;
}

static const struct block_row some_rows[] = {
	{ 10, 0, 1000, 1 },          { 10, 2, 1000, 1 },   { 10, 1, 1500, 3 },
	{ 11, 1, 1200, UINT64_MAX }, { 900, 0, 1000, 12 }, { 900, 0, 999, 1 },
	{ UINT32_MAX, 2, 1999, 2 },
};
static const uint64_t some_stacks[] = { 0, 77, 5000000 };

static void encode_some(struct block_scratch *scratch, struct bytes *out)
{
	const struct block_rows rows = {
		.rows = some_rows,
		.n_rows = ARRAY_SIZE(some_rows),
		.stacks = some_stacks,
		.n_stacks = ARRAY_SIZE(some_stacks),
		.min_slot = 999,
	};

	assert_ok(block_encode(&rows, scratch, out));
}

static void decoded_rows_equal_the_encoded_ones(void **state)
{
	static const uint32_t all[] = { 10, 11, 900, UINT32_MAX };
	scoped(block_scratch_release) struct block_scratch scratch = {};
	scoped(bytes_release) struct bytes block = BYTES_INIT(MIB);
	struct collected got = {};
	const struct block_scan scan = {
		.series_ids = all,
		.n_series = ARRAY_SIZE(all),
		.to_slot = UINT64_MAX,
		.function = collect,
		.arg = &got,
	};
	int stopped = 0;

	(void)state;
	encode_some(&scratch, &block);
	assert_ok(block_scan_rows(bytes_view_of(&block), 999, ARRAY_SIZE(some_rows), &scan,
				  &scratch, &stopped));
	assert_int_equal(got.rows.count, ARRAY_SIZE(some_rows));
	for (size_t i = 0; i < got.rows.count; i++) {
		assert_int_equal(all[got.rows.items[i].series], some_rows[i].series);
		assert_int_equal(got.rows.items[i].stack_index,
				 some_stacks[some_rows[i].stack_index]);
		assert_int_equal(got.rows.items[i].slot, some_rows[i].slot);
		assert_true(got.rows.items[i].value == some_rows[i].value);
	}
	vec_release(&got.rows);
}

/* Sums the block with stacks, and compares with the rows that it was made of. */
static void check_sum(const struct bytes *block, struct block_scratch *scratch,
		      const struct store_sum_query *query)
{
	struct block_sum sum = { .query = query,
				 .from_slot = query->from_slot,
				 .to_slot = query->to_slot };
	uint64_t expected[2] = {}, got[2] = {}, last_slot = 0, n_rows = 0;

	for (size_t i = 0; i < ARRAY_SIZE(some_rows); i++) {
		const struct block_row *row = &some_rows[i];

		for (size_t k = 0; k < query->n_series; k++) {
			if (query->series[k].id != row->series || row->slot < query->from_slot ||
			    row->slot >= query->to_slot)
				continue;
			expected[k] = sum_saturating(
				expected[k], sum_scaled(row->value, query->series[k].factor));
			last_slot = MAX(last_slot, row->slot);
			n_rows++;
		}
	}
	assert_ok(sum_table_init(&sum.table, query, NULL));
	assert_ok(block_sum_rows(bytes_view_of(block), 999, 2500, ARRAY_SIZE(some_rows), &sum,
				 scratch));
	for (size_t i = 0; i < sum.table.count; i++) {
		const struct store_sum *item = &sum.table.items[i];

		got[item->group] = sum_saturating(got[item->group], item->value);
		assert_true(item->last_slot <= last_slot);
	}
	for (size_t k = 0; k < query->n_series; k++)
		assert_true(got[k] == expected[k]);
	assert_int_equal(sum.n_rows, n_rows);
	sum_table_release(&sum.table);
}

static void sums_equal_those_of_the_encoded_rows(void **state)
{
	static const struct {
		uint64_t ids[2];
		uint64_t from, to;
	} cases[] = {
		{ { 10, 11 }, 0, 5000 },         { { 10, 11 }, 1000, 1500 },
		{ { 1, 900 }, 1000, 2000 },      { { 12, 899 }, 0, 5000 },
		{ { 10, 900 }, 1500, 1501 },     { { 10, 900 }, 999, 2501 },
		{ { 11, UINT32_MAX }, 0, 9000 },
	};
	scoped(block_scratch_release) struct block_scratch scratch = {};
	scoped(bytes_release) struct bytes block = BYTES_INIT(MIB);

	(void)state;
	encode_some(&scratch, &block);
	for (size_t i = 0; i < 4 * ARRAY_SIZE(cases); i++) {
		const size_t c = i / 4;
		const struct store_sum_series series[] = {
			{ .id = cases[c].ids[0], .group = 0, .factor = 1 },
			{ .id = cases[c].ids[1], .group = 1, .factor = 1000 },
		};

		check_sum(&block, &scratch,
			  &(struct store_sum_query){ .series = series,
						     .n_series = ARRAY_SIZE(series),
						     .from_slot = cases[c].from,
						     .to_slot = cases[c].to,
						     .without_stacks = i & 1,
						     .last_slots = i & 2 });
	}
}

static void only_selected_series_and_slots_are_scanned(void **state)
{
	static const struct {
		uint32_t series[2];
		uint64_t from, to;
		size_t n_rows;
	} cases[] = {
		{ { 10, 11 }, 0, 5000, 4 },
		{ { 10, 11 }, 1000, 1500, 3 },
		{ { 1, 900 }, 1000, 2000, 1 },
		{ { 12, 899 }, 0, 5000, 0 },
		{ { 900, UINT32_MAX }, 1999, 2000, 1 },
		{ { 10, 900 }, 1500, 1501, 1 },
	};
	scoped(block_scratch_release) struct block_scratch scratch = {};
	scoped(bytes_release) struct bytes block = BYTES_INIT(MIB);

	(void)state;
	encode_some(&scratch, &block);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct collected got = {};
		const struct block_scan scan = {
			.series_ids = cases[i].series,
			.n_series = 2,
			.from_slot = cases[i].from,
			.to_slot = cases[i].to,
			.function = collect,
			.arg = &got,
		};
		int stopped = 0;

		assert_ok(block_scan_rows(bytes_view_of(&block), 999, ARRAY_SIZE(some_rows), &scan,
					  &scratch, &stopped));
		assert_int_equal(got.rows.count, cases[i].n_rows);
		vec_release(&got.rows);
	}
}

static void the_function_can_end_the_scan(void **state)
{
	static const uint32_t all[] = { 10, 11, 900 };
	scoped(block_scratch_release) struct block_scratch scratch = {};
	scoped(bytes_release) struct bytes block = BYTES_INIT(MIB);
	struct collected got = { .stop_after = 2 };
	const struct block_scan scan = {
		.series_ids = all,
		.n_series = 3,
		.to_slot = UINT64_MAX,
		.function = collect,
		.arg = &got,
	};
	int stopped = 0;

	(void)state;
	encode_some(&scratch, &block);
	assert_ok(block_scan_rows(bytes_view_of(&block), 999, ARRAY_SIZE(some_rows), &scan,
				  &scratch, &stopped));
	assert_int_equal(stopped, -ECANCELED);
	assert_int_equal(got.rows.count, 2);
	vec_release(&got.rows);
}

static void damage_is_detected(void **state)
{
	static const uint32_t all[] = { 10, 11, 900, UINT32_MAX };
	scoped(block_scratch_release) struct block_scratch scratch = {};
	scoped(bytes_release) struct bytes block = BYTES_INIT(MIB);
	struct collected got = {};
	const struct block_scan scan = {
		.series_ids = all,
		.n_series = ARRAY_SIZE(all),
		.to_slot = UINT64_MAX,
		.function = collect,
		.arg = &got,
	};
	int stopped = 0;

	(void)state;
	encode_some(&scratch, &block);
	for (size_t i = 0; i < block.size; i++) {
		block.data[i] ^= 0x40;
		assert_errno(block_scan_rows(bytes_view_of(&block), 999, ARRAY_SIZE(some_rows),
					     &scan, &scratch, &stopped),
			     -EBADMSG);
		block.data[i] ^= 0x40;
		assert_errno(block_scan_rows((struct bytes_view){ block.data, i }, 999,
					     ARRAY_SIZE(some_rows), &scan, &scratch, &stopped),
			     -EBADMSG);
	}
	assert_int_equal(got.rows.count, 0);
	vec_release(&got.rows);
}

static void a_row_of_a_steady_service_takes_few_bytes(void **state)
{
	enum { N_ROWS = 20000, N_STACKS = 300 };
	scoped(block_scratch_release) struct block_scratch scratch = {};
	scoped(bytes_release) struct bytes block = BYTES_INIT(MIB);
	scoped_free struct block_row *rows = calloc(N_ROWS, sizeof(*rows));
	uint64_t stacks[N_STACKS];
	uint32_t random = 1;

	(void)state;
	for (uint32_t i = 0; i < N_STACKS; i++)
		stacks[i] = 100000 + 37 * i;
	for (uint32_t i = 0; i < N_ROWS; i++) {
		random = random * 1664525 + 1013904223;
		rows[i] = (struct block_row){ .series = 50 + i / 500,
					      .stack_index = (random >> 16) % N_STACKS,
					      .slot = 1000000 + i % 500,
					      .value = 1 };
	}
	assert_ok(block_encode(&(struct block_rows){ .rows = rows,
						     .n_rows = N_ROWS,
						     .stacks = stacks,
						     .n_stacks = N_STACKS,
						     .min_slot = 1000000 },
			       &scratch, &block));
	/* A random index of 300 stacks has 8.2 bits, so the minimum is 1.03 bytes. */
	assert_true(block.size < N_ROWS * 3 / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decoded_rows_equal_the_encoded_ones),
		cmocka_unit_test(sums_equal_those_of_the_encoded_rows),
		cmocka_unit_test(only_selected_series_and_slots_are_scanned),
		cmocka_unit_test(the_function_can_end_the_scan),
		cmocka_unit_test(damage_is_detected),
		cmocka_unit_test(a_row_of_a_steady_service_takes_few_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
