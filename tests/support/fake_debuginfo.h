/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A debuginfo store with files on disk, which replaces the real one: add fake_debuginfo.c to the
 * SOURCES of the test. It counts calls, and can block readers.
 */

#include <pthread.h>

#include "symbolizer/debuginfo/debuginfo_store.h"

#define FAKE_DEBUGINFO_MAX_FILES 32

struct fake_debuginfo_file {
	struct executable_id id;
	char path[256];
	uint64_t generation;
	int error; /* negative errno that opening returns, or 0 */
	unsigned int n_opened;
	bool has_code;
	bool without_names;      /* it has code, but no symbols */
	char alt_link_path[256]; /* a file with the bytes of .gnu_debugaltlink, or "" */
	char split_path[256];    /* its split DWARF, or "" */
	uint64_t split_generation;
};

struct debuginfo_store {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct fake_debuginfo_file files[FAKE_DEBUGINFO_MAX_FILES];
	size_t n_files;
	uint64_t generation;
	unsigned int n_finds;
	const struct fake_debuginfo_file *held; /* opening it blocks until it is released */
	bool all_held;
	unsigned int n_waiting;
	struct executable_id last_wanted; /* argument of debuginfo_want() */
};

void fake_debuginfo_init(struct debuginfo_store *store);

/* Adds or replaces the file of @id. */
void fake_debuginfo_put(struct debuginfo_store *store, const struct executable_id *id,
			const char *path);

/* Adds or replaces the split DWARF of @id, which must have a file. */
void fake_debuginfo_put_split(struct debuginfo_store *store, const struct executable_id *id,
			      const char *path);

/* Copies has_code, without_names and alt_link_path from @description. */
void fake_debuginfo_describe(struct debuginfo_store *store, const struct executable_id *id,
			     const struct fake_debuginfo_file *description);
void fake_debuginfo_remove(struct debuginfo_store *store, const struct executable_id *id);
void fake_debuginfo_fail(struct debuginfo_store *store, const struct executable_id *id, int error);

unsigned int fake_debuginfo_opened(struct debuginfo_store *store, const struct executable_id *id);

/* Blocks readers of @id (NULL: releases them). */
void fake_debuginfo_hold(struct debuginfo_store *store, const struct executable_id *id);
/* Blocks readers of all files. */
void fake_debuginfo_hold_all(struct debuginfo_store *store, bool hold);
/* Returns the number of blocked readers. */
unsigned int fake_debuginfo_held(struct debuginfo_store *store);
/* Waits until a reader is blocked. */
void fake_debuginfo_wait_held(struct debuginfo_store *store);
