/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The hosts of all tenants, in memory: one for each agent ID, as its latest batch describes it. A
 * flush saves those that changed in inbox.db; batches in the inbox add theirs again after a
 * restart.
 *
 * The table has its own lock, which is taken last, so that a reader does not delay batches. The
 * functions that use inbox.db need inbox_lock.
 */

#include "symbolizer/sqlite/sqlite_db.h"
#include "symbolizer/store/segment_db/segment_db.h"

struct host_table;

/*
 * Most hosts of all tenants; further ones are not listed, but their samples are. A host takes about
 * 500 bytes.
 */
#define HOST_TABLE_MAX (1u << 18)

/* Loads the hosts of inbox.db. */
int host_table_load(struct sqlite_db *inbox, struct host_table **ret_table);
struct host_table *host_table_free(struct host_table *table);

/* Notes an accepted batch. A batch that is older than the latest one changes first_seen only. */
int host_table_note(struct host_table *table, const char *tenant, const struct batch *batch);

/*
 * Saves changed hosts in the open transaction of @inbox. host_table_saved() after the commit: else
 * they are saved again.
 */
int host_table_save(struct host_table *table, struct sqlite_db *inbox);
void host_table_saved(struct host_table *table);

/* Removes the hosts that were last seen before @before_wall_ns, also from @inbox. */
int host_table_prune(struct host_table *table, struct sqlite_db *inbox, uint64_t before_wall_ns);

/* Removes the hosts of a tenant, also from @inbox. */
int host_table_delete_tenant(struct host_table *table, struct sqlite_db *inbox, const char *tenant);

/* As segment_db_list_hosts(). */
int host_table_list(struct host_table *table, const char *tenant, struct arena *arena,
		    struct segment_db_host **ret_hosts, size_t *ret_count);

DEFINE_SCOPED(struct host_table *, host_table_free);
