/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of mappings with the events of the real kernel: this process and its children map
 * libraries, and the process table must find the file of each pc.
 */

#include "agent/process/process_table.h"

#include <sys/mman.h>

#include "agent/cpu/cpu_list.h"
#include "agent/process/proc_files.h"
#include "common/elf/build_id.h"
#include "common/file.h"
#include "tests/support/unit.h"

/* Addresses at which nothing else is mapped. */
#define CODE ((void *)UINT64_C(0x7e0000000000))
#define PAGE ((size_t)4096)

struct fixture {
	char *folder;
	struct executable_cache *executables;
	struct string_table *strings;
	struct process_table *table;
	struct process_rules rules;
	struct process_observer observer;
	struct process_events *events;
};

static inline int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct cpu_vec cpus = {};
	void *folder;

	assert_non_null(fixture);
	assert_int_equal(temp_folder_setup(&folder), 0);
	fixture->folder = folder;
	assert_ok(executable_cache_new(100, &fixture->executables));
	assert_ok(string_table_new(MIB, &fixture->strings));
	assert_ok(process_table_new(fixture->executables, fixture->strings, &fixture->rules,
				    &fixture->observer, &fixture->table));
	assert_ok(cpu_list_online(&cpus));
	/* Without permission for perf events, `events` becomes NULL and the tests are skipped. */
	assert_ok(process_events_new(&fixture->events));
	if (process_events_follow(fixture->events, cpus.items, cpus.count, NULL, NULL) < 0)
		fixture->events = process_events_free(fixture->events);
	vec_release(&cpus);
	*state = fixture;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *fixture = *state;
	void *folder = fixture->folder;

	(void)munmap(CODE, 64 * PAGE);
	process_events_free(fixture->events);
	process_table_free(fixture->table);
	executable_cache_free(fixture->executables);
	string_table_free(fixture->strings);
	free(fixture);
	return temp_folder_teardown(&folder);
}

/* Applies all events that the kernel has written so far. */
static inline void apply_events(struct fixture *fixture)
{
	const struct process_event *event;

	assert_ok(process_events_read(fixture->events));
	while ((event = process_events_next(fixture->events, UINT64_MAX)))
		assert_ok(process_table_apply(fixture->table, event));
}

/* Adds the process @pid to the table if it is not there yet. */
static inline struct process *process_of(struct fixture *fixture, pid_t pid)
{
	struct process *process;
	struct proc_stat stat;

	assert_ok(proc_stat_read((uint32_t)pid, &stat));
	assert_ok(process_table_find(fixture->table, (uint32_t)pid, stat.parent_pid,
				     stat.start_time_ns, "test", false, &process));
	return process;
}

/* Skips the test without permission; else returns this process, with all events applied. */
static inline struct process *begin(struct fixture *fixture)
{
	if (!fixture->events) {
		print_message("perf events need root: skipped\n");
		skip();
	}
	apply_events(fixture);
	return process_of(fixture, getpid());
}

/* Small libraries have one segment: the first page of the file is also that of the text. */
static inline void map_fd(int fd, void *address)
{
	assert_ptr_equal(mmap(address, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0),
			 address);
}

static inline void map_file(const char *path)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	map_fd(fd, CODE);
}

static inline void copy_file(const char *from, const char *to)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);

	assert_ok(file_read(from, &content));
	assert_ok(file_replace(to, content.data, content.size, 0755));
}

static inline struct executable_id id_of(const char *path)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct executable_id id = {};

	assert_true(fd >= 0);
	assert_ok(elf_file_open(fd, &elf));
	assert_int_equal(build_id_from_elf(elf, &id), 1);
	return id;
}

static inline void assert_is(struct fixture *fixture, struct process *process, const void *address,
			     const char *library)
{
	struct process_mapping *mapping = process_table_mapping(
		fixture->table, process, (uint64_t)(uintptr_t)address + 16, 1);
	struct executable_id expected = id_of(library);

	assert_non_null(mapping);
	assert_non_null(mapping->executable);
	assert_true(executable_id_equal(&mapping->executable->id, &expected));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
