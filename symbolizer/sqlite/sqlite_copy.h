/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Copies of databases that another process may be writing. A snapshot is a connection with an open
 * read transaction: it sees the state of the moment when it was opened, and delays no writer. While
 * it is open, the writer's WAL grows.
 */

#include "symbolizer/sqlite/sqlite_db.h"

/* -ENOENT: there is no such file. Free it with sqlite_db_free(). */
int sqlite_snapshot_open(const char *path, struct sqlite_db **ret_db);

/*
 * Writes the database of @snapshot to the new file @path, and synchronizes the file. -EEXIST: the
 * file exists.
 */
int sqlite_snapshot_copy(struct sqlite_db *snapshot, const char *path);
