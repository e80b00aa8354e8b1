/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A process table with an observer that counts, and functions that apply events to it. */

#include "agent/process/process_table.h"
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

static inline void count_set(void *arg, struct process_mappings *mappings)
{
	struct fixture *fixture = arg;

	(void)mappings;
	fixture->sets_gone++;
}

static inline void count_process(void *arg, const struct process *process)
{
	struct fixture *fixture = arg;

	(void)process;
	fixture->processes_gone++;
}

static inline int setup(void **state)
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

static inline int teardown(void **state)
{
	struct fixture *fixture = *state;

	process_table_free(fixture->table);
	executable_cache_free(fixture->executables);
	string_table_free(fixture->strings);
	free(fixture);
	return 0;
}

static inline void forked(struct fixture *fixture, uint32_t parent, uint32_t child)
{
	struct process_event event = { .type = PROCESS_FORKED, .pid = child, .parent = parent };

	assert_ok(process_table_apply(fixture->table, &event));
}

static inline void execed(struct fixture *fixture, uint32_t pid, const char *comm)
{
	struct process_event event = { .type = PROCESS_EXECED, .pid = pid };

	(void)snprintf(event.comm, sizeof(event.comm), "%s", comm);
	assert_ok(process_table_apply(fixture->table, &event));
}

static inline void mapped(struct fixture *fixture, uint32_t pid, uint64_t start, uint64_t end,
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

static inline void exited(struct fixture *fixture, uint32_t pid)
{
	assert_ok(process_table_apply(
		fixture->table, &(struct process_event){ .type = PROCESS_EXITED, .pid = pid }));
}

static inline struct process *find(struct fixture *fixture, uint32_t pid)
{
	struct process *process;

	assert_ok(process_table_find(fixture->table, pid, 1, 0, "sampled", false, &process));
	return process;
}

static inline const char *path_at(struct fixture *fixture, struct process *process, uint64_t pc)
{
	const struct process_mapping *mapping =
		process_table_mapping(fixture->table, process, pc, 1);

	return mapping ? string_table_text(fixture->strings, mapping->path) : NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
