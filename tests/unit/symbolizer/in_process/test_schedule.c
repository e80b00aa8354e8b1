/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/in_process/schedule.h"

#include "tests/support/unit.h"

#define NOW     (1000000 * NSEC_PER_SEC)
#define MINUTES (60 * NSEC_PER_SEC)

/* The units 7, 6 and 5, changed 1, 2 and 10 minutes ago: the last one is settled. */
struct site {
	struct in_process_units units;
	struct schedule schedule;
	struct schedule_now now;
};

static void init_site(struct site *site)
{
	static const uint64_t ages[] = { 1, 2, 10 };

	*site = (struct site){ .now = { .end = UINT64_MAX, .generation = 3, .now_ns = NOW } };
	for (size_t i = 0; i < ARRAY_SIZE(ages); i++) {
		struct in_process_unit unit = {
			.unit = (uint32_t)(7 - i),
			.changes = 100 + i,
			.changed_ns = NOW - ages[i] * MINUTES,
		};

		assert_ok(vec_push(&site->units.list, unit));
	}
}

static void release_site(struct site *site)
{
	vec_release(&site->units.list);
	schedule_release(&site->schedule);
}

static enum schedule_reason next(struct site *site, uint32_t *ret_unit)
{
	const struct in_process_unit *unit = NULL;
	enum schedule_reason reason =
		schedule_next(&site->schedule, &site->units, &site->now, &unit);

	*ret_unit = unit ? unit->unit : 0;
	return reason;
}

/* All units have the rows of their samples, by this server or by another one. */
static void write_all(struct site *site, bool by_us)
{
	for (size_t i = 0; i < site->units.list.count; i++) {
		struct in_process_unit *unit = &site->units.list.items[i];
		const struct schedule_write write = {
			.unit = unit->unit,
			.state = schedule_state(unit, site->now.now_ns),
			.generation = site->now.generation,
			.at_ns = site->now.now_ns,
		};

		unit->state = write.state;
		if (by_us)
			assert_ok(schedule_wrote(&site->schedule, &write));
	}
}

#define assert_next(site, reason, unit)                                                            \
	do {                                                                                       \
		uint32_t next_unit_;                                                               \
		assert_int_equal(next(site, &next_unit_), reason);                                 \
		assert_int_equal(next_unit_, unit);                                                \
	} while (0)

static void the_newest_unit_in_the_range_is_filled_first(void **state)
{
	scoped(release_site) struct site site = {};

	(void)state;
	init_site(&site);
	assert_next(&site, SCHEDULE_FILL, 7);
	site.now.end = 7;
	assert_next(&site, SCHEDULE_FILL, 6);
	site.now.end = 6;
	site.now.first = 6;
	assert_next(&site, SCHEDULE_NOTHING, 0);
}

static void a_unit_is_filled_after_a_change_and_when_it_is_settled(void **state)
{
	scoped(release_site) struct site site = {};

	(void)state;
	init_site(&site);
	write_all(&site, true);
	assert_next(&site, SCHEDULE_NOTHING, 0);
	site.units.list.items[1].changes++;
	assert_next(&site, SCHEDULE_FILL, 6);
	site.units.list.items[1].changes--;
	/* Unit 6 is settled 5 minutes after its change. */
	site.now.now_ns = NOW + 3 * MINUTES - 1;
	assert_next(&site, SCHEDULE_NOTHING, 0);
	site.now.now_ns = NOW + 3 * MINUTES;
	assert_next(&site, SCHEDULE_FILL, 6);
}

static void new_debuginfo_corrects_units_of_the_last_hour(void **state)
{
	scoped(release_site) struct site site = {};

	(void)state;
	init_site(&site);
	write_all(&site, true);
	site.now.generation++;
	assert_next(&site, SCHEDULE_CORRECT, 7);
	site.now.no_corrections = true;
	assert_next(&site, SCHEDULE_NOTHING, 0);
	site.now.no_corrections = false;
	write_all(&site, true);
	assert_next(&site, SCHEDULE_NOTHING, 0);

	site.units.list.items[0].changed_ns = NOW - 61 * MINUTES;
	site.units.list.items[1].changed_ns = NOW - 59 * MINUTES;
	write_all(&site, true);
	site.now.generation++;
	assert_next(&site, SCHEDULE_CORRECT, 6);
}

static void a_unit_written_while_tables_were_being_made_is_corrected(void **state)
{
	scoped(release_site) struct site site = {};
	struct schedule_write write;

	(void)state;
	init_site(&site);
	write_all(&site, true);
	write = (struct schedule_write){ .unit = 6,
					 .state = site.units.list.items[1].state,
					 .at_ns = NOW };
	assert_ok(schedule_wrote(&site.schedule, &write));
	assert_next(&site, SCHEDULE_CORRECT, 6);
}

static void the_names_of_another_server_are_tried_once_in_a_settled_unit(void **state)
{
	scoped(release_site) struct site site = {};

	(void)state;
	init_site(&site);
	write_all(&site, false);
	assert_next(&site, SCHEDULE_CORRECT, 5);
	write_all(&site, true);
	assert_next(&site, SCHEDULE_NOTHING, 0);
}

static void a_missing_unit_is_filled_before_others_are_corrected(void **state)
{
	scoped(release_site) struct site site = {};

	(void)state;
	init_site(&site);
	write_all(&site, true);
	site.now.generation++;
	site.units.list.items[2].state = 0;
	assert_next(&site, SCHEDULE_FILL, 5);
}

static void old_writes_are_forgotten(void **state)
{
	scoped(release_site) struct site site = {};
	struct schedule_write write = { .unit = 100, .state = 1, .generation = 3 };

	(void)state;
	init_site(&site);
	write_all(&site, true);
	write.at_ns = NOW + 2 * SCHEDULE_RECENT_NS;
	assert_ok(schedule_wrote(&site.schedule, &write));
	assert_int_equal(site.schedule.writes.count, 4);
	write.at_ns++;
	assert_ok(schedule_wrote(&site.schedule, &write));
	assert_int_equal(site.schedule.writes.count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_unit_in_the_range_is_filled_first),
		cmocka_unit_test(a_unit_is_filled_after_a_change_and_when_it_is_settled),
		cmocka_unit_test(new_debuginfo_corrects_units_of_the_last_hour),
		cmocka_unit_test(a_unit_written_while_tables_were_being_made_is_corrected),
		cmocka_unit_test(the_names_of_another_server_are_tried_once_in_a_settled_unit),
		cmocka_unit_test(a_missing_unit_is_filled_before_others_are_corrected),
		cmocka_unit_test(old_writes_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
