/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/event/off_cpu/wait_rows.h"

#include "bpf/abi/mapping.h"
#include "common/frame.h"
#include "common/limits.h"
#include "tests/support/collector_parts.h"

#define PID  5000002u
#define HASH UINT64_C(77)

struct fixture {
	struct collector_parts parts;
	struct wait_rows rows;
	uint64_t sequence;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	collector_parts_init(&fixture->parts);
	assert_ok(wait_rows_init(&fixture->rows, fixture->parts.collector, true));
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	wait_rows_release(&fixture->rows, fixture->parts.collector);
	collector_parts_release(&fixture->parts);
	free(fixture);
	return 0;
}

static struct abi_sample wait_until(uint64_t time_ns, uint64_t duration_ns)
{
	return (struct abi_sample){
		.time_ns = time_ns,
		.stack_hash = HASH,
		.start_time_ns = NSEC_PER_SEC,
		.value = duration_ns,
		.pid = PID,
		.tid = PID + 1,
		.parent_pid = 1,
		.cpu = 3,
		.n_user_frames = 1,
		.event_type = EVENT_OFF_CPU,
		.comm = "worker",
		.process_comm = "server",
	};
}

/* Adds the stack of a wait that begins. */
static void define(struct fixture *fixture, uint64_t time_ns)
{
	struct abi_sample sample = wait_until(time_ns, 0);
	const struct abi_frame frame = { .address = 0x500, .executable = 1, .kind = FRAME_KERNEL };

	sample.n_kernel_frames = 1;
	sample.n_user_frames = 0;
	sample.flags = ABI_SAMPLE_FULL | ABI_SAMPLE_DEFINITION;
	assert_ok(collector_add(fixture->parts.collector, &sample, &frame));
}

static void add(struct fixture *fixture, struct abi_sample sample)
{
	assert_ok(collector_add(fixture->parts.collector, &sample, NULL));
}

static struct window close_window(struct fixture *fixture)
{
	struct window window = { .sequence = ++fixture->sequence };

	assert_ok(collector_close(fixture->parts.collector, &window));
	return window;
}

static void a_definition_adds_a_stack_and_counts_no_sample(void **state)
{
	struct fixture *fixture = *state;
	struct collector_stats stats;
	struct window window;

	define(fixture, NSEC_PER_SEC);
	collector_stats(fixture->parts.collector, &stats);
	assert_int_equal(stats.samples, 0);
	window = close_window(fixture);
	assert_int_equal(window.n_rows, 0);
	assert_int_equal(window.n_series, 0);

	add(fixture, wait_until(2 * NSEC_PER_SEC, 5 * NSEC_PER_MSEC));
	window = close_window(fixture);
	assert_int_equal(window.n_rows, 1);
	assert_int_equal(window.n_stacks, 1);
	assert_int_equal(window.rows[0].stack, window.stacks[0].number);
	collector_stats(fixture->parts.collector, &stats);
	assert_int_equal(stats.stacks_lost, 0);
}

static void a_wait_has_one_row_per_second_in_the_slot_where_the_second_ends(void **state)
{
	static const struct {
		uint64_t end_ns, duration_ns;
		size_t n_rows;
		uint64_t slots[4], values[4];
	} cases[] = {
		{ 100 * SLOT_NS + 1, 3000000, 1, { 100 }, { 3000000 } },
		/* The wait ends before the first nanosecond of slot 100, so in slot 99. */
		{ 100 * SLOT_NS, 3000000, 1, { 99 }, { 3000000 } },
		{ 500 * SLOT_NS, NSEC_PER_SEC, 1, { 499 }, { NSEC_PER_SEC } },
		{ 500 * SLOT_NS,
		  2500 * NSEC_PER_MSEC,
		  3,
		  { 499, 399, 299 },
		  { NSEC_PER_SEC, NSEC_PER_SEC, 500 * NSEC_PER_MSEC } },
		{ 500 * SLOT_NS, 0, 0, {}, {} },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct window window;

		define(fixture, 1);
		add(fixture, wait_until(cases[i].end_ns, cases[i].duration_ns));
		window = close_window(fixture);
		assert_int_equal(window.n_rows, cases[i].n_rows);
		for (size_t row = 0; row < cases[i].n_rows; row++) {
			assert_int_equal(window.rows[row].slot, cases[i].slots[row]);
			assert_int_equal(window.rows[row].value, cases[i].values[row]);
		}
	}
}

static void values_are_ns_and_the_cpu_is_where_the_wait_began(void **state)
{
	struct fixture *fixture = *state;
	struct window window;

	define(fixture, 1);
	add(fixture, wait_until(NSEC_PER_SEC, 1234567));
	window = close_window(fixture);
	assert_int_equal(window.n_series, 1);
	assert_int_equal(window.series[0].type, EVENT_OFF_CPU);
	assert_int_equal(window.series[0].period_ns, 0);
	assert_int_equal(window.series[0].cpu, 3);
	assert_string_equal(window.series[0].thread_name, "worker");
	assert_int_equal(window.rows[0].value, 1234567);
}

/* The walk over waiting threads does this in every window. */
static void a_stack_that_is_touched_in_every_window_stays_known(void **state)
{
	struct fixture *fixture = *state;
	struct collector_stats stats;
	struct window window;

	define(fixture, 1);
	for (uint64_t i = 1; i <= 5; i++) {
		struct abi_sample touch = wait_until(i * NSEC_PER_SEC, 0);

		touch.flags = ABI_SAMPLE_DEFINITION;
		add(fixture, touch);
		window = close_window(fixture);
		assert_int_equal(window.n_rows, 0);
	}
	add(fixture, wait_until(6 * NSEC_PER_SEC, 6 * NSEC_PER_SEC - 1));
	window = close_window(fixture);
	assert_int_equal(window.n_rows, 6);
	assert_int_not_equal(window.rows[0].stack, 0);
	collector_stats(fixture->parts.collector, &stats);
	assert_int_equal(stats.stacks_lost, 0);
}

static void a_wait_that_stands_for_skipped_ones_gets_their_time(void **state)
{
	struct fixture *fixture = *state;
	const struct abi_wait wait = { .others_ns = 9 * NSEC_PER_MSEC,
				       .weight_shift = 4,
				       .site = 5 };
	struct abi_sample sample = wait_until(NSEC_PER_SEC, NSEC_PER_MSEC);
	struct window window;

	define(fixture, 1);
	sample.flags = ABI_SAMPLE_WITH_WAIT;
	assert_ok(
		collector_add(fixture->parts.collector, &sample, (const struct abi_frame *)&wait));
	/* The same site in another thread has a separate sum. */
	sample.tid++;
	add(fixture, wait_until(NSEC_PER_SEC, NSEC_PER_MSEC));
	window = close_window(fixture);
	assert_int_equal(window.n_rows, 2);
	assert_int_equal(window.rows[0].value, 10 * NSEC_PER_MSEC);
	assert_int_equal(window.rows[1].value, NSEC_PER_MSEC);
}

/* Off-CPU time does not change: it lasts from leaving the CPU to running again. */
static void run_queue_time_is_a_separate_row_with_the_same_stack(void **state)
{
	struct fixture *fixture = *state;
	struct abi_sample sample = wait_until(500 * SLOT_NS, 30 * NSEC_PER_MSEC);
	struct window window;

	define(fixture, 1);
	add(fixture, sample);
	sample.queued_us = 4000;
	add(fixture, sample);
	window = close_window(fixture);
	assert_int_equal(window.n_series, 2);
	assert_int_equal(window.n_rows, 3);
	for (size_t i = 0; i < window.n_rows; i++) {
		bool queued = window.rows[i].value == 4 * NSEC_PER_MSEC;
		const struct window_series *series = &window.series[0];

		if (series->number != window.rows[i].series)
			series = &window.series[1];
		assert_int_equal(series->type, queued ? EVENT_RUN_QUEUE : EVENT_OFF_CPU);
		assert_int_equal(series->cpu, 3);
		assert_int_equal(series->period_ns, 0);
		assert_int_equal(window.rows[i].value, (queued ? 4 : 30) * NSEC_PER_MSEC);
		assert_int_equal(window.rows[i].slot, 499);
		assert_int_equal(window.rows[i].stack, window.stacks[0].number);
	}
}

/* A stack that is walked later takes its kernel frames from there. */
static void frames_are_found_by_hash_for_two_more_windows(void **state)
{
	struct fixture *fixture = *state;
	struct abi_sample sample = wait_until(NSEC_PER_SEC, 0);
	const struct abi_frame frames[] = {
		{ .address = 0x500, .executable = 1, .kind = FRAME_KERNEL },
		{ .address = 0x600, .executable = 1, .kind = FRAME_KERNEL },
		{ .address = 0x700, .executable = 2, .kind = FRAME_NATIVE },
	};
	struct collector_stack stack;

	sample.n_kernel_frames = 2;
	sample.cut = STACK_CUT_READ_FAULT;
	sample.flags = ABI_SAMPLE_FULL | ABI_SAMPLE_DEFINITION;
	assert_false(collector_find_stack(fixture->parts.collector, HASH, &stack));
	assert_ok(collector_add(fixture->parts.collector, &sample, frames));
	for (size_t window = 0; window < 3; window++) {
		assert_true(collector_find_stack(fixture->parts.collector, HASH, &stack));
		assert_int_equal(stack.n_kernel_frames, 2);
		assert_int_equal(stack.n_user_frames, 1);
		assert_int_equal(stack.cut, STACK_CUT_READ_FAULT);
		assert_memory_equal(stack.frames, frames, sizeof(frames));
		(void)close_window(fixture);
	}
	assert_false(collector_find_stack(fixture->parts.collector, HASH, &stack));
}

static void waits_of_an_excluded_process_have_no_rows(void **state)
{
	struct fixture *fixture = *state;
	scoped(pattern_freep) struct pattern *nobody = NULL;
	struct process_rules rules = { .n_sources = 1 };
	struct window window;
	char message[64];
	size_t offset;

	assert_ok(pattern_new("^nobody$", false, message, sizeof(message), &offset, &nobody));
	rules.sources[0] = (struct process_source){ .names = nobody,
						    .excluded_flag = ABI_PROCESS_WITHOUT_OFF_CPU };
	process_table_set_rules(fixture->parts.processes, &rules);
	define(fixture, 1);
	add(fixture, wait_until(NSEC_PER_SEC, NSEC_PER_MSEC));
	window = close_window(fixture);
	assert_int_equal(window.n_rows, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_definition_adds_a_stack_and_counts_no_sample),
		TEST(a_wait_has_one_row_per_second_in_the_slot_where_the_second_ends),
		TEST(values_are_ns_and_the_cpu_is_where_the_wait_began),
		TEST(a_stack_that_is_touched_in_every_window_stays_known),
		TEST(a_wait_that_stands_for_skipped_ones_gets_their_time),
		TEST(run_queue_time_is_a_separate_row_with_the_same_stack),
		TEST(frames_are_found_by_hash_for_two_more_windows),
		TEST(waits_of_an_excluded_process_have_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
