/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/executable_cache_private.h"
#include "tests/unit/agent/process/process_table_fixture.h"

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

static void identify_at(struct fixture *fixture, uint32_t pid, uint64_t pc,
			struct executable *executable)
{
	struct process_mapping *mapping =
		process_table_mapping(fixture->table, find(fixture, pid), pc, 1);

	assert_non_null(mapping);
	executable_ref(executable);
	mapping->executable = executable;
}

static void a_mapping_of_an_executable_is_found_in_another_live_process(void **state)
{
	struct fixture *fixture = *state;
	struct executable *library, *other;
	struct mapped_file file;

	assert_ok(executable_cache_add(fixture->executables, &(struct executable_id){},
				       EXECUTABLE_USER, "library", NULL, &library));
	assert_ok(executable_cache_add(fixture->executables, &(struct executable_id){},
				       EXECUTABLE_USER, "other", NULL, &other));
	for (uint32_t pid = PARENT; pid <= CHILD; pid++) {
		forked(fixture, 1, pid);
		execed(fixture, pid, "x");
		mapped(fixture, pid, 0x1000, 0x3000, "/no/such/other");
		mapped(fixture, pid, 0x4000ull + pid * 0x1000ull, 0x5000ull + pid * 0x1000ull,
		       pid == PARENT ? "/no/such/a" : "/no/such/b");
		identify_at(fixture, pid, 0x1000, other);
		identify_at(fixture, pid, 0x4000ull + pid * 0x1000ull, library);
	}

	assert_int_equal(process_table_find_mapping_of(fixture->table, library, PARENT, &file), 1);
	assert_int_equal(file.pid, CHILD);
	assert_int_equal(file.start, 0x4000 + CHILD * 0x1000ull);
	assert_int_equal(file.end, 0x5000 + CHILD * 0x1000ull);
	assert_string_equal(file.path, "/no/such/b");
	assert_int_equal(process_table_find_mapping_of(fixture->table, library, CHILD, &file), 1);
	assert_int_equal(file.pid, PARENT);
	exited(fixture, PARENT);
	assert_int_equal(process_table_find_mapping_of(fixture->table, library, CHILD, &file), 0);
	execed(fixture, CHILD, "y");
	assert_int_equal(process_table_find_mapping_of(fixture->table, library, 0, &file), 0);
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
	/*
	 * As a just-in-time compiler maps memory: in pieces, from both sides. One is reported
	 * twice.
	 */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_child_shares_the_mappings_of_its_parent_until_it_maps_something),
		TEST(a_mapping_of_an_executable_is_found_in_another_live_process),
		TEST(a_mapping_replaces_what_it_overlaps),
		TEST(a_mapping_replaces_code_only_if_another_file_was_there),
		TEST(random_mappings_agree_with_a_page_table),
		TEST(mappings_are_removed_from_the_bpf_maps_with_the_last_running_process),
		TEST(mappings_of_events_are_kept_when_maps_cannot_be_read),
		TEST(an_unavailable_file_is_looked_up_again_seconds_later),
		TEST(adjacent_anonymous_mappings_are_joined_and_thousands_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
