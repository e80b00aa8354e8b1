/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "common/clock.h"
#include "symbolizer/store/store.h"

/*
 * The embedded engine. In @folder: hearth.db for what lasts, samples-YYYY-MM-DD.db (UTC) per day.
 * WAL, synchronous=FULL. The folder is locked: -EBUSY when another server has it open. -ESTALE when
 * a day file belongs to another hearth.db.
 */
int sqlite_store_open(const char *folder, const struct clock *clock, struct store **ret_store);

/*
 * Retention: removes the files of days that ended at or before @before_wall_ns; *ret_removed says
 * how many. Queries that read one of them at this moment finish. @store must be of this engine.
 */
int sqlite_store_prune(struct store *store, uint64_t before_wall_ns, size_t *ret_removed);
