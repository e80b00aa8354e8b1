/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Copies of a store's files while a server writes them.
 *
 * store_snapshots_open() takes the commit lock and opens snapshots of hearth.db and of all day
 * files. They show the same moment, between two groups of batches: each acknowledged batch is in
 * them as a whole or not at all, and hearth.db has all definitions that the day files refer to.
 * The lock is held for milliseconds; the copies are made without it.
 */

#include "symbolizer/sqlite/sqlite_db.h"

struct store_snapshots;

/* Whether the folder has a store of this engine. */
bool store_snapshots_has_store(const char *folder);

/* -ENOENT: @folder has no store. -ENOTSUP, -EUCLEAN: a file is no database of SQLite. */
int store_snapshots_open(const char *folder, struct store_snapshots **ret_snapshots);
struct store_snapshots *store_snapshots_free(struct store_snapshots *snapshots);

/* Writes all files into the folder @target, which has none of them. */
int store_snapshots_copy(const struct store_snapshots *snapshots, const char *target);

DEFINE_SCOPED(struct store_snapshots *, store_snapshots_free);
