/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/ingest/sender_clock.h"

#include "common/limits.h"
#include "tests/support/unit.h"

#define S   ((int64_t)NSEC_PER_SEC)
#define DAY (86400 * S)

/* The host booted at BOOT, and sends at NOW. */
#define BOOT ((int64_t)1700000000 * S)
#define NOW  (BOOT + 10 * DAY)

static struct sender_clock clock_at(int64_t wall_ns, int64_t monotonic_ns, int64_t suspended_ns)
{
	struct sender_clock clock = {
		.is_known = true,
		.wall_ns = (uint64_t)wall_ns,
		.monotonic_ns = (uint64_t)monotonic_ns,
		.boottime_ns = (uint64_t)(monotonic_ns + suspended_ns),
		.boot_id = "this-boot",
	};

	return clock;
}

static void a_header_has_three_clocks_and_the_boot(void **state)
{
	struct sender_clock clock = sender_clock_parse("1700000000000000001 20 30 b-1");

	(void)state;
	assert_true(clock.is_known);
	assert_int_equal(clock.wall_ns, UINT64_C(1700000000000000001));
	assert_int_equal(clock.monotonic_ns, 20);
	assert_int_equal(clock.boottime_ns, 30);
	assert_string_equal(clock.boot_id, "b-1");
}

static void an_unusable_header_counts_as_none(void **state)
{
	static const char *const texts[] = {
		NULL,
		"",
		"x",
		"1 2 3",
		"1 2 3 ",
		"-1 2 3 b",
		"1  2 3 b",
		"1,2,3,b",
		"99999999999999999999999 2 3 b",
		"9258118400000000000 2 3 b",
		"1 2 3 0123456789012345678901234567890123456789012345678901234567890123",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct sender_clock clock = sender_clock_parse(texts[i]);

		assert_false(clock.is_known);
		assert_int_equal(sender_clock_offset_ns(&clock, 5), 0);
	}
}

static void the_offset_is_the_senders_clock_less_the_servers(void **state)
{
	struct sender_clock clock = clock_at(NOW + 2 * DAY, 10 * DAY, 0);

	(void)state;
	assert_true(sender_clock_offset_ns(&clock, (uint64_t)NOW) == 2 * DAY);
	assert_true(sender_clock_offset_ns(&clock, (uint64_t)(NOW + 3 * DAY)) == -DAY);
}

static void a_batch_is_moved_by_the_step_of_its_senders_clock(void **state)
{
	static const struct {
		const char *boot_id;
		int64_t error_ns;     /* of the clock when the batch was closed, on day 8 */
		int64_t suspended_ns; /* of the host since its boot */
		int64_t moved_ns;
	} cases[] = {
		{ "this-boot", 0, 0, 0 },
		{ "this-boot", 30 * S, 0, 0 },
		{ "this-boot", 10 * DAY, 0, -10 * DAY },
		{ "this-boot", -20 * DAY, 0, 20 * DAY },
		{ "this-boot", -61 * S, 0, 61 * S },
		{ "other-boot", 10 * DAY, 0, 0 },
		/* The clock may have been right before the host was suspended. */
		{ "this-boot", -DAY, DAY, 0 },
		/* No time in the future is right. */
		{ "this-boot", 10 * DAY, DAY, -10 * DAY },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sender_clock clock = clock_at(NOW, 10 * DAY, cases[i].suspended_ns);
		struct batch batch = {
			.closed_wall_ns = (uint64_t)(BOOT + 8 * DAY + cases[i].error_ns),
			.closed_monotonic_ns = (uint64_t)(8 * DAY),
			.host.boot_id = cases[i].boot_id,
		};
		int64_t moved = sender_clock_step_ns(&clock, &batch, (uint64_t)NOW);

		if (moved != cases[i].moved_ns)
			fail_msg("case %zu: %lld", i, (long long)moved);
	}
}

static void nothing_is_known_without_a_header_or_of_a_later_monotonic_time(void **state)
{
	struct sender_clock none = sender_clock_parse(NULL), early = clock_at(NOW, DAY, 0);
	struct batch batch = {
		.closed_wall_ns = (uint64_t)(NOW + 9 * DAY),
		.closed_monotonic_ns = (uint64_t)(8 * DAY),
		.host.boot_id = "this-boot",
	};

	(void)state;
	assert_int_equal(sender_clock_step_ns(&early, &batch, (uint64_t)NOW), 0);
	batch.host.boot_id = "";
	assert_int_equal(sender_clock_step_ns(&none, &batch, (uint64_t)NOW), 0);
}

static void moving_a_batch_moves_its_rows_and_its_ends(void **state)
{
	struct batch_row rows[] = { { .slot = 1000 }, { .slot = 1007 } };
	struct batch batch = {
		.rows = rows,
		.n_rows = ARRAY_SIZE(rows),
		.opened_wall_ns = 1000 * SLOT_NS,
		.closed_wall_ns = 1010 * SLOT_NS,
	};

	(void)state;
	sender_clock_move(&batch, -(int64_t)(100 * SLOT_NS + 5));
	assert_int_equal(rows[0].slot, 900);
	assert_int_equal(rows[1].slot, 907);
	assert_int_equal(batch.opened_wall_ns, 900 * SLOT_NS);
	assert_int_equal(batch.closed_wall_ns, 910 * SLOT_NS);
	sender_clock_move(&batch, (int64_t)(3 * SLOT_NS));
	assert_int_equal(rows[0].slot, 903);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_has_three_clocks_and_the_boot),
		cmocka_unit_test(an_unusable_header_counts_as_none),
		cmocka_unit_test(the_offset_is_the_senders_clock_less_the_servers),
		cmocka_unit_test(a_batch_is_moved_by_the_step_of_its_senders_clock),
		cmocka_unit_test(nothing_is_known_without_a_header_or_of_a_later_monotonic_time),
		cmocka_unit_test(moving_a_batch_moves_its_rows_and_its_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
