/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Snapshots of several databases of one folder, which are copied to another folder. */

#include "common/vec.h"
#include "symbolizer/sqlite/sqlite_copy.h"

struct named_snapshot {
	char name[64]; /* of the file */
	struct sqlite_db *db;
};

struct snapshot_set {
	VEC_DEFINE(, struct named_snapshot) files;
};

void snapshot_set_release(struct snapshot_set *set);

/* Closes all snapshots. */
void snapshot_set_clear(struct snapshot_set *set);

/* Opens a snapshot of a file. Errors are those of sqlite_snapshot_open(). */
int snapshot_set_add(struct snapshot_set *set, const char *folder, const char *name);

/* Writes all files into the folder @target, which has none of them. */
int snapshot_set_copy(const struct snapshot_set *set, const char *target);
