/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One symbol table from what the debuginfo store has: opens the files, has a helper compile them,
 * checks what comes back, and stores it or why there is none. Takes from milliseconds to minutes.
 * Thread-safe.
 */

#include <stdatomic.h>

#include "symbolizer/debuginfo/debuginfo_store.h"
#include "symbolizer/symbols/cache/table_database.h"

struct table_compiler {
	struct debuginfo_store *debuginfo;
	struct table_database *database;
	const struct clock *clock;
	const char *program; /* of the helper */
	int stop_fd;         /* readable: give up */
	atomic_bool said_lack;
	_Atomic uint64_t n_made;
	_Atomic uint64_t n_refused;
	_Atomic uint64_t n_died;
};

/* A flat table beyond it is not taken. That of ceph-osd has 58 MB. */
#define TABLE_FLAT_MAX_BYTES GIB

struct compiled_table {
	struct stored_table row; /* HELPER_MADE_TABLE: the table; else why not */
	struct bytes flat;       /* HELPER_MADE_TABLE: checked by symbol_file.h; the caller's */
};

/*
 * @before: the last try, zeroes if there was none. 1 tried, 0 there is no debuginfo any more.
 * -ECANCELED by stop_fd; other errors are ours, may pass, and are not remembered.
 */
int table_compile(struct table_compiler *compiler, const struct executable_id *id,
		  const struct stored_table *before, struct compiled_table *ret_made);

/* The wall-clock time after which a failed try may be repeated; UINT64_MAX: not with these files.
 */
uint64_t table_retry_wall_ns(const struct stored_table *row);
