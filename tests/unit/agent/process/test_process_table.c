/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/agent/process/process_table_fixture.h"

#include <signal.h>
#include <sys/wait.h>

#include "common/frame.h"

static void a_process_is_named_at_exec(void **state)
{
	struct fixture *fixture = *state;
	struct process *process;

	forked(fixture, 1, PARENT);
	execed(fixture, PARENT, "server");
	process = find(fixture, PARENT);
	assert_string_equal(process->name, "server");
	assert_int_equal(process->number, 1);
	assert_ptr_equal(find(fixture, PARENT), process);
}

static void held_events_are_counted_for_each_image(void **state)
{
	struct fixture *fixture = *state;

	assert_ok(process_table_apply(
		fixture->table, &(struct process_event){ .type = PROCESS_EXECED, .pid = 10 }));
	process_table_hold(fixture->table, 10, 1);
	process_table_hold(fixture->table, 10, 1);
	process_table_hold(fixture->table, 10, -1);
	assert_true(process_table_is_held(fixture->table, 10));
	assert_false(process_table_is_held(fixture->table, 11));
	/* The next image begins with no held event. */
	assert_ok(process_table_apply(
		fixture->table, &(struct process_event){ .type = PROCESS_EXECED, .pid = 10 }));
	assert_false(process_table_is_held(fixture->table, 10));
	process_table_hold(fixture->table, 10, -1);
	assert_false(process_table_is_held(fixture->table, 10));
}

static void an_exec_starts_a_new_image_and_keeps_the_old_one_for_late_readers(void **state)
{
	struct fixture *fixture = *state;
	struct process *before;
	struct process *after;

	forked(fixture, 1, PARENT);
	execed(fixture, PARENT, "sh");
	mapped(fixture, PARENT, 0x1000, 0x2000, "/no/such/sh");
	before = find(fixture, PARENT);
	execed(fixture, PARENT, "worker");
	mapped(fixture, PARENT, 0x1000, 0x2000, "/no/such/worker");
	after = find(fixture, PARENT);
	assert_ptr_not_equal(before, after);
	assert_true(before->retired);
	assert_string_equal(before->name, "sh");
	assert_string_equal(after->name, "worker");
	assert_string_equal(path_at(fixture, after, 0x1000), "/no/such/worker");
	assert_int_not_equal(before->number, after->number);
}

static void a_sample_older_than_an_exec_belongs_to_the_image_before_it(void **state)
{
	struct process_event exec = {
		.type = PROCESS_EXECED, .pid = PARENT, .time_ns = 1000, .comm = "sh"
	};
	struct fixture *fixture = *state;
	struct process *first, *second, *third;

	forked(fixture, 1, PARENT);
	assert_ok(process_table_apply(fixture->table, &exec));
	first = find(fixture, PARENT);
	exec.time_ns = 2000;
	assert_ok(process_table_apply(fixture->table, &exec));
	exec.time_ns = 3000;
	second = find(fixture, PARENT);
	assert_ok(process_table_apply(fixture->table, &exec));
	third = find(fixture, PARENT);

	assert_ptr_equal(process_table_image_at(fixture->table, third, 3000), third);
	assert_ptr_equal(process_table_image_at(fixture->table, third, 2999), second);
	assert_ptr_equal(process_table_image_at(fixture->table, third, 2000), second);
	assert_ptr_equal(process_table_image_at(fixture->table, third, 1999), first);
	assert_int_not_equal(first->number, 0);
}

static void without_the_older_image_a_late_sample_stays_with_the_process(void **state)
{
	struct process_event exec = {
		.type = PROCESS_EXECED, .pid = PARENT, .time_ns = 1000, .comm = "sh"
	};
	struct fixture *fixture = *state;
	struct process *process;

	assert_ok(process_table_apply(fixture->table, &exec));
	process = find(fixture, PARENT);
	assert_ptr_equal(process_table_image_at(fixture->table, process, 999), process);
}

static void a_process_without_samples_is_freed_at_its_exit(void **state)
{
	struct fixture *fixture = *state;

	forked(fixture, 1, PARENT);
	assert_int_equal(process_table_count(fixture->table), 1);
	exited(fixture, PARENT);
	assert_int_equal(process_table_count(fixture->table), 0);
	assert_int_equal(fixture->processes_gone, 1);
}

static void a_sampled_process_is_kept_until_its_windows_are_over(void **state)
{
	struct fixture *fixture = *state;
	struct process *process;

	process_table_sweep(fixture->table, 5);
	forked(fixture, 1, PARENT);
	execed(fixture, PARENT, "x");
	mapped(fixture, PARENT, 0x1000, 0x2000, "/no/such/x");
	process = find(fixture, PARENT);
	process->last_window = 5;
	exited(fixture, PARENT);
	process_table_sweep(fixture->table, 6);
	assert_int_equal(process_table_count(fixture->table), 1);
	assert_string_equal(path_at(fixture, process, 0x1000), "/no/such/x");
	process_table_sweep(fixture->table, 7);
	assert_int_equal(process_table_count(fixture->table), 0);
}

/* /proc is read only for a process with several threads: one may still run. */
static void a_process_without_threads_ends_with_its_leader(void **state)
{
	struct fixture *fixture = *state;
	uint32_t self = (uint32_t)getpid();
	struct process_event threaded = { .type = PROCESS_THREADED, .pid = self };

	forked(fixture, 1, self);
	find(fixture, self);
	assert_ok(process_table_apply(fixture->table, &threaded));
	/* In /proc this process, the test, still runs. */
	exited(fixture, self);
	assert_int_equal(fixture->processes_gone, 0);
	forked(fixture, 1, self);
	find(fixture, self);
	exited(fixture, self);
	assert_int_equal(fixture->processes_gone, 1);
}

static void a_child_of_a_published_parent_is_published_again_when_it_maps_something(void **state)
{
	struct fixture *fixture = *state;
	struct process *child;

	forked(fixture, 1, PARENT);
	execed(fixture, PARENT, "x");
	mapped(fixture, PARENT, 0x1000, 0x2000, "/no/such/x");
	find(fixture, PARENT)->published = true;
	/* The BPF program has copied the entry of the parent: the child is published, too. */
	forked(fixture, PARENT, CHILD);
	mapped(fixture, CHILD, 0x8000, 0x9000, "/no/such/late");
	child = process_table_take_wanting(fixture->table);
	assert_non_null(child);
	assert_int_equal(child->pid, CHILD);
	assert_null(process_table_take_wanting(fixture->table));
}

static void a_zombie_adopted_for_a_late_sample_is_freed_with_its_window(void **state)
{
	struct fixture *fixture = *state;
	struct process *process;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	/* It has exited and is a zombie. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){}, WEXITED | WNOWAIT), 0);
	process_table_sweep(fixture->table, 5);
	process = find(fixture, (uint32_t)pid);
	assert_true(process->exited);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	process_table_sweep(fixture->table, 8);
	assert_int_equal(process_table_count(fixture->table), 0);
}

static void a_scan_detects_exits_that_no_event_reported(void **state)
{
	struct fixture *fixture = *state;
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	(void)find(fixture, (uint32_t)pid);
	assert_ok(process_table_scan(fixture->table));
	assert_false(find(fixture, (uint32_t)pid)->exited);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_ok(process_table_scan(fixture->table));
	assert_true(find(fixture, (uint32_t)pid)->exited);
	assert_true(fixture->processes_gone >= 1);
}

static void unused_strings_are_freed(void **state)
{
	struct fixture *fixture = *state;
	struct process *process;
	char path[64];
	size_t before;

	forked(fixture, 1, PARENT);
	execed(fixture, PARENT, "x");
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(path, sizeof(path), "/no/such/sandbox-%d/program", i);
		mapped(fixture, PARENT, 0x1000, 0x2000, path);
	}
	forked(fixture, PARENT, CHILD);
	process = find(fixture, PARENT);
	before = string_table_bytes(fixture->strings);
	assert_ok(process_table_compact_strings(fixture->table, before, MIB));
	assert_int_equal(string_table_bytes(fixture->strings), before);
	assert_ok(process_table_compact_strings(fixture->table, 1000, MIB));
	assert_true(string_table_bytes(fixture->strings) < 200);
	assert_string_equal(path_at(fixture, process, 0x1000), "/no/such/sandbox-999/program");
	assert_string_equal(path_at(fixture, find(fixture, CHILD), 0x1000),
			    "/no/such/sandbox-999/program");
}

static void a_reused_pid_is_another_process(void **state)
{
	struct fixture *fixture = *state;
	struct process *first;
	struct process *second;

	assert_ok(process_table_find(fixture->table, PARENT, 1, 10 * NSEC_PER_SEC, "first", false,
				     &first));
	assert_ok(process_table_find(fixture->table, PARENT, 1, 20 * NSEC_PER_SEC, "second", false,
				     &second));
	assert_ptr_not_equal(first, second);
	assert_string_equal(second->name, "second");
	/* a difference of one tick of /proc (10 ms) does not count */
	assert_ok(process_table_find(fixture->table, PARENT, 1,
				     20 * NSEC_PER_SEC + 9 * NSEC_PER_MSEC, "second", false,
				     &first));
	assert_ptr_equal(first, second);
}

static void a_running_process_is_found_in_proc_with_its_program(void **state)
{
	struct fixture *fixture = *state;
	struct process *process;
	struct process_mapping *mapping;
	uint64_t pc = (uint64_t)(uintptr_t)a_running_process_is_found_in_proc_with_its_program;
	char exe[4096] = "";

	process = find(fixture, (uint32_t)getpid());
	process_table_read_details(fixture->table, process);
	mapping = process_table_mapping(fixture->table, process, pc, 1);
	assert_non_null(mapping);
	assert_non_null(mapping->executable);
	assert_int_equal(mapping->kind, FRAME_NATIVE);
	assert_ptr_equal(process->main_executable, mapping->executable);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_string_equal(string_table_text(fixture->strings, process->executable_path), exe);
	/* The path is added once, and the process is then defined again. */
	process->first_sent_sequence = 9;
	assert_int_equal(process_table_note_path(process, mapping->executable->number), 1);
	assert_int_equal(process->first_sent_sequence, 0);
	assert_int_equal(process_table_note_path(process, mapping->executable->number), 0);
	assert_int_equal(process->n_paths, 1);
}

/* Notes the cgroups of two samples of this process: one before its labels are read, one after. */
static void labels_are_read_once_for_processes_of_the_same_cgroups(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = find(fixture, (uint32_t)getpid());
	struct process *other;
	uint64_t later_ns;

	assert_ok(process_table_note_cgroups(fixture->table, process, 77, 1));
	assert_false(process_wants_cgroups(process));
	process_table_read_details(fixture->table, process);
	assert_true(process_wants_cgroups(process));
	/* A sample from before the reading: the process may have moved since. */
	assert_ok(process_table_note_cgroups(fixture->table, process, 77, 2));
	assert_true(process_wants_cgroups(process));
	later_ns = process->labels_read_ns + 1;
	assert_ok(process_table_note_cgroups(fixture->table, process, 77, later_ns));
	assert_false(process_wants_cgroups(process));

	other = find(fixture, (uint32_t)getppid());
	assert_ok(process_table_note_cgroups(fixture->table, other, 77, later_ns));
	process_table_read_details(fixture->table, other);
	assert_false(process_wants_cgroups(other));
	assert_int_equal(other->n_labels, process->n_labels);
}

static void labels_of_a_process_that_changed_its_cgroup_are_not_cached(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = find(fixture, (uint32_t)getpid());
	struct process *other;

	assert_ok(process_table_note_cgroups(fixture->table, process, 77, 1));
	process_table_read_details(fixture->table, process);
	assert_ok(process_table_note_cgroups(fixture->table, process, 78,
					     process->labels_read_ns + 1));
	assert_false(process_wants_cgroups(process));

	other = find(fixture, (uint32_t)getppid());
	assert_ok(process_table_note_cgroups(fixture->table, other, 77, 1));
	process_table_read_details(fixture->table, other);
	/* They were read from /proc. */
	assert_true(process_wants_cgroups(other));
}

static void a_new_kernel_thread_has_the_name_of_its_kind_not_of_its_parent(void **state)
{
	struct fixture *fixture = *state;
	struct process *process;

	assert_ok(process_table_find(fixture->table, PARENT, 0, 7, "kthreadd", true, &process));
	assert_string_equal(process->name, "kthreadd");
	forked(fixture, PARENT, CHILD);
	assert_ok(process_table_find(fixture->table, CHILD, PARENT, 8, "kworker/u8:3-ev", true,
				     &process));
	assert_string_equal(process->name, "kworker");
	assert_true(process->kernel_thread);
	/* The workqueue that it serves does not change the service. */
	assert_ok(process_table_find(fixture->table, CHILD, PARENT, 8, "kworker/u8:3-fl", true,
				     &process));
	assert_string_equal(process->name, "kworker");
}

static void rules_rename_services_and_exclude_processes_from_sources(void **state)
{
	struct fixture *fixture = *state;
	scoped(pattern_freep) struct pattern *pythons = NULL;
	scoped(pattern_freep) struct pattern *python = NULL;
	char message[64];
	size_t offset;
	struct process_rename rename;
	struct process_rules rules;

	assert_ok(pattern_new("^py", false, message, sizeof(message), &offset, &pythons));
	assert_ok(pattern_new("^python3", false, message, sizeof(message), &offset, &python));
	rename = (struct process_rename){ .pattern = python, .name = "shop" };
	rules = (struct process_rules){ .sources = { { .names = pythons, .excluded_flag = 1 },
						     { .names = NULL } },
					.n_sources = 2,
					.renames = &rename,
					.n_renames = 1 };

	forked(fixture, 1, PARENT);
	execed(fixture, PARENT, "python3.11");
	forked(fixture, 1, CHILD);
	execed(fixture, CHILD, "nginx");
	process_table_set_rules(fixture->table, &rules);
	assert_string_equal(find(fixture, PARENT)->name, "shop");
	assert_int_equal(find(fixture, PARENT)->excluded, 0);
	assert_string_equal(find(fixture, CHILD)->name, "nginx");
	assert_int_equal(find(fixture, CHILD)->excluded, 1);
	assert_false(find(fixture, CHILD)->unprofiled);

	/* Another source has a rule too: no source profiles nginx. */
	rules.sources[1] = (struct process_source){ .names = pythons, .excluded_flag = 2 };
	process_table_set_rules(fixture->table, &rules);
	assert_int_equal(find(fixture, PARENT)->excluded, 0);
	assert_false(find(fixture, PARENT)->unprofiled);
	assert_int_equal(find(fixture, CHILD)->excluded, 3);
	assert_true(find(fixture, CHILD)->unprofiled);

	/* A fork has the rules of its parent. */
	forked(fixture, CHILD, CHILD + 1);
	assert_int_equal(find(fixture, CHILD + 1)->excluded, 3);
	assert_true(find(fixture, CHILD + 1)->unprofiled);

	/* and back: the name at exec was kept */
	process_table_set_rules(fixture->table, &(struct process_rules){});
	assert_string_equal(find(fixture, PARENT)->name, "python3.11");
	assert_int_equal(find(fixture, CHILD)->excluded, 0);
	assert_false(find(fixture, CHILD)->unprofiled);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_is_named_at_exec),
		TEST(held_events_are_counted_for_each_image),
		TEST(an_exec_starts_a_new_image_and_keeps_the_old_one_for_late_readers),
		TEST(a_sample_older_than_an_exec_belongs_to_the_image_before_it),
		TEST(without_the_older_image_a_late_sample_stays_with_the_process),
		TEST(a_process_without_samples_is_freed_at_its_exit),
		TEST(a_sampled_process_is_kept_until_its_windows_are_over),
		TEST(a_process_without_threads_ends_with_its_leader),
		TEST(a_child_of_a_published_parent_is_published_again_when_it_maps_something),
		TEST(a_zombie_adopted_for_a_late_sample_is_freed_with_its_window),
		TEST(a_scan_detects_exits_that_no_event_reported),
		TEST(unused_strings_are_freed),
		TEST(a_reused_pid_is_another_process),
		TEST(a_running_process_is_found_in_proc_with_its_program),
		TEST(labels_are_read_once_for_processes_of_the_same_cgroups),
		TEST(labels_of_a_process_that_changed_its_cgroup_are_not_cached),
		TEST(a_new_kernel_thread_has_the_name_of_its_kind_not_of_its_parent),
		TEST(rules_rename_services_and_exclude_processes_from_sources),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
