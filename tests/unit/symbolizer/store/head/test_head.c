/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/head/head_fixture.h"

#include "symbolizer/store/segment/segment_sum.h"

#define PERIOD_NS UINT64_C(10000000)
#define RANGE     UINT64_C(90000) /* 15 min */
#define START     (RANGE * 100)

/* A batch with two executables, two processes, a series and a stack of each. */
struct small {
	struct batch batch;
	struct batch_executable executables[2];
	struct batch_process processes[2];
	struct batch_series series[2];
	struct batch_frame frames[3];
	struct batch_stack stacks[2];
	struct batch_row rows[3];
};

static void make_small(struct small *small, uint64_t epoch)
{
	*small = (struct small){
		.executables = { { .number = 1, .name = "web", .id = { .kind = 1, .size = 4 } },
				 { .number = 2, .name = "libc", .id = { .kind = 1, .size = 5 } } },
		.processes = { { .number = 1,
				 .pid = 11,
				 .name = "web",
				 .executable_path = "/web",
				 .main_executable = 1 },
			       { .number = 2, .pid = 12, .name = "db", .executable_path = "/db" } },
		.series = { { .number = 1,
			      .process = 1,
			      .tid = 11,
			      .thread_name = "web",
			      .type = EVENT_ON_CPU,
			      .cpu = -1,
			      .period_ns = PERIOD_NS },
			    { .number = 2,
			      .process = 2,
			      .tid = 12,
			      .thread_name = "db",
			      .type = EVENT_OFF_CPU,
			      .cpu = -1 } },
		.frames = { { 1, 2, 0x30 }, { 1, 1, 0x20 }, { 1, 1, 0x10 } },
		.rows = { { .series = 1, .stack = 1, .slot = START, .value = 1 },
			  { .series = 1, .stack = 2, .slot = START + 5, .value = 2 },
			  { .series = 2, .stack = 0, .slot = START + RANGE, .value = 77 } },
	};
	small->stacks[0] = (struct batch_stack){ 1, 0, 3, small->frames };
	small->stacks[1] = (struct batch_stack){ 2, 0, 2, small->frames + 1 };
	small->batch = (struct batch){
		.epoch = epoch,
		.host = HEAD_HOST,
		.executables = small->executables,
		.n_executables = 2,
		.processes = small->processes,
		.n_processes = 2,
		.series = small->series,
		.n_series = 2,
		.stacks = small->stacks,
		.n_stacks = 2,
		.rows = small->rows,
		.n_rows = 3,
	};
}

/* The same rows without definitions. */
static void make_rows_only(struct small *small, uint64_t epoch)
{
	make_small(small, epoch);
	small->batch.n_executables = 0;
	small->batch.n_processes = 0;
	small->batch.n_series = 0;
	small->batch.n_stacks = 0;
}

static int setup(void **state)
{
	return setup_with(state, RANGE, 64 * MIB, 16 * MIB, 10);
}

static int setup_two_agents(void **state)
{
	return setup_with(state, RANGE, 64 * MIB, 16 * MIB, 2);
}

static int setup_full(void **state)
{
	return setup_with(state, RANGE, 100 * KIB, 16 * MIB, 10);
}

static int setup_few_numbers(void **state)
{
	return setup_with(state, RANGE, 64 * MIB, 64 * KIB, 10);
}

/* All segments of the head, and sums of their rows. */
struct taken {
	struct segment segments[16];
	size_t n_segments, n_rows;
	uint64_t sum;
};

static struct taken take_before(struct fixture *fixture, uint64_t slot)
{
	struct taken taken = {};
	struct head_segment segment;

	while (head_take(fixture->head, slot, &segment) > 0) {
		struct segment_sums sums = {};

		assert_true(taken.n_segments < ARRAY_SIZE(taken.segments));
		assert_ok(segment_builder_finish(segment.builder, fixture->arena,
						 &taken.segments[taken.n_segments]));
		assert_ok(segment_sum_rows(&taken.segments[taken.n_segments], NULL, 1,
					   (uint64_t[]){ 0, UINT64_MAX }, &sums));
		for (size_t i = 0; i < sums.count; i++)
			taken.sum += sums.items[i].value;
		taken.n_rows += taken.segments[taken.n_segments].count[SEGMENT_ROW];
		taken.n_segments++;
		vec_release(&sums);
		(void)segment_builder_free(segment.builder);
	}
	return taken;
}

static const struct segment *segment_named(const struct taken *taken, const char *service)
{
	for (size_t i = 0; i < taken->n_segments; i++) {
		const struct segment *segment = &taken->segments[i];
		struct bytes_view name = segment_text(segment, segment->column[HEAD_SERVICE][0]);

		if (name.size == strlen(service) && memcmp(name.data, service, name.size) == 0)
			return segment;
	}
	fail_msg("no segment of '%s'", service);
	return NULL;
}

static void assert_text(const struct segment *segment, uint64_t row, const char *expected)
{
	struct bytes_view text = segment_text(segment, row);

	assert_bytes_equal_text(&text, expected);
}

static void rows_are_divided_by_service_event_and_time(void **state)
{
	struct fixture *fixture = *state;
	const struct segment *web, *db;
	struct small small;
	struct taken taken;

	make_small(&small, 1);
	assert_int_equal(add(fixture, &small.batch), STORE_STORED);
	small.rows[1].slot = START + RANGE + 1;
	assert_int_equal(add(fixture, &small.batch), STORE_STORED);
	taken = take_before(fixture, UINT64_MAX);
	assert_int_equal(taken.n_segments, 3);
	assert_int_equal(taken.n_rows, 6);
	assert_int_equal(taken.sum, 2 * (3 * PERIOD_NS + 77));
	db = segment_named(&taken, "db");
	web = segment_named(&taken, "web");
	assert_text(db, db->column[HEAD_EVENT][0], "off-cpu");
	assert_text(web, web->column[HEAD_EVENT][0], "on-cpu");
	assert_int_equal(db->count[SEGMENT_STACK], 0);
	assert_int_equal(db->column[ROW_STACK][0], 0);
}

static void a_segment_has_the_definitions_of_its_rows(void **state)
{
	struct fixture *fixture = *state;
	const struct segment *web;
	struct small small;
	struct taken taken;
	uint64_t node, frame;

	make_small(&small, 1);
	assert_int_equal(add(fixture, &small.batch), STORE_STORED);
	taken = take_before(fixture, UINT64_MAX);
	web = segment_named(&taken, "web");
	assert_int_equal(web->count[SEGMENT_NODE], 3);
	assert_int_equal(web->count[SEGMENT_STACK], 2);
	assert_int_equal(web->count[SEGMENT_OBJECT], 2);
	assert_int_equal(web->column[PROCESS_PID][0], 11);
	assert_text(web, web->column[HOST_NAME][0], "host");
	assert_text(web, web->column[PROCESS_EXECUTABLE_PATH][0], "/web");
	/* The deeper stack is the last one; its leaf is in libc. */
	node = web->column[STACK_NODE][1] - 1;
	frame = web->column[NODE_FRAME][node];
	assert_int_equal(web->column[FRAME_POSITION][frame], 0x30);
	assert_text(web, web->column[OBJECT_NAME][web->column[FRAME_OBJECT][frame] - 1], "libc");
	node = web->column[NODE_PARENT][node] - 1;
	assert_int_equal(web->column[STACK_NODE][0] - 1, node);
}

static void definitions_of_earlier_batches_are_used(void **state)
{
	struct fixture *fixture = *state;
	struct small first, second;
	struct taken taken;

	make_small(&first, 1);
	make_rows_only(&second, 1);
	assert_int_equal(add(fixture, &first.batch), STORE_STORED);
	(void)take_before(fixture, UINT64_MAX);
	assert_int_equal(add(fixture, &second.batch), STORE_STORED);
	taken = take_before(fixture, UINT64_MAX);
	assert_int_equal(taken.n_rows, 3);
	assert_int_equal(segment_named(&taken, "web")->count[SEGMENT_NODE], 3);
}

static void a_batch_with_unknown_numbers_adds_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct small small;

	make_rows_only(&small, 1);
	assert_int_equal(add(fixture, &small.batch), STORE_NEEDS_NUMBERS);
	assert_int_equal(fixture->missing.n_series, 2);
	assert_int_equal(fixture->missing.n_stacks, 2);
	assert_int_equal(fixture->missing.stacks[0], 1);
	assert_int_equal(fixture->missing.stacks[1], 2);
	assert_int_equal(take_before(fixture, UINT64_MAX).n_rows, 0);
}

static void numbers_to_which_definitions_refer_are_asked_for(void **state)
{
	struct fixture *fixture = *state;
	struct small small;

	make_small(&small, 1);
	small.frames[0].object = FRAME_CODE_OBJECT | 9;
	small.batch.n_executables = 1;
	small.processes[1].main_executable = 2;
	assert_int_equal(add(fixture, &small.batch), STORE_NEEDS_NUMBERS);
	assert_int_equal(fixture->missing.n_code_objects, 1);
	assert_int_equal(fixture->missing.code_objects[0], 9);
	assert_int_equal(fixture->missing.n_executables, 1);
	assert_int_equal(fixture->missing.executables[0], 2);
	/* The agent sends the batch again with the definition of process 2. */
	assert_int_equal(fixture->missing.n_processes, 0);
}

static void numbers_of_two_epochs_are_different(void **state)
{
	struct fixture *fixture = *state;
	struct small first, second;
	struct taken taken;

	make_small(&first, 1);
	make_small(&second, 2);
	second.frames[0].address = 0x99;
	assert_int_equal(add(fixture, &first.batch), STORE_STORED);
	assert_int_equal(add(fixture, &second.batch), STORE_STORED);
	taken = take_before(fixture, UINT64_MAX);
	assert_int_equal(segment_named(&taken, "web")->count[SEGMENT_SERIES], 1);
	assert_int_equal(segment_named(&taken, "web")->count[SEGMENT_STACK], 3);
}

static void a_process_defined_again_has_its_new_name(void **state)
{
	struct fixture *fixture = *state;
	struct small small;
	struct taken taken;

	make_small(&small, 1);
	assert_int_equal(add(fixture, &small.batch), STORE_STORED);
	small.processes[0].executable_path = "/usr/bin/web";
	assert_int_equal(add(fixture, &small.batch), STORE_STORED);
	small.processes[0].name = "other";
	small.batch.n_series = 0;
	assert_int_equal(add(fixture, &small.batch), STORE_STORED);
	taken = take_before(fixture, UINT64_MAX);
	assert_int_equal(segment_named(&taken, "web")->count[SEGMENT_PROCESS], 2);
	assert_int_equal(segment_named(&taken, "web")->count[SEGMENT_ROW], 4);
	assert_int_equal(segment_named(&taken, "other")->count[SEGMENT_ROW], 2);
}

static void only_segments_before_a_slot_are_taken(void **state)
{
	struct fixture *fixture = *state;
	struct small small;

	make_small(&small, 1);
	assert_int_equal(add(fixture, &small.batch), STORE_STORED);
	assert_int_equal(take_before(fixture, START + RANGE - 1).n_rows, 0);
	assert_int_equal(take_before(fixture, START + RANGE).n_rows, 2);
	assert_int_equal(take_before(fixture, UINT64_MAX).n_rows, 1);
}

static void a_full_head_takes_batches_again_after_its_segments_were_taken(void **state)
{
	struct fixture *fixture = *state;
	unsigned int n_stored = 0;
	struct small small;
	int r;

	make_small(&small, 1);
	while ((r = add(fixture, &small.batch)) == STORE_STORED)
		assert_in_range(++n_stored, 1, 100000);
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(take_before(fixture, UINT64_MAX).n_rows, 3 * n_stored);
	assert_int_equal(add(fixture, &small.batch), STORE_STORED);
}

static void full_numbers_are_dropped_and_asked_for_again(void **state)
{
	struct fixture *fixture = *state;
	struct small first, next;
	int r = STORE_STORED;

	make_small(&first, 1);
	assert_int_equal(add(fixture, &first.batch), STORE_STORED);
	make_small(&next, 1);
	next.batch.n_rows = 0;
	for (uint32_t i = 3; i < 5000 && r == STORE_STORED; i++) {
		next.stacks[0].number = i;
		next.frames[0].address = i;
		r = add(fixture, &next.batch);
	}
	assert_int_equal(r, STORE_STORED);
	make_rows_only(&next, 1);
	assert_int_equal(add(fixture, &next.batch), STORE_NEEDS_NUMBERS);
	assert_int_equal(fixture->missing.stacks[0], 1);
	assert_int_equal(add(fixture, &first.batch), STORE_STORED);
}

static void the_agent_used_least_recently_is_dropped(void **state)
{
	struct fixture *fixture = *state;
	struct small small;

	for (uint64_t epoch = 1; epoch <= 2; epoch++) {
		make_small(&small, epoch);
		assert_int_equal(add(fixture, &small.batch), STORE_STORED);
	}
	make_rows_only(&small, 1);
	assert_int_equal(add(fixture, &small.batch), STORE_STORED);
	make_small(&small, 3);
	assert_int_equal(add(fixture, &small.batch), STORE_STORED);
	make_rows_only(&small, 1);
	assert_int_equal(add(fixture, &small.batch), STORE_STORED);
	make_rows_only(&small, 2);
	assert_int_equal(add(fixture, &small.batch), STORE_NEEDS_NUMBERS);
}

static void code_objects_event_types_and_labels_are_kept(void **state)
{
	struct fixture *fixture = *state;
	struct batch_event_type type = { .name = "io", .unit = "bytes", .kind = EVENT_VALUE_SUM };
	struct batch_code_object code = { .number = 7,
					  .language = "python",
					  .function = "f",
					  .qualified_name = "m.f",
					  .file = "m.py" };
	struct label label = { .name = "device", .value = "sda" };
	const struct segment *web;
	struct small small;
	struct taken taken;

	make_small(&small, 1);
	small.batch.code_objects = &code;
	small.batch.n_code_objects = 1;
	small.frames[0] = (struct batch_frame){ 200, FRAME_CODE_OBJECT | 7, 3 };
	small.series[0].type = EVENT_NONE;
	small.series[0].described = &type;
	small.series[0].labels = &label;
	small.series[0].n_labels = 1;
	assert_int_equal(add(fixture, &small.batch), STORE_STORED);
	taken = take_before(fixture, UINT64_MAX);
	web = segment_named(&taken, "web");
	assert_text(web, web->column[HEAD_EVENT][0], "io");
	assert_int_equal(web->column[HEAD_EVENT_KIND][0], EVENT_VALUE_SUM);
	assert_text(web, web->column[LABEL_VALUE][web->column[SERIES_LABELS][0] - 1], "sda");
	assert_int_equal(web->column[FRAME_KIND][2], 200);
	assert_text(web, web->column[OBJECT_NAME][web->column[FRAME_OBJECT][2] - 1], "f");
}

static void rows_of_empty_definitions_are_left_out(void **state)
{
	struct fixture *fixture = *state;
	struct small small;

	make_small(&small, 1);
	small.series[1] = (struct batch_series){ .number = 2, .thread_name = "" };
	assert_int_equal(add(fixture, &small.batch), STORE_STORED);
	assert_int_equal(take_before(fixture, UINT64_MAX).n_rows, 2);
}

/* Finds the segment of a service in memory. Returns the number of segments that it has. */
static size_t find(struct fixture *fixture, const char *service, struct head_segment *ret_segment)
{
	struct head_segment segment;
	size_t cursor = 0, count = 0;

	while (head_next(fixture->head, &cursor, &segment)) {
		assert_true(segment_builder_has_text(segment.builder, HEAD_TENANT, "default"));
		if (!segment_builder_has_text(segment.builder, HEAD_SERVICE, service))
			continue;
		*ret_segment = segment;
		count++;
	}
	return count;
}

static void segments_in_memory_have_service_and_time(void **state)
{
	struct fixture *fixture = *state;
	struct head_segment segment;
	struct small small;

	make_small(&small, 1);
	assert_int_equal(add(fixture, &small.batch), STORE_STORED);
	assert_int_equal(find(fixture, "nothing", &segment), 0);
	assert_int_equal(find(fixture, "db", &segment), 1);
	assert_int_equal(segment.first_slot, START + RANGE);
	assert_int_equal(segment.end_slot, START + 2 * RANGE);
	assert_int_equal(find(fixture, "web", &segment), 1);
	assert_int_equal(segment_builder_count(segment.builder, SEGMENT_ROW), 2);
}

static void a_segment_is_found_until_it_is_taken(void **state)
{
	struct fixture *fixture = *state;
	struct head_segment segment, taken;
	struct small small;

	make_small(&small, 1);
	assert_int_equal(add(fixture, &small.batch), STORE_STORED);
	assert_int_equal(find(fixture, "web", &segment), 1);
	assert_ptr_equal(head_find(fixture->head, segment.id), segment.builder);
	assert_int_equal(head_take(fixture->head, START + RANGE, &taken), 1);
	assert_null(head_find(fixture->head, segment.id));
	(void)segment_builder_free(taken.builder);
	/* Rows of a later batch are in a segment with another ID. */
	make_rows_only(&small, 1);
	small.batch.sequence = 1;
	assert_int_equal(add(fixture, &small.batch), STORE_STORED);
	assert_null(head_find(fixture->head, segment.id));
}

/* Rows of one process in @n ranges of time. */
static int add_ranges(struct fixture *fixture, uint32_t n)
{
	scoped_free struct batch_row *rows = calloc(n, sizeof(*rows));
	struct small small;

	assert_non_null(rows);
	make_small(&small, 1);
	for (uint32_t i = 0; i < n; i++)
		rows[i] = (struct batch_row){ .series = 1, .slot = START + i * RANGE, .value = 1 };
	small.batch.rows = rows;
	small.batch.n_rows = n;
	return add(fixture, &small.batch);
}

static void a_batch_with_rows_of_too_many_segments_is_refused(void **state)
{
	struct fixture *fixture = *state;

	assert_errno(add_ranges(fixture, HEAD_MAX_SEGMENTS / 2 + 1), -EFBIG);
	assert_int_equal(add_ranges(fixture, HEAD_MAX_SEGMENTS / 2), STORE_STORED);
	assert_false(head_is_full(fixture->head));
	assert_in_range(head_bytes(fixture->head) / (HEAD_MAX_SEGMENTS / 2), 4 * KIB, 16 * KIB);
	assert_int_equal(add_ranges(fixture, 1), STORE_STORED);
	assert_true(head_is_half_full(fixture->head));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(rows_are_divided_by_service_event_and_time),
		TEST(a_segment_has_the_definitions_of_its_rows),
		TEST(definitions_of_earlier_batches_are_used),
		TEST(a_batch_with_unknown_numbers_adds_nothing),
		TEST(numbers_to_which_definitions_refer_are_asked_for),
		TEST(numbers_of_two_epochs_are_different),
		TEST(a_process_defined_again_has_its_new_name),
		TEST(only_segments_before_a_slot_are_taken),
		TEST(a_batch_with_rows_of_too_many_segments_is_refused),
		cmocka_unit_test_setup_teardown(
			a_full_head_takes_batches_again_after_its_segments_were_taken, setup_full,
			teardown),
		cmocka_unit_test_setup_teardown(full_numbers_are_dropped_and_asked_for_again,
						setup_few_numbers, teardown),
		cmocka_unit_test_setup_teardown(the_agent_used_least_recently_is_dropped,
						setup_two_agents, teardown),
		TEST(code_objects_event_types_and_labels_are_kept),
		TEST(rows_of_empty_definitions_are_left_out),
		TEST(segments_in_memory_have_service_and_time),
		TEST(a_segment_is_found_until_it_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
