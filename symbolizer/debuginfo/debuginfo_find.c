/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vec.h"
#include "symbolizer/debuginfo/debuginfo_private.h"

uint64_t debuginfo_generation(struct debuginfo_store *store)
{
	return atomic_load(&store->generation);
}

int debuginfo_find_kind(struct debuginfo_store *store, const struct debuginfo_key *key,
			struct debuginfo_entry *ret_entry)
{
	struct stored_file file;
	int r;

	(void)pthread_mutex_lock(&store->read_lock);
	r = debuginfo_db_best(store->reader, key, &file);
	(void)pthread_mutex_unlock(&store->read_lock);
	if (r > 0)
		*ret_entry = file.entry;
	return r;
}

int debuginfo_find(struct debuginfo_store *store, const struct executable_id *id,
		   struct debuginfo_entry *ret_entry)
{
	const struct debuginfo_key key = { .id = *id, .kind = DEBUGINFO_KIND_NAMES, .path = "" };

	return debuginfo_find_kind(store, &key, ret_entry);
}

VEC_DEFINE(entries, struct debuginfo_entry);

/* @id NULL: files of all identities. */
static int collect(struct sqlite_db *db, enum debuginfo_statement statement,
		   const struct executable_id *id, struct entries *entries)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	if (id)
		r = sqlite_query(db, statement, &row, SQL_INT(id->kind),
				 SQL_BLOB(id->bytes, id->size));
	else
		r = sqlite_query(db, statement, &row);
	while (r > 0) {
		struct stored_file file;

		r = debuginfo_db_row(row, &file);
		/* Rows of sources have their count in the column for the content ID. */
		if (file.entry.is_source)
			file.entry.n_files = (uint32_t)file.content;
		if (r == 0)
			r = vec_push(entries, file.entry);
		if (r == 0)
			r = sqlite_step(db, row);
	}
	return r;
}

static int collect_all(struct sqlite_db *db, const struct executable_id *id,
		       struct entries *entries)
{
	int r;

	r = collect(db, id ? SQL_ELVES_OF : SQL_ELVES_ALL, id, entries);
	if (r == 0)
		r = collect(db, id ? SQL_SOURCES_OF : SQL_SOURCES_ALL, id, entries);
	return r;
}

static int list(struct debuginfo_store *store, const struct executable_id *id, struct arena *arena,
		struct debuginfo_entry **ret_entries, size_t *ret_count)
{
	struct entries entries = {};
	struct sqlite_db *db = NULL;
	enum debuginfo_origin origin;
	struct executable_id aliased;
	int r;

	r = debuginfo_reader_take(store, &db);
	if (r == 0)
		r = collect_all(db, id, &entries);
	if (r == 0 && id)
		r = debuginfo_db_alias(db, id, &aliased, &origin);
	if (r > 0)
		r = collect_all(db, &aliased, &entries);
	debuginfo_reader_give_back(store, db);
	if (r == 0) {
		*ret_entries =
			arena_copy(arena, entries.items, entries.count * sizeof(*entries.items));
		*ret_count = entries.count;
		r = *ret_entries ? 0 : -ENOMEM;
	}
	vec_release(&entries);
	return r;
}

int debuginfo_list(struct debuginfo_store *store, struct arena *arena,
		   struct debuginfo_entry **ret_entries, size_t *ret_count)
{
	return list(store, NULL, arena, ret_entries, ret_count);
}

int debuginfo_list_of(struct debuginfo_store *store, const struct executable_id *id,
		      struct arena *arena, struct debuginfo_entry **ret_entries, size_t *ret_count)
{
	return list(store, id, arena, ret_entries, ret_count);
}
