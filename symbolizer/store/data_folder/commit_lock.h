/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A lock on the file "commit-lock" of the data folder. The server holds it while it commits a group
 * of batches or removes days, and a backup, which is another process, while it opens its
 * snapshots. A group is committed file after file, so that without the lock a backup could have a
 * batch of two days in one of them only.
 *
 * It is not the lock of the folder, which a server holds as long as it runs.
 */

/* Opens the file, which is created if it is missing. Returns a descriptor or a negative errno. */
int commit_lock_open(const char *folder);

/* Waits for the lock. */
int commit_lock_take(int fd);
void commit_lock_give(int fd);
