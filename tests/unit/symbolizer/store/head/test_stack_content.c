/* SPDX-License-Identifier: Apache-2.0 */
/* Agents share the rows of equal stacks, and of no others. */
#include "tests/unit/symbolizer/store/head/head_fixture.h"

#define SLOT UINT64_C(9000000)

/* A batch of one process with one stack: a frame in each of two executables. */
struct sent {
	struct batch batch;
	struct batch_executable executables[2];
	struct load_segment segment;
	struct batch_process process;
	struct batch_series series;
	struct batch_frame frames[2];
	struct batch_stack stack;
	struct batch_row row;
};

static void make_batch(struct sent *sent, uint8_t agent)
{
	*sent = (struct sent){
		.executables = { { .number = 1, .name = "web", .id = { .kind = 1, .size = 4 } },
				 { .number = 2, .name = "libc", .id = { .kind = 1, .size = 5 } } },
		.segment = { .file_offset = 0, .vaddr = 0x1000, .file_size = 0x100 },
		.process = { .number = 1, .pid = agent, .name = "web", .executable_path = "/web" },
		.series = { .number = 1,
			    .process = 1,
			    .tid = agent,
			    .thread_name = "web",
			    .type = EVENT_ON_CPU,
			    .cpu = -1,
			    .period_ns = 1 },
		.frames = { { 1, 2, 0x20 }, { 1, 1, 0x10 } },
		.row = { .series = 1, .stack = 1, .slot = SLOT, .value = 1 },
	};
	sent->stack = (struct batch_stack){ 1, 0, 2, sent->frames };
	sent->batch = (struct batch){
		.agent_id = { { agent } },
		.epoch = 1,
		.host = HEAD_HOST,
		.executables = sent->executables,
		.n_executables = 2,
		.processes = &sent->process,
		.n_processes = 1,
		.series = &sent->series,
		.n_series = 1,
		.stacks = &sent->stack,
		.n_stacks = 1,
		.rows = &sent->row,
		.n_rows = 1,
	};
}

static int setup(void **state)
{
	return setup_with(state, SLOT, 64 * MIB, 16 * MIB, 10);
}

static void store(struct fixture *fixture, const struct batch *batch)
{
	assert_int_equal(add(fixture, batch), STORE_STORED);
}

/* The only segment. Its rows are in the order in which the series were added. */
static struct segment take(struct fixture *fixture)
{
	struct head_segment taken;
	struct segment segment;

	assert_int_equal(head_take(fixture->head, UINT64_MAX, &taken), 1);
	assert_ok(segment_builder_finish(taken.builder, fixture->arena, &segment));
	(void)segment_builder_free(taken.builder);
	assert_int_equal(head_take(fixture->head, UINT64_MAX, &taken), 0);
	return segment;
}

/* The name of the executable of the leaf of the stack of a row. */
static void assert_leaf(const struct segment *segment, size_t row, const char *name)
{
	const uint64_t *const *column = segment->column;
	uint64_t node = column[STACK_NODE][column[ROW_STACK][row] - 1] - 1;
	uint64_t object = column[FRAME_OBJECT][column[NODE_FRAME][node]] - 1;
	struct bytes_view text = segment_text(segment, column[OBJECT_NAME][object]);

	assert_bytes_equal_text(&text, name);
}

static void equal_stacks_of_two_agents_are_one_row(void **state)
{
	struct fixture *fixture = *state;
	struct sent a, b;
	struct segment segment;

	make_batch(&a, 1);
	make_batch(&b, 2);
	/* Agents number their executables in any order. */
	b.executables[0].number = b.frames[1].object = 7;
	b.stack.number = b.row.stack = 9;
	store(fixture, &a.batch);
	store(fixture, &b.batch);
	segment = take(fixture);
	assert_int_equal(segment.count[SEGMENT_STACK], 1);
	assert_int_equal(segment.count[SEGMENT_NODE], 2);
	assert_int_equal(segment.column[ROW_STACK][0], segment.column[ROW_STACK][1]);
	/* Also after a flush, without definitions. */
	a.batch.n_stacks = b.batch.n_stacks = 0;
	store(fixture, &b.batch);
	store(fixture, &a.batch);
	segment = take(fixture);
	assert_int_equal(segment.count[SEGMENT_STACK], 1);
	assert_leaf(&segment, 0, "libc");
	assert_leaf(&segment, 1, "libc");
}

/* Changes one thing of a batch of the second agent. */
typedef void (*change)(struct sent *sent);

static void change_id(struct sent *sent)
{
	sent->executables[1].id.bytes[4] = 1;
}
static void change_name(struct sent *sent)
{
	sent->executables[1].name = "libm";
}
static void change_role(struct sent *sent)
{
	sent->executables[1].role = ROLE_KERNEL;
}
static void change_address(struct sent *sent)
{
	sent->frames[0].address++;
}
static void change_kind(struct sent *sent)
{
	sent->frames[0].kind = 2;
}
static void change_cut(struct sent *sent)
{
	sent->stack.cut = 1;
}
static void change_depth(struct sent *sent)
{
	sent->stack.n_frames = 1;
}

static void change_segments(struct sent *sent)
{
	sent->executables[1].segments = &sent->segment;
	sent->executables[1].n_segments = 1;
}

static void stacks_that_differ_in_anything_are_two_rows(void **state)
{
	static const change changes[] = {
		change_id,      change_name, change_role,  change_cut,
		change_address, change_kind, change_depth, change_segments
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct sent a, b;

		make_batch(&a, 1);
		make_batch(&b, 2);
		changes[i](&b);
		store(fixture, &a.batch);
		store(fixture, &b.batch);
		assert_int_equal(take(fixture).count[SEGMENT_STACK], 2);
	}
}

static void an_executable_that_changes_gives_later_rows_another_stack(void **state)
{
	struct fixture *fixture = *state;
	struct sent a, b;
	struct segment segment;

	make_batch(&a, 1);
	make_batch(&b, 2);
	store(fixture, &a.batch);
	a.executables[1].name = "libm";
	a.batch.n_stacks = 0;
	store(fixture, &a.batch);
	store(fixture, &b.batch);
	segment = take(fixture);
	assert_int_equal(segment.count[SEGMENT_STACK], 2);
	assert_int_equal(segment.count[SEGMENT_ROW], 3);
	assert_int_not_equal(segment.column[ROW_STACK][0], segment.column[ROW_STACK][1]);
	assert_leaf(&segment, 2, "libc");
	/* In the next segment there is nothing of the executable before. */
	a.batch.n_executables = 0;
	store(fixture, &a.batch);
	segment = take(fixture);
	assert_leaf(&segment, 0, "libm");
	assert_int_equal(segment.count[SEGMENT_OBJECT], 2);
}

static void a_stack_number_that_is_defined_again_is_the_new_stack(void **state)
{
	struct fixture *fixture = *state;
	struct sent a;
	struct segment segment;

	make_batch(&a, 1);
	store(fixture, &a.batch);
	a.frames[0] = (struct batch_frame){ 1, 1, 0x30 };
	store(fixture, &a.batch);
	segment = take(fixture);
	assert_int_equal(segment.count[SEGMENT_STACK], 2);
	assert_int_not_equal(segment.column[ROW_STACK][0], segment.column[ROW_STACK][1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(equal_stacks_of_two_agents_are_one_row),
		TEST(stacks_that_differ_in_anything_are_two_rows),
		TEST(an_executable_that_changes_gives_later_rows_another_stack),
		TEST(a_stack_number_that_is_defined_again_is_the_new_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
