/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agents send the same names in every batch, so nearly all look-ups end in the cache. Names that a
 * full tenant may not add are cached too, else each of them would cost a search per batch.
 */

#include "symbolizer/store/sqlite/counter_names.h"

#include "common/hash.h"
#include "common/hash_table.h"
#include "common/log.h"
#include "symbolizer/store/sqlite/counter_codec.h"

/* Names of all tenants that are cached. The cache is emptied when it is full. */
#define MAX_CACHED 65536

struct name_key {
	struct hash128 name;
	uint64_t tenant;
};

void counter_names_release(struct counter_names *names)
{
	names->ids = hash_table_free(names->ids);
}

void counter_names_forget(struct counter_names *names)
{
	if (names->ids)
		hash_table_clear(names->ids);
}

int counter_names_begin(struct counter_names *names, day_number day)
{
	if (!names->ids)
		return hash_table_new(sizeof(struct name_key), sizeof(uint32_t), 0, &names->ids);
	if (names->day != day || hash_table_count(names->ids) > MAX_CACHED)
		hash_table_clear(names->ids);
	names->day = day;
	return 0;
}

static int count_names(struct sqlite_db *db, const char *tenant, uint64_t *ret_count)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(db, SQL_COUNTER_NAME_COUNT, &row, SQL_TEXT(tenant));

	if (r <= 0)
		return r < 0 ? r : -EIO;
	*ret_count = (uint64_t)sqlite3_column_int64(row, 0);
	return 0;
}

static int add_name(struct sqlite_db *db, const char *tenant, const char *name, uint32_t *ret_id)
{
	uint64_t count;
	int r;

	r = count_names(db, tenant, &count);
	if (r < 0)
		return r;
	*ret_id = COUNTER_LEFT_OUT;
	if (count >= COUNTER_NAMES_MAX)
		return 0;
	if (count == COUNTER_NAMES_MAX - 1)
		log_warn("agents of tenant '%s' have sent %d names of counters today, counters "
			 "with further names are left out",
			 tenant, COUNTER_NAMES_MAX);
	r = sqlite_run(db, SQL_COUNTER_NAME_ADD, SQL_TEXT(tenant), SQL_TEXT(name));
	if (r == 0)
		*ret_id = (uint32_t)sqlite_last_id(db);
	return r;
}

static int find_or_add(struct sqlite_db *db, const char *tenant, const char *name, uint32_t *ret_id)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(db, SQL_COUNTER_NAME_FIND, &row, SQL_TEXT(tenant), SQL_TEXT(name));
	if (r == 0)
		return add_name(db, tenant, name, ret_id);
	if (r > 0)
		*ret_id = (uint32_t)sqlite3_column_int64(row, 0);
	return MIN(r, 0);
}

int counter_names_find(struct counter_names *names, struct sqlite_db *db, const char *tenant,
		       const char *name, uint32_t *ret_id)
{
	size_t length = strlen(name);
	const struct name_key key = {
		.name = hash128_of(name, length),
		.tenant = hash64_of(tenant, strlen(tenant)),
	};
	const uint32_t *known = hash_table_find(names->ids, &key);
	uint32_t id = COUNTER_LEFT_OUT;
	void *value;
	int r = 0;

	if (known) {
		*ret_id = *known;
		return 0;
	}
	if (length <= COUNTER_NAME_MAX_BYTES)
		r = find_or_add(db, tenant, name, &id);
	if (r == 0)
		r = hash_table_insert(names->ids, &key, &value);
	if (r < 0)
		return r;
	*(uint32_t *)value = id;
	*ret_id = id;
	return 0;
}
