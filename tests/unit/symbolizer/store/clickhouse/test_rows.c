/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "common/arena.h"
#include "symbolizer/ingest/batch_decoder.h"
#include "symbolizer/store/clickhouse/rows.h"
#include "tests/support/batch_builder.h"

#define DAY_NS (24 * 3600 * NSEC_PER_SEC)
#define NOON   (UINT64_C(20454) * DAY_NS + DAY_NS / 2)

static void decode(struct batch_builder *builder, struct arena *arena, struct batch *ret_batch)
{
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
	char reason[DECODE_MESSAGE_SIZE];

	batch_builder_finish(builder, &body);
	if (batch_decode(bytes_view_of(&body), arena, ret_batch, reason) < 0)
		fail_msg("%s", reason);
}

/* The same samples, with numbers from @first_number on. */
static struct batch_builder *numbered_batch(uint32_t first_number)
{
	struct batch_builder *builder =
		batch_builder_new(1, NOON, first_number, NOON - 5 * NSEC_PER_SEC, NOON);
	const struct executable_id id = test_build_id(1), library_id = test_build_id(2);
	const uint32_t n = first_number;
	const struct batch_frame frames[] = {
		{ FRAME_NATIVE, n + 1, 0x3000 },
		{ FRAME_NATIVE, n, 0x2000 },
		{ FRAME_NATIVE, n, 0x1000 },
	};

	batch_builder_executable(builder, n, &id, "server", ROLE_USER);
	batch_builder_segment(builder, 0, 0x400000, 0x1000);
	batch_builder_executable(builder, n + 1, &library_id, "library.so", ROLE_USER);
	batch_builder_process(builder, n, 4711, 99, "server", n);
	batch_builder_path(builder, n, "/usr/bin/server");
	batch_builder_path(builder, n + 1, "/usr/lib/library.so");
	batch_builder_label(builder, "service", "shop");
	batch_builder_series(builder, n, n, 4711, "main", EVENT_ON_CPU, 10 * NSEC_PER_MSEC);
	batch_builder_stack(builder, n, STACK_CUT_NONE, frames, 3);
	batch_builder_stack(builder, n + 1, STACK_CUT_DEPTH, frames + 1, 2);
	batch_builder_row(builder, n, n, NOON - 4 * NSEC_PER_SEC, 1);
	batch_builder_row(builder, n, n + 1, NOON - 3 * NSEC_PER_SEC, 2);
	return builder;
}

static int add(struct rows *rows, struct batch_builder *builder, const char *tenant)
{
	scoped(numbers_missing_release) struct numbers_missing missing = {};
	scoped(numbers_freep) struct numbers *numbers = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch_days days;
	struct batch batch;

	assert_ok(arena_new(16 * MIB, &arena));
	decode(builder, arena, &batch);
	assert_ok(numbers_new(MIB, &numbers));
	assert_ok(numbers_learn(numbers, &batch, &missing));
	assert_ok(batch_days_find(&batch, &days));
	return rows_add(rows, tenant, &batch, numbers, &days, NOON);
}

static void definitions_do_not_depend_on_the_numbers_of_an_agent(void **state)
{
	scoped(rows_freep) struct rows *one = NULL;
	scoped(rows_freep) struct rows *other = NULL;

	(void)state;
	assert_ok(rows_new(MIB, &one));
	assert_ok(rows_new(MIB, &other));
	assert_ok(add(one, numbered_batch(1), "default"));
	assert_ok(add(other, numbered_batch(70), "default"));
	for (int table = 0; table < ROWS_BATCHES; table++) {
		struct bytes_view left = rows_of(one, (enum rows_table)table);
		struct bytes_view right = rows_of(other, (enum rows_table)table);

		assert_int_equal(left.size, right.size);
		if (left.size > 0)
			assert_memory_equal(left.data, right.data, left.size);
	}
	assert_true(rows_of(one, ROWS_STACKS).size > 0 && rows_of(one, ROWS_SERIES).size > 0);
}

static void definitions_are_added_until_they_are_discarded(void **state)
{
	scoped(rows_freep) struct rows *rows = NULL;
	size_t stacks_size;

	(void)state;
	assert_ok(rows_new(MIB, &rows));
	assert_ok(add(rows, numbered_batch(1), "default"));
	stacks_size = rows_of(rows, ROWS_STACKS).size;
	rows_written(rows);
	assert_ok(add(rows, numbered_batch(70), "default"));
	assert_int_equal(rows_of(rows, ROWS_STACKS).size, 0);
	assert_true(rows_of(rows, ROWS_SAMPLES).size > 0);
	rows_discard(rows);
	assert_ok(add(rows, numbered_batch(1), "default"));
	assert_int_equal(rows_of(rows, ROWS_STACKS).size, stacks_size);
}

/* The limit grows byte by byte until the batch fits. */
static void a_batch_that_does_not_fit_leaves_no_row(void **state)
{
	int r = -EFBIG;

	(void)state;
	for (size_t limit = 1; r < 0; limit++) {
		scoped(rows_freep) struct rows *rows = NULL;

		assert_ok(rows_new(limit, &rows));
		r = add(rows, numbered_batch(1), "default");
		if (r == 0) {
			continue;
		}
		assert_errno(r, -EFBIG);
		for (int table = 0; table < ROWS_TABLE_END; table++)
			assert_int_equal(rows_of(rows, (enum rows_table)table).size, 0);
	}
}

static void a_batch_has_the_days_of_its_rows_and_of_its_time(void **state)
{
	const uint64_t slots_per_day = DAY_NS / SLOT_NS;
	struct batch_row rows[] = {
		{ .series = 1, .slot = 10 * slots_per_day },
		{ .series = 1, .slot = 13 * slots_per_day - 1 },
	};
	struct batch batch = {
		.opened_wall_ns = 11 * DAY_NS - 1,
		.closed_wall_ns = 12 * DAY_NS,
		.rows = rows,
		.n_rows = 2,
	};
	struct batch_days days;

	(void)state;
	assert_ok(batch_days_find(&batch, &days));
	assert_int_equal(days.count, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(days.days[i], 10 + i);

	/* Day 12 has no rows, and the batch does not cover it. */
	rows[1].slot = 13 * slots_per_day;
	assert_ok(batch_days_find(&batch, &days));
	assert_int_equal(days.count, 3);
	assert_int_equal(days.days[2], 13);

	rows[1].slot = (10 + ROWS_MAX_DAYS) * slots_per_day;
	assert_errno(batch_days_find(&batch, &days), -EINVAL);
	rows[0].slot = rows[1].slot = UINT64_C(70000) * slots_per_day;
	batch.opened_wall_ns = batch.closed_wall_ns = UINT64_C(70000) * DAY_NS;
	assert_errno(batch_days_find(&batch, &days), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(definitions_do_not_depend_on_the_numbers_of_an_agent),
		cmocka_unit_test(definitions_are_added_until_they_are_discarded),
		cmocka_unit_test(a_batch_that_does_not_fit_leaves_no_row),
		cmocka_unit_test(a_batch_has_the_days_of_its_rows_and_of_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
