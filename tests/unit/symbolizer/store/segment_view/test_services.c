/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/segment_view/view_fixture.h"

static struct store_active_service *find_services(struct view_test *test, const uint64_t range[2],
						  size_t *ret_count)
{
	const struct store_series_query query = { .from_slot = range[0], .to_slot = range[1] };
	struct store_active_service *services;

	assert_ok(segment_view_active_services(test->view, &query, test->arena, &services,
					       ret_count));
	return services;
}

/* The processes and hosts with rows in the range are those counted. */
static void assert_counts(struct view_test *test, const uint64_t range[2])
{
	bool processes[3][N_PROCESSES] = {}, hosts[3] = {};
	uint32_t n_processes = 0, n_hosts = 0;
	struct store_active_service *services;
	size_t count;

	for (size_t i = 0; i < test->all.count; i++) {
		const struct model_row *row = &test->all.items[i];

		if (row->slot < range[0] || row->slot >= range[1])
			continue;
		n_processes += !processes[row->host][row->process];
		n_hosts += !hosts[row->host];
		processes[row->host][row->process] = true;
		hosts[row->host] = true;
	}
	services = find_services(test, range, &count);
	assert_int_equal(count, n_hosts > 0);
	if (count == 0)
		return;
	assert_string_equal(services[0].name, "web");
	assert_string_equal(services[0].event->name, "event1");
	assert_int_equal(services[0].n_hosts, n_hosts);
	assert_int_equal(services[0].n_processes, n_processes);
	assert_true(services[0].first_slot < range[1] && services[0].last_slot >= range[0]);
}

static void assert_all_counts(struct view_test *test, enum part_form form)
{
	static const uint64_t ranges[][2] = {
		{ FIRST_SLOT, FIRST_SLOT + 2 * SLOTS_PER_HOUR },
		{ FIRST_SLOT + 1000, FIRST_SLOT + 60000 },
		{ FIRST_SLOT + SLOTS_PER_HOUR - 20000, FIRST_SLOT + SLOTS_PER_HOUR + 20000 },
		{ FIRST_SLOT - 5, FIRST_SLOT },
		/* A series may have rows before and after the range, and none in it. */
		{ FIRST_SLOT + 100000, FIRST_SLOT + 100100 },
		{ FIRST_SLOT + 100000, FIRST_SLOT + 110000 },
	};
	uint64_t random = 71;

	for (unsigned int i = 0; i < 2; i++) {
		const uint64_t hour[2] = { FIRST_SLOT + i * SLOTS_PER_HOUR,
					   FIRST_SLOT + (i + 1) * SLOTS_PER_HOUR };
		struct model model = {};

		model_add_random(&model, &random, 40, hour);
		view_add_model(test, &model, form, NULL);
		vec_release(&model);
	}
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		assert_counts(test, ranges[i]);
}

static void processes_and_hosts_of_all_parts_are_counted_once(void **state)
{
	assert_all_counts(*state, PART_ENCODED);
}

static void those_of_segments_of_format_1_too(void **state)
{
	assert_all_counts(*state, PART_OLD);
}

static void those_of_segments_in_memory_too(void **state)
{
	assert_all_counts(*state, PART_DECODED);
}

static void each_service_and_event_type_is_listed(void **state)
{
	static const char *const names[] = { "web", "db" };
	struct view_test *test = *state;
	struct model model = {};
	uint64_t random = 72;
	struct store_active_service *services;
	size_t count;

	model_add_random(&model, &random, 20,
			 (uint64_t[]){ FIRST_SLOT, FIRST_SLOT + SLOTS_PER_HOUR });
	view_add_model(test, &model, PART_ENCODED, NULL);
	{
		scoped(segment_builder_freep) struct segment_builder *builder = NULL;
		scoped(segment_builder_freep) struct segment_builder *rows =
			builder_of(&model, EVENT_VALUE_TIME);
		struct segment from, segment;

		assert_ok(segment_builder_finish(rows, test->arena, &from));
		/* The same rows under another name. */
		for (size_t i = 0; i < from.count[SEGMENT_TEXT]; i++) {
			struct bytes_view text = segment_text(&from, i);

			if (text.size == 3 && memcmp(text.data, "web", 3) == 0)
				memcpy((uint8_t *)(uintptr_t)text.data, "db2", 3);
		}
		assert_ok(segment_builder_new(&builder));
		assert_ok(segment_builder_add_segment(builder, &from));
		assert_ok(segment_builder_finish(builder, test->arena, &segment));
		view_add_segment(test, &segment,
				 &(struct segment_part){ .first_slot = FIRST_SLOT,
							 .end_slot = FIRST_SLOT + SLOTS_PER_HOUR });
	}
	services = find_services(test, (uint64_t[]){ 0, UINT64_MAX }, &count);
	assert_int_equal(count, 2);
	assert_string_equal(services[0].name, names[0]);
	assert_string_equal(services[1].name, "db2");
	assert_int_equal(services[0].n_processes, services[1].n_processes);
	vec_release(&model);
}

static uint64_t text(struct segment_builder *builder, const char *name)
{
	uint64_t row;

	assert_ok(segment_builder_text(builder, name, strlen(name), &row));
	return row;
}

static uint64_t add(struct segment_builder *builder, enum segment_table table,
		    const uint64_t *values)
{
	uint64_t row;

	assert_ok(segment_builder_add(builder, table, values, &row));
	return row;
}

/* A part with one sample of this event type. */
static void add_event(struct view_test *test, const char *event)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	struct segment segment;
	uint64_t process, series;

	assert_ok(segment_builder_new(&builder));
	add(builder, SEGMENT_HEAD,
	    (uint64_t[]){ SEGMENT_SAMPLES, text(builder, "tenant1"), text(builder, "web"),
			  text(builder, event), text(builder, "ns"), EVENT_VALUE_TIME });
	add(builder, SEGMENT_HOST, (uint64_t[]){ text(builder, "agent"), 0, 0 });
	process = add(builder, SEGMENT_PROCESS, (uint64_t[]){ 0, 1, 1, 1, 0, 0, 0, 0, 0, 0 });
	series = 1 + add(builder, SEGMENT_SERIES, (uint64_t[]){ process, 1, 0, 0, 1, 0 });
	add(builder, SEGMENT_ROW, (uint64_t[]){ series, FIRST_SLOT, 0, 1 });
	assert_ok(segment_builder_finish(builder, test->arena, &segment));
	view_add_segment(
		test, &segment,
		&(struct segment_part){ .first_slot = FIRST_SLOT, .end_slot = FIRST_SLOT + 1 });
}

static void known_event_types_have_room_beside_many_others(void **state)
{
	enum { MOST_TYPES = 1024 };
	struct view_test *test = *state;
	struct store_active_service *services;
	size_t count;

	for (unsigned int i = 0; i < MOST_TYPES + 1; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "type%u", i);
		add_event(test, name);
	}
	add_event(test, "on-cpu");
	services = find_services(test, (uint64_t[]){ FIRST_SLOT, FIRST_SLOT + 1 }, &count);
	assert_int_equal(count, MOST_TYPES + 1);
	assert_int_equal(segment_view_damaged(test->view), 1);
	assert_int_equal(services[MOST_TYPES].type, EVENT_ON_CPU);
}

static void removed_samples_are_counted_by_their_rollup(void **state)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	struct view_test *test = *state;
	struct segment samples, rollup;
	uint64_t random = 73;

	model_add_random(&test->all, &random, 40,
			 (uint64_t[]){ FIRST_SLOT, FIRST_SLOT + SLOTS_PER_HOUR });
	samples = segment_of(&test->all, test->arena);
	assert_ok(segment_builder_new(&builder));
	assert_ok(segment_builder_add_rollup(builder, &samples, SLOTS_PER_HOUR));
	assert_ok(segment_builder_finish(builder, test->arena, &rollup));
	view_add_segment(test, &rollup,
			 &(struct segment_part){ .first_slot = FIRST_SLOT,
						 .end_slot = FIRST_SLOT + SLOTS_PER_HOUR,
						 .samples_removed = true });
	assert_counts(test, (uint64_t[]){ FIRST_SLOT, FIRST_SLOT + SLOTS_PER_HOUR });
}

int main(void)
{
#define VIEW_TEST(name) cmocka_unit_test_setup_teardown(name, view_setup, view_teardown)
	const struct CMUnitTest tests[] = {
		VIEW_TEST(processes_and_hosts_of_all_parts_are_counted_once),
		VIEW_TEST(those_of_segments_of_format_1_too),
		VIEW_TEST(those_of_segments_in_memory_too),
		VIEW_TEST(each_service_and_event_type_is_listed),
		VIEW_TEST(known_event_types_have_room_beside_many_others),
		VIEW_TEST(removed_samples_are_counted_by_their_rollup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
