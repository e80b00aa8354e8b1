/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/segment_view/view_fixture.h"

static const uint64_t two_hours[2] = { FIRST_SLOT, FIRST_SLOT + 2 * SLOTS_PER_HOUR };

static void add_two_hours_as(struct view_test *test, enum part_form form)
{
	uint64_t random = 11;

	for (unsigned int i = 0; i < 2; i++) {
		const uint64_t hour[2] = { FIRST_SLOT + i * SLOTS_PER_HOUR,
					   FIRST_SLOT + (i + 1) * SLOTS_PER_HOUR };
		struct model model = {};

		model_add_random(&model, &random, 400, hour);
		view_add_model(test, &model, form, NULL);
		vec_release(&model);
	}
}

static void add_two_hours(struct view_test *test)
{
	add_two_hours_as(test, PART_ENCODED);
}

static void assert_first_and_last_slots(struct view_test *test, enum part_form form)
{
	add_two_hours_as(test, form);
	view_select(test, two_hours);
	assert_int_equal(test->n_series, 3 * 5 * 3); /* hosts, processes, threads */
	for (size_t i = 0; i < test->n_series; i++) {
		const struct store_series *series = &test->series[i];
		uint64_t first = UINT64_MAX, last = 0;

		for (size_t k = 0; k < test->all.count; k++) {
			const struct model_row *row = &test->all.items[k];

			if (row->host != host_number(series) ||
			    row->process != process_number(series) ||
			    row->thread != thread_number(series))
				continue;
			first = MIN(first, row->slot);
			last = MAX(last, row->slot);
		}
		assert_int_equal(series->first_slot, first);
		assert_int_equal(series->last_slot, last);
	}
}

static void a_series_of_two_parts_is_one(void **state)
{
	assert_first_and_last_slots(*state, PART_ENCODED);
}

static void series_of_segments_of_format_1_have_the_times_of_their_rows(void **state)
{
	assert_first_and_last_slots(*state, PART_OLD);
}

static void series_of_segments_in_memory_have_the_times_of_their_rows(void **state)
{
	assert_first_and_last_slots(*state, PART_DECODED);
}

static void series_have_their_attributes(void **state)
{
	struct view_test *test = *state;

	add_two_hours(test);
	view_select(test, two_hours);
	for (size_t i = 0; i < test->n_series; i++) {
		const struct store_series *series = &test->series[i];
		const struct store_process *process = series->process;
		char text[32];

		(void)snprintf(text, sizeof(text), "thread%u", thread_number(series));
		assert_string_equal(series->thread_name, text);
		assert_int_equal(series->cpu, -1);
		assert_int_equal(series->period_ns,
				 thread_number(series) % 2 ? 0 : MODEL_PERIOD_NS);
		assert_string_equal(series->event->name, "event1");
		assert_int_equal(series->event->kind, EVENT_VALUE_TIME);
		assert_in_range(series->type, EVENT_FIRST_STORED, UINT32_MAX);
		assert_string_equal(process->name, "web0");
		assert_int_equal(process->start_time_ns, 100000000 * (7 - process_number(series)));
		assert_int_equal(process->n_labels, 2);
		assert_string_equal(process->labels[0].name, "name1");
		assert_string_equal(process->labels[1].name, "name2");
		(void)snprintf(text, sizeof(text), "value%u", process_number(series));
		assert_string_equal(process->labels[1].value, text);
		assert_int_equal(process->host->n_labels, 1);
		(void)snprintf(text, sizeof(text), "686f7374%02x", '0' + host_number(series));
		assert_string_equal(process->host->agent_id, text); /* hex of "host0" */
	}
}

static void processes_and_hosts_are_shared(void **state)
{
	struct view_test *test = *state;

	add_two_hours(test);
	view_select(test, two_hours);
	for (size_t i = 0; i < test->n_series; i++) {
		for (size_t k = 0; k < test->n_series; k++) {
			const struct store_series *a = &test->series[i], *b = &test->series[k];
			bool same_host = host_number(a) == host_number(b);
			bool same_process = process_number(a) == process_number(b);

			assert_int_equal(a->process->host == b->process->host, same_host);
			assert_int_equal(a->process == b->process, same_host && same_process);
			/* All processes of one number map the same files. */
			assert_int_equal(a->process->path_set == b->process->path_set,
					 same_process);
		}
	}
}

static void series_without_samples_in_the_range_are_left_out(void **state)
{
	const uint64_t range[2] = { FIRST_SLOT + 100, FIRST_SLOT + 200 };
	struct view_test *test = *state;
	struct model model = {};

	assert_ok(vec_push(&model, (struct model_row){ .process = 0, .slot = range[0] - 1 }));
	assert_ok(vec_push(&model, (struct model_row){ .process = 1, .slot = range[0] }));
	assert_ok(vec_push(&model, (struct model_row){ .process = 2, .slot = range[1] - 1 }));
	assert_ok(vec_push(&model, (struct model_row){ .process = 4, .slot = range[1] }));
	view_add_model(test, &model, PART_ENCODED, NULL);
	view_select(test, range);
	assert_int_equal(test->n_series, 2);
	assert_int_equal(process_number(&test->series[0]) + process_number(&test->series[1]), 3);
	vec_release(&model);
}

static void other_services_types_and_tenants_are_left_out(void **state)
{
	static const struct {
		struct store_series_query query;
		size_t n_series;
	} cases[] = {
		{ {}, 45 },
		{ { .service = "web" }, 45 },
		{ { .service = "we" }, 0 },
		{ { .type = EVENT_ON_CPU }, 0 },
		{ { .type = (enum event_type)EVENT_FIRST_STORED }, 45 },
	};
	const struct segment_view_options options = { .store = { .tenant = "tenant2" },
						      .max_part_bytes = 64 * MIB,
						      .max_bytes = 64 * MIB };
	struct view_test *test = *state;
	struct segment_view *other = NULL;
	struct segment segment;
	struct store_series *series;
	size_t count;

	add_two_hours(test);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_ok(segment_view_find_series(test->view, &cases[i].query, test->arena,
						   &series, &count));
		assert_int_equal(count, cases[i].n_series);
	}
	segment = segment_of(&test->all, test->arena);
	assert_ok(segment_view_new(&options, &other));
	assert_ok(segment_view_add(
		other, &(struct segment_part){ .decoded = &segment, .end_slot = UINT64_MAX }));
	assert_ok(segment_view_find_series(other, &(struct store_series_query){}, test->arena,
					   &series, &count));
	assert_int_equal(count, 0);
	(void)segment_view_free(other);
}

static void event_types_are_found_by_name(void **state)
{
	struct view_test *test = *state;
	struct event_type_info info;

	add_two_hours(test);
	view_select(test, two_hours);
	assert_int_equal(segment_view_find_event_type(test->view, "event1", &info), 1);
	assert_string_equal(info.unit, "ns0");
	assert_int_equal(info.type, test->series[0].type);
	assert_int_equal(segment_view_find_event_type(test->view, "event", &info), 0);
}

int main(void)
{
#define VIEW_TEST(name) cmocka_unit_test_setup_teardown(name, view_setup, view_teardown)
	const struct CMUnitTest tests[] = {
		VIEW_TEST(a_series_of_two_parts_is_one),
		VIEW_TEST(series_of_segments_of_format_1_have_the_times_of_their_rows),
		VIEW_TEST(series_of_segments_in_memory_have_the_times_of_their_rows),
		VIEW_TEST(series_have_their_attributes),
		VIEW_TEST(processes_and_hosts_are_shared),
		VIEW_TEST(series_without_samples_in_the_range_are_left_out),
		VIEW_TEST(other_services_types_and_tenants_are_left_out),
		VIEW_TEST(event_types_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
