/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Looks up executables of a tenant by their identity: those of samples on any day that is kept,
 * also of batches in memory. No segment is decoded.
 */

#include "common/executable_id.h"
#include "symbolizer/store/segment_db/segment_db.h"

struct segment_db_executable {
	struct executable_id identity;
	enum executable_role role;
	const char *name;
	const char *path; /* from which a process maps it; NULL: unknown, or no file */
};

/*
 * Finds an executable. The description of a batch in memory is preferred, then that of the newest
 * day; a text that the memory lacks is of the newest day too. The texts are in @arena. Opens the
 * files of the days until one has it, 0.5 ms each. 1 found, 0 unknown, negative errno.
 */
int segment_db_find_executable(struct segment_db *db, const char *tenant,
			       const struct executable_id *identity, struct arena *arena,
			       struct segment_db_executable *ret_executable);

/* Most executables that a visit has, and most rows of all days that it reads: a second. */
#define SEGMENT_DB_MAX_EXECUTABLES     65536
#define SEGMENT_DB_MAX_EXECUTABLE_ROWS (1u << 20)

/* @executable is valid during the call. A result < 0 ends the visit with it. */
typedef int (*segment_db_executable_function)(void *arg,
					      const struct segment_db_executable *executable);

/*
 * Visits the executables of the tenant, each once, by its newest description: first those of
 * batches in memory, then the newest day first. A month of 5000 executables takes 0.2 s, as much as
 * ten lookups of unknown ones. Beyond the limits, executables of the oldest days are left out. The
 * function may use the segment_db. 0, negative errno.
 */
int segment_db_visit_executables(struct segment_db *db, const char *tenant,
				 segment_db_executable_function function, void *arg);
