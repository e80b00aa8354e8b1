/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Copies of the engine's files while a server writes them. Each acknowledged batch is in the copy
 * as a whole or not at all.
 */

#include "symbolizer/sqlite/snapshot_set.h"

/* Whether the folder is one of this engine. */
bool segment_backup_has_store(const char *folder);

/*
 * Adds snapshots of inbox.db and of all day files, which fit together. -ENOENT: @folder has no
 * store; -EBUSY: flushes followed each other too quickly.
 */
int segment_backup_add(struct snapshot_set *set, const char *folder);
