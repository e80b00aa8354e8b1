/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sample/collector.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/abi/mapping.h"
#include "common/frame.h"
#include "tests/support/collector_parts.h"

#define PID 5000001u

/* The flag of a source that excludes processes. */
#define EXCLUDED 1

struct fixture {
	struct collector_parts parts;
	uint64_t sequence;
};

static int setup_with(void **state, bool keep_cpus_apart)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	collector_parts_init(&fixture->parts);
	*collector_fold(fixture->parts.collector, EVENT_ON_CPU) = (struct event_fold){
		.period_ns = 10101010,
		.keep_cpus_apart = keep_cpus_apart,
		.excluded_flag = EXCLUDED,
		.counts_excluded = true,
	};
	*state = fixture;
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, false);
}

static int setup_by_cpu(void **state)
{
	return setup_with(state, true);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	collector_parts_release(&fixture->parts);
	free(fixture);
	return 0;
}

static struct abi_sample sample_at(uint64_t time_ns, uint64_t hash)
{
	struct abi_sample sample = {
		.time_ns = time_ns,
		.stack_hash = hash,
		.start_time_ns = NSEC_PER_SEC,
		.value = 1,
		.pid = PID,
		.tid = PID,
		.parent_pid = 1,
		.event_type = EVENT_ON_CPU,
		.comm = "main",
		.process_comm = "server",
	};

	return sample;
}

/* Kernel frames of executable 1, which exists without any process. */
static void add_full(struct fixture *fixture, struct abi_sample sample, uint64_t leaf)
{
	struct abi_frame frames[2] = {
		{ .address = leaf, .executable = 1, .kind = FRAME_KERNEL },
		{ .address = 0x100, .executable = 1, .kind = FRAME_KERNEL },
	};

	sample.flags |= ABI_SAMPLE_FULL;
	sample.n_kernel_frames = 2;
	assert_ok(collector_add(fixture->parts.collector, &sample, frames));
}

static void add_hash(struct fixture *fixture, struct abi_sample sample)
{
	sample.n_kernel_frames = 2;
	assert_ok(collector_add(fixture->parts.collector, &sample, NULL));
}

static struct window close_window(struct fixture *fixture)
{
	struct window window = { .sequence = ++fixture->sequence };

	assert_ok(collector_close(fixture->parts.collector, &window));
	return window;
}

static void a_sample_becomes_a_row_of_its_slot_with_its_definitions(void **state)
{
	struct fixture *fixture = *state;
	struct window window;

	add_full(fixture, sample_at(1234567890, 77), 0x500);
	window = close_window(fixture);
	assert_int_equal(window.n_rows, 1);
	assert_int_equal(window.rows[0].slot, 123);
	assert_int_equal(window.rows[0].value, 1);
	assert_int_equal(window.n_series, 1);
	assert_int_equal(window.rows[0].series, window.series[0].number);
	assert_string_equal(window.series[0].thread_name, "main");
	assert_int_equal(window.series[0].period_ns, 10101010);
	assert_int_equal(window.series[0].cpu, -1);
	assert_int_equal(window.n_processes, 1);
	assert_int_equal(window.series[0].process, window.processes[0].number);
	assert_string_equal(window.processes[0].name, "server");
	assert_int_equal(window.processes[0].start_time_ns, NSEC_PER_SEC);
	assert_int_equal(window.n_stacks, 1);
	assert_int_equal(window.rows[0].stack, window.stacks[0].number);
	assert_int_equal(window.stacks[0].n_frames, 2);
	assert_int_equal(window.stacks[0].frames[0].address, 0x500);
}

static void a_type_without_a_fold_has_a_row_with_the_value_of_each_sample(void **state)
{
	struct fixture *fixture = *state;
	struct abi_sample sample = sample_at(1234567890, 77);
	struct window window;

	sample.event_type = EVENT_MEM_ALLOC;
	sample.value = 4096;
	add_full(fixture, sample, 0x500);
	window = close_window(fixture);
	assert_int_equal(window.n_rows, 1);
	assert_int_equal(window.rows[0].slot, 123);
	assert_int_equal(window.rows[0].value, 4096);
	assert_int_equal(window.rows[0].stack, window.stacks[0].number);
	assert_int_equal(window.series[0].type, EVENT_MEM_ALLOC);
	assert_int_equal(window.series[0].period_ns, 0);
}

/* Counts the rows that are ready when the window closes. */
static void double_rows(void *arg, struct window_row *rows)
{
	for (size_t i = 0; i < *(size_t *)arg; i++)
		rows[i].value *= 2;
}

static int add_two_rows(void *arg, struct collector *collector, const struct folded_sample *sample)
{
	size_t *n_rows = arg;
	size_t index;

	for (size_t i = 0; i < 2; i++) {
		struct window_row row = sample->row;

		row.value += i;
		assert_ok(collector_add_row(collector, &row, &index));
		assert_int_equal(index, (*n_rows)++);
	}
	return 0;
}

static void a_fold_may_add_several_rows_and_change_them_before_the_window_closes(void **state)
{
	struct fixture *fixture = *state;
	struct abi_sample sample = sample_at(0, 77);
	struct window window;
	size_t n_rows = 0;

	*collector_fold(fixture->parts.collector, EVENT_RDMA) = (struct event_fold){
		.add = add_two_rows,
		.finish = double_rows,
		.arg = &n_rows,
	};
	sample.event_type = EVENT_RDMA;
	sample.value = 10;
	add_full(fixture, sample, 0x500);
	window = close_window(fixture);
	assert_int_equal(window.n_rows, 2);
	assert_int_equal(window.rows[0].value, 20);
	assert_int_equal(window.rows[1].value, 22);
	assert_int_equal(window.n_series, 1);
}

static const char *name_of_row(const struct window *window, size_t row)
{
	for (size_t i = 0; i < window->n_series; i++) {
		if (window->series[i].number != window->rows[row].series)
			continue;
		for (size_t k = 0; k < window->n_processes; k++) {
			if (window->processes[k].number == window->series[i].process)
				return window->processes[k].name;
		}
	}
	fail_msg("row %zu has no process", row);
	return "";
}

/* The process became another program without an event; its samples have a higher exec count. */
static void an_exec_without_an_event_is_noticed_by_the_next_sample(void **state)
{
	const struct process_event fork = {
		.type = PROCESS_FORKED, .pid = PID, .parent = 1, .time_ns = 1
	};
	struct fixture *fixture = *state;
	struct abi_sample sample = sample_at(100, 77);
	struct collector_stats stats;
	struct window window;

	assert_ok(process_table_apply(fixture->parts.processes, &fork));
	add_full(fixture, sample, 0x500);
	/* The low bits count other changes of code, which are not execs. */
	sample.time_ns = 200;
	sample.exec_count = 1;
	add_full(fixture, sample, 0x500);
	sample.time_ns = 300;
	sample.exec_count = ABI_EXEC_STEP + 1;
	memcpy(sample.process_comm, "client", sizeof("client"));
	add_full(fixture, sample, 0x500);
	sample.time_ns = 400;
	add_full(fixture, sample, 0x500);
	window = close_window(fixture);
	assert_int_equal(window.n_processes, 2);
	assert_int_equal(window.n_rows, 4);
	assert_int_equal(window.rows[0].series, window.rows[1].series);
	assert_int_not_equal(window.rows[1].series, window.rows[2].series);
	assert_int_equal(window.rows[2].series, window.rows[3].series);
	assert_string_equal(name_of_row(&window, 1), "server");
	assert_string_equal(name_of_row(&window, 2), "client");
	collector_stats(fixture->parts.collector, &stats);
	assert_int_equal(stats.execs_missed, 1);
}

static void an_exec_that_was_reported_is_not_missed(void **state)
{
	const struct process_event fork = {
		.type = PROCESS_FORKED, .pid = PID, .parent = 1, .time_ns = 1
	};
	const struct process_event exec = {
		.type = PROCESS_EXECED, .pid = PID, .time_ns = 150, .comm = "client"
	};
	struct fixture *fixture = *state;
	struct abi_sample sample = sample_at(100, 77);
	struct collector_stats stats;

	assert_ok(process_table_apply(fixture->parts.processes, &fork));
	add_full(fixture, sample, 0x500);
	assert_ok(process_table_apply(fixture->parts.processes, &exec));
	/* The kernel reports the exec first, and increases the count a moment later. */
	sample.time_ns = 160;
	add_full(fixture, sample, 0x500);
	sample.time_ns = 170;
	sample.exec_count = ABI_EXEC_STEP;
	add_full(fixture, sample, 0x500);
	/* This sample waited in the kernel for its stack; it was taken before the exec. */
	sample.time_ns = 120;
	sample.exec_count = 0;
	add_full(fixture, sample, 0x500);
	assert_int_equal(close_window(fixture).n_processes, 2);
	collector_stats(fixture->parts.collector, &stats);
	assert_int_equal(stats.execs_missed, 0);
}

static void a_hash_refers_to_the_stack_that_was_sent_in_full(void **state)
{
	struct fixture *fixture = *state;
	struct window window;

	add_full(fixture, sample_at(0, 77), 0x500);
	add_full(fixture, sample_at(0, 78), 0x600);
	add_hash(fixture, sample_at(NSEC_PER_SEC, 77));
	window = close_window(fixture);
	assert_int_equal(window.n_rows, 3);
	assert_int_equal(window.n_stacks, 2);
	assert_int_equal(window.rows[2].stack, window.rows[0].stack);
	assert_int_not_equal(window.rows[1].stack, window.rows[0].stack);
}

/* The executable of this test. */
static struct executable *identify_self(struct fixture *fixture)
{
	scoped_fd int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	const struct mapped_file file = { .pid = (uint32_t)getpid(),
					  .start = (uintptr_t)memory,
					  .end = (uintptr_t)memory + 4096,
					  .path = "/proc/self/exe" };
	struct executable *executable;

	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(executable_cache_identify(fixture->parts.executables, &file, &executable),
			 1);
	return executable;
}

static void samples_count_for_the_executable_of_the_innermost_user_frame(void **state)
{
	struct fixture *fixture = *state;
	const struct executable *self = identify_self(fixture);
	const struct abi_frame frames[] = {
		{ .address = 0x500, .executable = 1, .kind = FRAME_KERNEL },
		{ .address = 0x900, .executable = self->number, .kind = FRAME_NATIVE },
		{ .address = 0xa00, .executable = 4711, .kind = FRAME_NATIVE },
	};
	struct abi_sample sample = sample_at(0, 77);

	sample.flags = ABI_SAMPLE_FULL;
	sample.n_kernel_frames = 1;
	sample.n_user_frames = 2;
	assert_ok(collector_add(fixture->parts.collector, &sample, frames));
	add_full(fixture, sample_at(0, 78), 0x600);
	add_hash(fixture, sample_at(NSEC_PER_SEC, 77));
	(void)close_window(fixture);
	assert_int_equal(self->n_innermost, 2);
	add_hash(fixture, sample_at(2 * NSEC_PER_SEC, 77));
	(void)close_window(fixture);
	assert_int_equal(self->n_innermost, 3);
}

static void a_hash_of_the_two_windows_before_is_known(void **state)
{
	struct fixture *fixture = *state;
	struct collector_stats stats;
	struct window window;
	uint32_t number;

	add_full(fixture, sample_at(0, 77), 0x500);
	window = close_window(fixture);
	number = window.rows[0].stack;
	add_hash(fixture, sample_at(NSEC_PER_SEC, 77));
	window = close_window(fixture);
	assert_int_equal(window.rows[0].stack, number);
	/* Nothing was acknowledged, so the definition is sent again. */
	assert_int_equal(window.n_stacks, 1);

	/* Then one window without the stack, and another use. */
	(void)close_window(fixture);
	add_hash(fixture, sample_at(3 * NSEC_PER_SEC, 77));
	window = close_window(fixture);
	assert_int_equal(window.rows[0].stack, number);
	collector_stats(fixture->parts.collector, &stats);
	assert_int_equal(stats.stacks_lost, 0);

	(void)close_window(fixture);
	(void)close_window(fixture);
	add_hash(fixture, sample_at(6 * NSEC_PER_SEC, 77));
	collector_stats(fixture->parts.collector, &stats);
	assert_int_equal(stats.stacks_lost, 1);
}

static void an_unknown_hash_is_counted_and_its_time_is_kept(void **state)
{
	struct fixture *fixture = *state;
	struct collector_stats stats;
	struct window window;

	add_hash(fixture, sample_at(0, 99));
	window = close_window(fixture);
	assert_int_equal(window.n_rows, 1);
	assert_int_equal(window.rows[0].stack, 0);
	collector_stats(fixture->parts.collector, &stats);
	assert_int_equal(stats.stacks_lost, 1);
}

static void acknowledged_definitions_are_not_sent_again(void **state)
{
	struct fixture *fixture = *state;
	struct window window;

	add_full(fixture, sample_at(0, 77), 0x500);
	window = close_window(fixture);
	definitions_acknowledge(collector_definitions(fixture->parts.collector), window.sequence);
	add_full(fixture, sample_at(NSEC_PER_SEC, 77), 0x500);
	window = close_window(fixture);
	assert_int_equal(window.n_rows, 1);
	assert_int_equal(window.n_stacks, 0);
	assert_int_equal(window.n_series, 0);
	assert_int_equal(window.n_processes, 0);

	collector_forget(fixture->parts.collector, true);
	add_full(fixture, sample_at(2 * NSEC_PER_SEC, 77), 0x500);
	window = close_window(fixture);
	assert_int_equal(window.n_stacks, 1);
	assert_int_equal(window.n_series, 1);
	assert_int_equal(window.n_processes, 1);
}

static void a_renamed_thread_is_a_new_series(void **state)
{
	struct fixture *fixture = *state;
	struct abi_sample sample = sample_at(0, 77);
	struct window window;

	add_full(fixture, sample, 0x500);
	memcpy(sample.comm, "worker", sizeof("worker"));
	add_full(fixture, sample, 0x500);
	window = close_window(fixture);
	assert_int_equal(window.n_series, 2);
	assert_int_not_equal(window.rows[0].series, window.rows[1].series);
	assert_int_equal(window.n_processes, 1);
}

static void cpus_are_distinguished_if_configured(void **state)
{
	struct fixture *fixture = *state;
	struct abi_sample sample = sample_at(0, 77);
	struct window window;

	add_full(fixture, sample, 0x500);
	sample.cpu = 3;
	add_full(fixture, sample, 0x500);
	window = close_window(fixture);
	assert_int_equal(window.n_series, 2);
	assert_int_equal(window.series[0].cpu + window.series[1].cpu, 3);
}

static void a_stack_of_an_excluded_process_is_known_to_others(void **state)
{
	struct fixture *fixture = *state;
	scoped(pattern_freep) struct pattern *nobody = NULL;
	struct process_rules rules = {};
	struct abi_sample other = sample_at(0, 77);
	struct collector_stats stats;
	struct window window;
	char message[64];
	size_t offset;

	assert_ok(pattern_new("^other$", false, message, sizeof(message), &offset, &nobody));
	rules.sources[0] = (struct process_source){ .names = nobody, .excluded_flag = EXCLUDED };
	rules.n_sources = 1;
	process_table_set_rules(fixture->parts.processes, &rules);
	add_full(fixture, sample_at(0, 77), 0x500);
	other.pid = other.tid = PID + 1;
	memcpy(other.process_comm, "other", sizeof("other"));
	add_hash(fixture, other);
	window = close_window(fixture);
	assert_int_equal(window.rows[0].stack, 0);
	assert_int_not_equal(window.rows[1].stack, 0);
	collector_stats(fixture->parts.collector, &stats);
	assert_int_equal(stats.stacks_lost, 0);
}

static void a_process_excluded_by_the_kernel_side_is_counted_without_stack(void **state)
{
	struct fixture *fixture = *state;
	struct abi_sample sample = sample_at(0, 0);
	struct window window;

	sample.flags = ABI_SAMPLE_WITHOUT_STACK;
	assert_ok(collector_add(fixture->parts.collector, &sample, NULL));
	window = close_window(fixture);
	assert_int_equal(window.n_rows, 1);
	assert_int_equal(window.rows[0].stack, 0);
	assert_int_equal(window.n_stacks, 0);
}

static void a_supplement_defines_known_stacks_and_reports_unknown_ones(void **state)
{
	struct fixture *fixture = *state;
	struct window window;
	struct window supplement = {};
	uint32_t stacks[2];

	add_full(fixture, sample_at(0, 77), 0x500);
	window = close_window(fixture);
	definitions_acknowledge(collector_definitions(fixture->parts.collector), window.sequence);
	stacks[0] = window.rows[0].stack;
	stacks[1] = 4711;
	supplement.sequence = ++fixture->sequence;
	assert_ok(collector_supplement(
		fixture->parts.collector,
		&(struct missing_numbers){ .stacks = stacks, .n_stacks = ARRAY_SIZE(stacks) },
		&supplement));
	assert_int_equal(supplement.n_rows, 0);
	assert_int_equal(supplement.n_processes, 1);
	assert_int_equal(supplement.n_series, 1);
	assert_int_equal(supplement.n_stacks, 2);
	assert_int_equal(supplement.stacks[0].n_frames, 2);
	assert_int_equal(supplement.stacks[1].number, 4711);
	assert_int_equal(supplement.stacks[1].n_frames, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_sample_becomes_a_row_of_its_slot_with_its_definitions),
		TEST(a_type_without_a_fold_has_a_row_with_the_value_of_each_sample),
		TEST(a_fold_may_add_several_rows_and_change_them_before_the_window_closes),
		TEST(an_exec_without_an_event_is_noticed_by_the_next_sample),
		TEST(an_exec_that_was_reported_is_not_missed),
		TEST(a_hash_refers_to_the_stack_that_was_sent_in_full),
		TEST(samples_count_for_the_executable_of_the_innermost_user_frame),
		TEST(a_hash_of_the_two_windows_before_is_known),
		TEST(an_unknown_hash_is_counted_and_its_time_is_kept),
		TEST(acknowledged_definitions_are_not_sent_again),
		TEST(a_renamed_thread_is_a_new_series),
		cmocka_unit_test_setup_teardown(cpus_are_distinguished_if_configured, setup_by_cpu,
						teardown),
		TEST(a_stack_of_an_excluded_process_is_known_to_others),
		TEST(a_process_excluded_by_the_kernel_side_is_counted_without_stack),
		TEST(a_supplement_defines_known_stacks_and_reports_unknown_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
