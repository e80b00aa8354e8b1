/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes are kept as bytes: a batch that describes its host as before is recognized by a
 * comparison, and listing decodes them without the lock.
 */

#include "symbolizer/store/segment_db/host_table.h"

#include <inttypes.h>
#include <pthread.h>

#include "common/arena.h"
#include "common/hash_table.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/vec.h"
#include "symbolizer/store/host_codec.h"
#include "symbolizer/store/segment_db/inbox.h"

struct host_key {
	struct hash128 tenant; /* of the name */
	struct hash128 agent;
};

struct host_entry {
	struct hash128 agent;
	uint64_t first_seen_ns, last_seen_ns;
	bool is_changed;
	char *tenant;
	struct bytes attributes;
};

struct host_table {
	pthread_mutex_t lock;
	struct hash_table *hosts; /* struct host_key -> struct host_entry * */
	bool is_full;             /* logged */
};

static struct host_entry *entry_free(struct host_entry *entry)
{
	if (!entry)
		return NULL;
	bytes_release(&entry->attributes);
	free(entry->tenant);
	free(entry);
	return NULL;
}

struct host_table *host_table_free(struct host_table *table)
{
	struct host_entry **entry;
	size_t cursor = 0;

	if (!table)
		return NULL;
	while (table->hosts && hash_table_next(table->hosts, &cursor, NULL, (void **)&entry))
		(void)entry_free(*entry);
	(void)hash_table_free(table->hosts);
	(void)pthread_mutex_destroy(&table->lock);
	free(table);
	return NULL;
}

static int entry_new(const char *tenant, const struct hash128 *agent, struct host_entry **ret_entry)
{
	struct host_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return -ENOMEM;
	*entry = (struct host_entry){ .agent = *agent,
				      .tenant = strdup(tenant),
				      .attributes = BYTES_INIT(BATCH_MAX_BYTES),
				      .first_seen_ns = UINT64_MAX };
	if (!entry->tenant) {
		(void)entry_free(entry);
		return -ENOMEM;
	}
	*ret_entry = entry;
	return 0;
}

/* 1 found or added; 0: the table is full. */
static int find_or_add(struct host_table *table, const char *tenant, const struct hash128 *agent,
		       struct host_entry **ret_entry)
{
	const struct host_key key = { .tenant = hash128_of(tenant, strlen(tenant)),
				      .agent = *agent };
	struct host_entry **entry;
	int r = hash_table_insert(table->hosts, &key, (void **)&entry);

	if (r == -ENOSPC) {
		if (!table->is_full)
			log_warn("there are %u hosts, further ones are not listed", HOST_TABLE_MAX);
		table->is_full = true;
		return 0;
	}
	if (r > 0) {
		r = entry_new(tenant, agent, entry);
		if (r < 0)
			(void)hash_table_remove(table->hosts, &key);
	}
	if (r < 0)
		return r;
	*ret_entry = *entry;
	return 1;
}

static int load_row(struct host_table *table, sqlite3_stmt *row)
{
	struct bytes_view agent_id = sqlite_blob(row, 1), attributes = sqlite_blob(row, 2);
	struct host_entry *entry;
	struct hash128 agent;
	int r;

	if (agent_id.size != sizeof(agent))
		return -EUCLEAN;
	memcpy(&agent, agent_id.data, sizeof(agent));
	r = find_or_add(table, sqlite_text(row, 0), &agent, &entry);
	if (r <= 0)
		return r;
	entry->first_seen_ns = (uint64_t)sqlite3_column_int64(row, 3);
	entry->last_seen_ns = (uint64_t)sqlite3_column_int64(row, 4);
	return bytes_append(&entry->attributes, attributes.data, attributes.size);
}

int host_table_load(struct sqlite_db *inbox, struct host_table **ret_table)
{
	scoped(host_table_freep) struct host_table *table = calloc(1, sizeof(*table));
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	if (!table)
		return -ENOMEM;
	(void)pthread_mutex_init(&table->lock, NULL);
	r = hash_table_new(sizeof(struct host_key), sizeof(struct host_entry *), HOST_TABLE_MAX,
			   &table->hosts);
	if (r == 0)
		r = sqlite_query_values(inbox, INBOX_SQL_HOST_LIST, NULL, 0, &row);
	while (r > 0) {
		r = load_row(table, row);
		if (r == 0)
			r = sqlite_step(inbox, row);
	}
	if (r < 0)
		return r;
	*ret_table = take_ptr(table);
	return 0;
}

/* Takes the attributes of a batch that is not older than the latest one. */
static int describe(struct host_entry *entry, const struct batch *batch)
{
	scoped(bytes_release) struct bytes attributes = BYTES_INIT(BATCH_MAX_BYTES);
	int r;

	host_encode(&batch->host, &attributes);
	r = bytes_error(&attributes);
	if (r < 0)
		return r;
	entry->last_seen_ns = batch->closed_wall_ns;
	if (attributes.size == entry->attributes.size &&
	    memcmp(attributes.data, entry->attributes.data, attributes.size) == 0)
		return 0;
	bytes_release(&entry->attributes);
	entry->attributes = attributes;
	attributes = BYTES_INIT(0);
	return 0;
}

int host_table_note(struct host_table *table, const char *tenant, const struct batch *batch)
{
	struct host_entry *entry;
	int r;

	(void)pthread_mutex_lock(&table->lock);
	r = find_or_add(table, tenant, &batch->agent_id, &entry);
	if (r > 0) {
		entry->is_changed = true;
		entry->first_seen_ns = MIN(entry->first_seen_ns, batch->opened_wall_ns);
		r = batch->closed_wall_ns < entry->last_seen_ns ? 0 : describe(entry, batch);
	}
	(void)pthread_mutex_unlock(&table->lock);
	return r;
}

static int save_entry(struct sqlite_db *inbox, const struct host_entry *entry)
{
	return sqlite_run(inbox, INBOX_SQL_HOST_SAVE, SQL_TEXT(entry->tenant),
			  SQL_BLOB(&entry->agent, sizeof(entry->agent)),
			  SQL_BLOB(entry->attributes.data, entry->attributes.size),
			  SQL_INT(entry->first_seen_ns), SQL_INT(entry->last_seen_ns));
}

int host_table_save(struct host_table *table, struct sqlite_db *inbox)
{
	struct host_entry **entry;
	size_t cursor = 0;
	int r = 0;

	(void)pthread_mutex_lock(&table->lock);
	while (r == 0 && hash_table_next(table->hosts, &cursor, NULL, (void **)&entry))
		if ((*entry)->is_changed)
			r = save_entry(inbox, *entry);
	(void)pthread_mutex_unlock(&table->lock);
	return r;
}

void host_table_saved(struct host_table *table)
{
	struct host_entry **entry;
	size_t cursor = 0;

	(void)pthread_mutex_lock(&table->lock);
	while (hash_table_next(table->hosts, &cursor, NULL, (void **)&entry))
		(*entry)->is_changed = false;
	(void)pthread_mutex_unlock(&table->lock);
}

/* Hosts that are removed: those of a tenant, or (NULL) those last seen before a time. */
struct removal {
	const char *tenant;
	uint64_t before_wall_ns;
};

static bool is_removed(const struct removal *removal, const struct host_entry *entry)
{
	return removal->tenant ? strcmp(entry->tenant, removal->tenant) == 0
			       : entry->last_seen_ns < removal->before_wall_ns;
}

/* Deletes the rows in one transaction. 1 if there are any, 0 if not. */
static int delete_rows(struct host_table *table, struct sqlite_db *inbox,
		       const struct removal *removal)
{
	struct host_entry **entry;
	size_t cursor = 0;
	bool has_begun = false;
	int r = 0;

	while (r == 0 && hash_table_next(table->hosts, &cursor, NULL, (void **)&entry)) {
		if (!is_removed(removal, *entry))
			continue;
		if (!has_begun)
			r = sqlite_begin(inbox);
		has_begun = true;
		if (r == 0)
			r = sqlite_run(inbox, INBOX_SQL_HOST_DELETE, SQL_TEXT((*entry)->tenant),
				       SQL_BLOB(&(*entry)->agent, sizeof((*entry)->agent)));
	}
	if (has_begun && r == 0)
		r = sqlite_commit(inbox);
	else if (has_begun)
		sqlite_rollback(inbox);
	return r < 0 ? r : has_begun;
}

static void drop_entries(struct host_table *table, const struct removal *removal)
{
	struct host_entry **entry;
	size_t cursor = 0;

	while (hash_table_next(table->hosts, &cursor, NULL, (void **)&entry)) {
		if (!is_removed(removal, *entry))
			continue;
		(void)entry_free(*entry);
		hash_table_remove_at_cursor(table->hosts, &cursor);
	}
	table->is_full = false;
}

static int remove_hosts(struct host_table *table, struct sqlite_db *inbox,
			const struct removal *removal)
{
	int r;

	(void)pthread_mutex_lock(&table->lock);
	r = delete_rows(table, inbox, removal);
	if (r > 0)
		drop_entries(table, removal);
	(void)pthread_mutex_unlock(&table->lock);
	return MIN(r, 0);
}

int host_table_prune(struct host_table *table, struct sqlite_db *inbox, uint64_t before_wall_ns)
{
	return remove_hosts(table, inbox, &(struct removal){ .before_wall_ns = before_wall_ns });
}

int host_table_delete_tenant(struct host_table *table, struct sqlite_db *inbox, const char *tenant)
{
	return remove_hosts(table, inbox, &(struct removal){ .tenant = tenant });
}

/* A host that is listed, not decoded yet. */
struct copied_host {
	struct segment_db_host host;
	struct bytes_view attributes;
};

VEC_DEFINE(copied_hosts, struct copied_host);

static void copied_hosts_release(struct copied_hosts *copied)
{
	vec_release(copied);
}

static int copy_entry(const struct host_entry *entry, struct arena *arena,
		      struct copied_hosts *copied)
{
	struct copied_host host = { .host = { .agent = entry->agent,
					      .first_seen_ns = entry->first_seen_ns,
					      .last_seen_ns = entry->last_seen_ns },
				    .attributes = bytes_view_of(&entry->attributes) };

	host.attributes.data = arena_copy(arena, host.attributes.data, host.attributes.size);
	return host.attributes.data ? vec_push(copied, host) : -ENOMEM;
}

static int copy_hosts(struct host_table *table, const char *tenant, struct arena *arena,
		      struct copied_hosts *copied)
{
	struct host_entry **entry;
	size_t cursor = 0;
	int r = 0;

	(void)pthread_mutex_lock(&table->lock);
	while (r == 0 && hash_table_next(table->hosts, &cursor, NULL, (void **)&entry))
		if (strcmp((*entry)->tenant, tenant) == 0)
			r = copy_entry(*entry, arena, copied);
	(void)pthread_mutex_unlock(&table->lock);
	return r;
}

static int compare_copied(const void *a, const void *b)
{
	const struct copied_host *left = a, *right = b;

	return memcmp(&left->host.agent, &right->host.agent, sizeof(left->host.agent));
}

/* Hosts of which the disk has damaged the attributes are left out. */
static int decode_hosts(const struct copied_hosts *copied, struct arena *arena,
			struct segment_db_host **ret_hosts, size_t *ret_count)
{
	struct segment_db_host *hosts = arena_alloc_array(arena, copied->count, sizeof(*hosts));
	size_t count = 0;

	if (!hosts)
		return -ENOMEM;
	for (size_t i = 0; i < copied->count; i++) {
		int r;

		hosts[count] = copied->items[i].host;
		r = host_decode(copied->items[i].attributes, arena, &hosts[count].host);
		if (r < 0 && r != -EBADMSG)
			return r;
		count += r == 0;
	}
	*ret_hosts = hosts;
	*ret_count = count;
	return 0;
}

int host_table_list(struct host_table *table, const char *tenant, struct arena *arena,
		    struct segment_db_host **ret_hosts, size_t *ret_count)
{
	scoped(copied_hosts_release) struct copied_hosts copied = {};
	int r = copy_hosts(table, tenant, arena, &copied);

	if (r < 0)
		return r;
	if (copied.count > 0)
		qsort(copied.items, copied.count, sizeof(*copied.items), compare_copied);
	return decode_hosts(&copied, arena, ret_hosts, ret_count);
}
