/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process/process_table.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "common/frame.h"
#include "tests/support/unit.h"

/* Pids above the largest pid_max, which no process has. */
#define PARENT 5000001u
#define CHILD  5000002u

struct fixture {
	struct executable_cache *executables;
	struct string_table *strings;
	struct process_table *table;
	struct process_rules rules;
	int sets_gone;
	int processes_gone;
};

static void count_set(void *arg, struct process_mappings *mappings)
{
	struct fixture *fixture = arg;

	(void)mappings;
	fixture->sets_gone++;
}

static void count_process(void *arg, const struct process *process)
{
	struct fixture *fixture = arg;

	(void)process;
	fixture->processes_gone++;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct process_observer observer = {
		.arg = fixture,
		.mappings_gone = count_set,
		.process_gone = count_process,
	};

	assert_non_null(fixture);
	assert_ok(executable_cache_new(100, &fixture->executables));
	assert_ok(string_table_new(MIB, &fixture->strings));
	assert_ok(process_table_new(fixture->executables, fixture->strings, &fixture->rules,
				    &observer, &fixture->table));
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	process_table_free(fixture->table);
	executable_cache_free(fixture->executables);
	string_table_free(fixture->strings);
	free(fixture);
	return 0;
}

static void forked(struct fixture *fixture, uint32_t parent, uint32_t child)
{
	struct process_event event = { .type = PROCESS_FORKED, .pid = child, .parent = parent };

	assert_ok(process_table_apply(fixture->table, &event));
}

static void execed(struct fixture *fixture, uint32_t pid, const char *comm)
{
	struct process_event event = { .type = PROCESS_EXECED, .pid = pid };

	(void)snprintf(event.comm, sizeof(event.comm), "%s", comm);
	assert_ok(process_table_apply(fixture->table, &event));
}

static void mapped(struct fixture *fixture, uint32_t pid, uint64_t start, uint64_t end,
		   const char *path)
{
	struct process_event event = {
		.type = PROCESS_MAPPED,
		.pid = pid,
		.start = start,
		.end = end,
		.path = (char *)path,
	};

	assert_ok(process_table_apply(fixture->table, &event));
}

static void exited(struct fixture *fixture, uint32_t pid)
{
	assert_ok(process_table_apply(
		fixture->table, &(struct process_event){ .type = PROCESS_EXITED, .pid = pid }));
}

static struct process *find(struct fixture *fixture, uint32_t pid)
{
	struct process *process;

	assert_ok(process_table_find(fixture->table, pid, 1, 0, "sampled", false, &process));
	return process;
}

static const char *path_at(struct fixture *fixture, struct process *process, uint64_t pc)
{
	const struct process_mapping *mapping =
		process_table_mapping(fixture->table, process, pc, 1);

	return mapping ? string_table_text(fixture->strings, mapping->path) : NULL;
}

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

static void a_child_shares_the_mappings_of_its_parent_until_it_maps_something(void **state)
{
	struct fixture *fixture = *state;
	struct process *parent;
	struct process *child;

	forked(fixture, 1, PARENT);
	execed(fixture, PARENT, "server");
	mapped(fixture, PARENT, 0x1000, 0x3000, "/no/such/a");
	forked(fixture, PARENT, CHILD);
	parent = find(fixture, PARENT);
	child = find(fixture, CHILD);
	assert_string_equal(child->name, "server");
	assert_ptr_equal(parent->mappings, child->mappings);

	mapped(fixture, CHILD, 0x8000, 0x9000, "/no/such/b");
	assert_ptr_not_equal(parent->mappings, child->mappings);
	assert_string_equal(path_at(fixture, child, 0x8010), "/no/such/b");
	assert_string_equal(path_at(fixture, child, 0x1010), "/no/such/a");
	assert_null(path_at(fixture, parent, 0x8010));
}

static void a_mapping_replaces_what_it_overlaps(void **state)
{
	struct fixture *fixture = *state;
	struct process *process;

	forked(fixture, 1, PARENT);
	execed(fixture, PARENT, "x");
	mapped(fixture, PARENT, 0x1000, 0x9000, "/no/such/a");
	mapped(fixture, PARENT, 0x3000, 0x5000, "/no/such/b"); /* in the middle */
	mapped(fixture, PARENT, 0x8000, 0xa000, "/no/such/c"); /* over the end */
	process = find(fixture, PARENT);
	assert_string_equal(path_at(fixture, process, 0x2fff), "/no/such/a");
	assert_string_equal(path_at(fixture, process, 0x3000), "/no/such/b");
	assert_string_equal(path_at(fixture, process, 0x4fff), "/no/such/b");
	assert_string_equal(path_at(fixture, process, 0x5000), "/no/such/a");
	assert_string_equal(path_at(fixture, process, 0x8000), "/no/such/c");
	assert_string_equal(path_at(fixture, process, 0x9fff), "/no/such/c");
	assert_null(path_at(fixture, process, 0xa000));
	assert_null(path_at(fixture, process, 0xfff));
	assert_int_equal(process->mappings->count, 4);
	/* The rest of a cut mapping keeps its addresses and offset. */
	assert_int_equal(process->mappings->items[2].file_offset, 0x4000);

	mapped(fixture, PARENT, 0, 0x10000, "/no/such/all");
	assert_int_equal(process->mappings->count, 1);
}

static void a_mapping_replaces_code_only_if_another_file_was_there(void **state)
{
	struct fixture *fixture = *state;
	struct process_event event = {
		.type = PROCESS_MAPPED,
		.pid = 10,
		.start = 0x1000,
		.end = 0x3000,
		.device = 1,
		.inode = 5,
		.inode_generation = 7,
		.path = (char *)"/lib/a.so",
	};

	assert_ok(process_table_apply(
		fixture->table, &(struct process_event){ .type = PROCESS_EXECED, .pid = 10 }));
	assert_false(process_table_replaces(fixture->table, &event));
	assert_ok(process_table_apply(fixture->table, &event));
	mapped(fixture, 10, 0x8000, 0x9000, "//anon");

	/* The same file again, another file next to it, and another file over anonymous memory. */
	assert_false(process_table_replaces(fixture->table, &event));
	event.inode = 6;
	event.start = 0x3000, event.end = 0x4000;
	assert_false(process_table_replaces(fixture->table, &event));
	event.start = 0x8000, event.end = 0x9000;
	assert_false(process_table_replaces(fixture->table, &event));

	event.start = 0x2000, event.end = 0x4000;
	assert_true(process_table_replaces(fixture->table, &event));
	event.pid = 11;
	assert_false(process_table_replaces(fixture->table, &event));
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

static void random_mappings_agree_with_a_page_table(void **state)
{
	enum { PAGES = 64 };
	struct fixture *fixture = *state;
	int owner[PAGES] = {};
	unsigned int seed = 12345;
	struct process *process;

	forked(fixture, 1, PARENT);
	execed(fixture, PARENT, "x");
	for (int round = 1; round <= 300; round++) {
		unsigned int first = (unsigned int)rand_r(&seed) % PAGES;
		unsigned int count = 1 + (unsigned int)rand_r(&seed) % 12;
		char path[32];

		(void)snprintf(path, sizeof(path), "/no/such/%d", round);
		count = MIN(count, PAGES - first);
		mapped(fixture, PARENT, (first + 1) * 0x1000u, (first + 1 + count) * 0x1000u, path);
		for (unsigned int page = first; page < first + count; page++)
			owner[page] = round;
	}
	process = find(fixture, PARENT);
	for (unsigned int page = 0; page < PAGES; page++) {
		const char *path = path_at(fixture, process, (page + 1) * 0x1000u + 5);
		char expected[32];

		(void)snprintf(expected, sizeof(expected), "/no/such/%d", owner[page]);
		if (owner[page] == 0)
			assert_null(path);
		else
			assert_string_equal(path, expected);
	}
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

/* Exited processes are kept for their last samples, but need no mappings in the BPF maps. */
static void mappings_are_removed_from_the_bpf_maps_with_the_last_running_process(void **state)
{
	struct fixture *fixture = *state;
	struct process_mappings *mappings;

	forked(fixture, 1, PARENT);
	execed(fixture, PARENT, "x");
	mapped(fixture, PARENT, 0x1000, 0x2000, "/no/such/x");
	mappings = find(fixture, PARENT)->mappings;
	mappings->published_set = 7;
	forked(fixture, PARENT, CHILD);
	find(fixture, CHILD);
	exited(fixture, PARENT);
	assert_int_equal(fixture->sets_gone, 0);
	assert_int_equal(mappings->published_set, 7);
	/* The child executes another program: no running process uses the mappings any longer. */
	execed(fixture, CHILD, "y");
	assert_int_equal(fixture->sets_gone, 1);
	assert_int_equal(mappings->published_set, 0);
	exited(fixture, CHILD);
	process_table_sweep(fixture->table, 100);
	assert_int_equal(process_table_count(fixture->table), 0);
	assert_int_equal(fixture->sets_gone, 1);
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

static void mappings_of_events_are_kept_when_maps_cannot_be_read(void **state)
{
	struct fixture *fixture = *state;
	struct process *process;

	forked(fixture, 1, PARENT);
	execed(fixture, PARENT, "x");
	mapped(fixture, PARENT, 0x1000, 0x2000, "/no/such/x");
	process = find(fixture, PARENT);
	/* For a pc without a mapping the table reads /proc, which has no such process. */
	assert_null(path_at(fixture, process, 0x9000));
	assert_string_equal(path_at(fixture, process, 0x1000), "/no/such/x");
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

/* Identifies files by the cache of the fixture once is_available is set. */
struct late_identifier {
	struct executable_cache *executables;
	unsigned int n_calls;
	bool is_available;
};

static int find_late(void *arg, const struct mapped_file *file, uint32_t *number,
		     struct executable **ret_executable)
{
	struct late_identifier *identifier = arg;

	assert_int_equal(*number, 0);
	identifier->n_calls++;
	if (identifier->is_available)
		return executable_cache_identify(identifier->executables, file, ret_executable);
	*number = identifier->n_calls;
	return EXECUTABLE_UNAVAILABLE;
}

static void an_unavailable_file_is_looked_up_again_seconds_later(void **state)
{
	struct fixture *fixture = *state;
	struct late_identifier late = { .executables = fixture->executables };
	uint64_t pc = (uint64_t)(uintptr_t)an_unavailable_file_is_looked_up_again_seconds_later;
	uint64_t now_ns = 100 * NSEC_PER_SEC;
	struct process_mapping *mapping;
	struct process *process;

	process_table_set_identifier(
		fixture->table, &(struct process_identifier){ .arg = &late, .find = find_late });
	process = find(fixture, (uint32_t)getpid());
	mapping = process_table_mapping(fixture->table, process, pc, now_ns);
	assert_non_null(mapping);
	assert_null(mapping->executable);
	process_table_read_details(fixture->table, process);
	assert_null(process->main_executable);

	late.is_available = true;
	late.n_calls = 0;
	mapping = process_table_mapping(fixture->table, process, pc, now_ns + 1);
	assert_null(mapping->executable);
	assert_int_equal(late.n_calls, 0);
	process->first_sent_sequence = 7;
	mapping = process_table_mapping(fixture->table, process, pc, now_ns + 10 * NSEC_PER_SEC);
	assert_non_null(mapping->executable);
	/* The server has its definition without the main executable. */
	process_table_read_details(fixture->table, process);
	assert_ptr_equal(process->main_executable, mapping->executable);
	assert_int_equal(process->first_sent_sequence, 0);
}

static void adjacent_anonymous_mappings_are_joined_and_thousands_are_kept(void **state)
{
	struct fixture *fixture = *state;
	struct process *process;

	forked(fixture, PARENT, CHILD);
	execed(fixture, CHILD, "jit");
	/* As a just-in-time compiler maps memory: in pieces, from both sides. One is reported twice. */
	mapped(fixture, CHILD, 0x10000, 0x11000, "//anon");
	mapped(fixture, CHILD, 0x12000, 0x13000, "//anon");
	mapped(fixture, CHILD, 0x11000, 0x12000, "//anon");
	mapped(fixture, CHILD, 0x10000, 0x11000, "//anon");
	mapped(fixture, CHILD, 0x13000, 0x14000, "/usr/lib/a.so");
	mapped(fixture, CHILD, 0x14000, 0x15000, "//anon");
	assert_ok(process_table_find(fixture->table, CHILD, PARENT, 7, "jit", false, &process));
	assert_int_equal(process->mappings->count, 3);
	assert_int_equal(process->mappings->items[0].start, 0x10000);
	assert_int_equal(process->mappings->items[0].end, 0x13000);
	assert_int_equal(process->mappings->items[1].start, 0x13000);
	/* A file is mapped over a part in the middle. */
	mapped(fixture, CHILD, 0x11000, 0x12000, "/usr/lib/a.so");
	assert_int_equal(process->mappings->count, 5);

	for (uint64_t i = 0; i < 20000; i++)
		mapped(fixture, CHILD, 0x1000000 + i * 0x3000, 0x1001000 + i * 0x3000, "//anon");
	assert_int_equal(process->mappings->count, 20005);
	assert_int_equal(process_table_stats(fixture->table)->mappings_dropped, 0);
	for (uint64_t i = 20000; i < 70000; i++)
		mapped(fixture, CHILD, 0x1000000 + i * 0x3000, 0x1001000 + i * 0x3000, "//anon");
	assert_int_equal(process->mappings->count, 65536);
	assert_int_equal(process_table_stats(fixture->table)->mappings_dropped, 70005 - 65536);
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

static void rules_rename_services_and_exclude_stacks(void **state)
{
	struct fixture *fixture = *state;
	scoped(pattern_freep) struct pattern *with_stacks = NULL;
	scoped(pattern_freep) struct pattern *python = NULL;
	char message[64];
	size_t offset;
	struct process_rename rename;
	struct process_rules rules;

	assert_ok(pattern_new("^py", false, message, sizeof(message), &offset, &with_stacks));
	assert_ok(pattern_new("^python3", false, message, sizeof(message), &offset, &python));
	rename = (struct process_rename){ .pattern = python, .name = "shop" };
	rules = (struct process_rules){ .with_stacks = with_stacks,
					.renames = &rename,
					.n_renames = 1 };

	forked(fixture, 1, PARENT);
	execed(fixture, PARENT, "python3.11");
	forked(fixture, 1, CHILD);
	execed(fixture, CHILD, "nginx");
	process_table_set_rules(fixture->table, &rules);
	assert_string_equal(find(fixture, PARENT)->name, "shop");
	assert_false(find(fixture, PARENT)->without_stacks);
	assert_string_equal(find(fixture, CHILD)->name, "nginx");
	assert_true(find(fixture, CHILD)->without_stacks);
	assert_true(find(fixture, PARENT)->without_waits);

	/* Waits have another rule. */
	rules.with_waits = with_stacks;
	rules.with_stacks = NULL;
	rules.take_waits = true;
	process_table_set_rules(fixture->table, &rules);
	assert_false(find(fixture, PARENT)->without_waits);
	assert_true(find(fixture, CHILD)->without_waits);
	assert_false(find(fixture, CHILD)->without_stacks);

	/* and back: the name at exec was kept */
	process_table_set_rules(fixture->table, &(struct process_rules){});
	assert_string_equal(find(fixture, PARENT)->name, "python3.11");
	assert_false(find(fixture, CHILD)->without_stacks);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_process_is_named_at_exec),
		TEST(a_child_shares_the_mappings_of_its_parent_until_it_maps_something),
		TEST(a_mapping_replaces_what_it_overlaps),
		TEST(a_mapping_replaces_code_only_if_another_file_was_there),
		TEST(held_events_are_counted_for_each_image),
		TEST(random_mappings_agree_with_a_page_table),
		TEST(an_exec_starts_a_new_image_and_keeps_the_old_one_for_late_readers),
		TEST(a_sample_older_than_an_exec_belongs_to_the_image_before_it),
		TEST(without_the_older_image_a_late_sample_stays_with_the_process),
		TEST(a_process_without_samples_is_freed_at_its_exit),
		TEST(a_sampled_process_is_kept_until_its_windows_are_over),
		TEST(a_process_without_threads_ends_with_its_leader),
		TEST(mappings_are_removed_from_the_bpf_maps_with_the_last_running_process),
		TEST(a_child_of_a_published_parent_is_published_again_when_it_maps_something),
		TEST(a_zombie_adopted_for_a_late_sample_is_freed_with_its_window),
		TEST(a_scan_detects_exits_that_no_event_reported),
		TEST(mappings_of_events_are_kept_when_maps_cannot_be_read),
		TEST(unused_strings_are_freed),
		TEST(a_reused_pid_is_another_process),
		TEST(a_running_process_is_found_in_proc_with_its_program),
		TEST(labels_are_read_once_for_processes_of_the_same_cgroups),
		TEST(labels_of_a_process_that_changed_its_cgroup_are_not_cached),
		TEST(an_unavailable_file_is_looked_up_again_seconds_later),
		TEST(adjacent_anonymous_mappings_are_joined_and_thousands_are_kept),
		TEST(a_new_kernel_thread_has_the_name_of_its_kind_not_of_its_parent),
		TEST(rules_rename_services_and_exclude_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
