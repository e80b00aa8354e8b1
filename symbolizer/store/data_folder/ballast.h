/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reserved space: the file "ballast" of the data folder.
 *
 * SQLite needs space to work on a full disk: a checkpoint copies a WAL into its database, which
 * grows, and opening a database creates its WAL. When a write fails for lack of space, the ballast
 * is removed. From then on batches are refused until there is space for the ballast again, so that
 * the space serves checkpoints and a restart, not further batches.
 *
 * Used under the writer's lock, except ballast_check().
 */

#include <stdbool.h>
#include <stdint.h>

#define BALLAST_FILE "ballast"

/* As large as the WAL of one database is before a checkpoint (sqlite_db.c). */
#define BALLAST_MAX_BYTES (16 * MIB)

/* The ballast is at most this fraction of the file system. */
#define BALLAST_FRACTION 16

struct ballast {
	int folder_fd; /* borrowed */
	_Atomic bool is_held;
};

/*
 * Reserves the space if it is not reserved yet and twice as much is free: if the ballast took the
 * last free bytes, the next batch would release it again. 0, or -ENOSPC, -EDQUOT: there is no
 * space. A file system that cannot reserve space has no ballast, and the result is 0.
 */
int ballast_hold(struct ballast *ballast);

void ballast_release(struct ballast *ballast);

/* ballast_hold() when the store of @folder is opened: logs if there is no space. */
void ballast_hold_first(struct ballast *ballast, const char *folder);

/*
 * Whether a batch can be written to the folder now: 0, or the errno of the failure (-ENOSPC,
 * -EROFS, ...), also if ballast_hold() would fail. Probes the file system, not SQLite, which would
 * cost a synchronous write. Thread-safe.
 */
int ballast_check(const struct ballast *ballast);
