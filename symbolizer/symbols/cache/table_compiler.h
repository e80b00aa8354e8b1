/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Compiles one symbol table from the files in the debuginfo store: opens them, runs a helper,
 * checks its output, and stores the table or the reason why there is none. Takes from milliseconds
 * to minutes. Thread-safe.
 */

#include <stdatomic.h>

#include "symbolizer/debuginfo/debuginfo_store.h"
#include "symbolizer/symbols/cache/table_database.h"

struct table_compiler {
	struct debuginfo_store *debuginfo;
	struct table_database *database;
	const struct clock *clock;
	const char *program; /* that runs as helper */
	int stop_fd;         /* readable: kill the helper and give up */
	atomic_bool lack_was_logged;
	_Atomic uint64_t n_made;
	_Atomic uint64_t n_refused;
	_Atomic uint64_t n_died;
};

/* A larger flat table is refused. The one of ceph-osd has 58 MB. */
#define TABLE_FLAT_MAX_BYTES GIB

struct compiled_table {
	struct stored_table row;
	struct bytes flat; /* if row.outcome is HELPER_MADE_TABLE: valid; the caller releases it */
};

/*
 * @before is the last attempt, all zeros if there was none. Returns 1 if a helper ran, and 0 if
 * there is no debuginfo any more. -ECANCELED by stop_fd; other errors are of this process, may be
 * temporary and are not stored.
 */
int table_compile(struct table_compiler *compiler, const struct executable_id *id,
		  const struct stored_table *before, struct compiled_table *ret_made);

/* When a failed attempt may be repeated; UINT64_MAX: not with the same files. */
uint64_t table_retry_wall_ns(const struct stored_table *row);
