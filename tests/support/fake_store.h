/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A sample store that can only be read, with arrays that the test fills. With fail_with set, every
 * call fails.
 */

#include "symbolizer/store/store.h"

struct fake_row {
	uint32_t series; /* id */
	uint64_t stack;
	uint64_t slot;
	uint64_t value;
};

struct fake_stack {
	uint64_t id;
	struct store_stack stack;
};

struct fake_path {
	uint32_t process;
	uint32_t executable;
	const char *path;
};

struct fake_name {
	uint64_t key;
	const char *name;
};

struct fake_store {
	struct store store;
	const struct store_series *series; /* ascending by ID */
	size_t n_series;
	const struct fake_row *rows;
	size_t n_rows;
	const struct fake_stack *stacks;
	size_t n_stacks;
	const struct store_executable *executables;
	size_t n_executables;
	const struct fake_path *paths;
	size_t n_paths;
	const struct fake_name *names;
	size_t n_names;
	const struct store_host *hosts;
	size_t n_hosts;
	const struct event_type_info *event; /* a type that only the store has; or NULL */
	int n_damaged_blocks;
	struct cancel *cancel_while_loading; /* requested by store_load_stacks(); or NULL */
	int fail_with;                       /* negative errno */
	int known_fails_with;                /* of the operations that only messages use */
	size_t n_searches;                   /* calls of find_series */
	size_t n_path_calls, n_paths_read;   /* calls of store_paths_of(), and paths in all */
};

/* Sets the operations and leaves the arrays unchanged. */
struct store *fake_store_init(struct fake_store *fake);
