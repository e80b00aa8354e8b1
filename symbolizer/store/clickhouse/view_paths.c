/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the paths of files. Processes that map equal files from equal paths share a path set. A
 * file without a process has the path of any process of the range.
 */

#include "symbolizer/store/clickhouse/view_private.h"

/* Of the tables of a query, 16 bytes for each ID. */
#define MAX_WANTED_BYTES (64 * MIB)

struct path_key {
	uint32_t path_set; /* 0: any */
	uint32_t executable;
};

struct path_load {
	struct clickhouse_view *self;
	struct arena *arena;
	struct hash_table *paths; /* struct path_key -> const char *; NULL: not found */
};

static void path_load_release(struct path_load *load)
{
	(void)hash_table_free(load->paths);
}

static struct path_key key_of(const struct clickhouse_view *self,
			      const struct store_mapped_file *file)
{
	struct path_key key = { .executable = file->executable };

	if (file->process > 0 && file->process < self->path_set_of.count)
		key.path_set = self->path_set_of.items[file->process];
	return key;
}

/* A process without a path set has no paths. */
static bool is_wanted(const struct clickhouse_view *self, const struct store_mapped_file *file)
{
	return file->executable != 0 && id_table_id(self->executables, file->executable) &&
	       (file->process == 0 || key_of(self, file).path_set != 0);
}

static int read_path(void *arg, struct bytes_reader *row)
{
	struct path_load *load = arg;
	struct hash128 set = row_read_hash(row), executable = row_read_hash(row);
	struct bytes_view path = row_read_string(row);
	struct path_key key = {};
	const char **slot;
	int r;

	if (row->error < 0)
		return 0;
	r = id_table_number(load->self->path_sets, &set, &key.path_set);
	if (r == 0)
		r = id_table_number(load->self->executables, &executable, &key.executable);
	if (r < 0)
		return r;
	/* Other pairs of a wanted set and a wanted executable are not asked for. */
	slot = hash_table_find(load->paths, &key);
	if (!slot || *slot)
		return 0;
	*slot = row_copy_text(path, load->arena);
	return *slot ? 0 : -ENOMEM;
}

/* The tables of sets and executables of all keys that name a set, or of those that do not. */
static void add_wanted(const struct path_load *load, bool with_sets, struct bytes *sets,
		       struct bytes *executables)
{
	const struct path_key *key;
	size_t cursor = 0;

	while (hash_table_next(load->paths, &cursor, (const void **)&key, NULL)) {
		if ((key->path_set != 0) != with_sets)
			continue;
		row_add_hash(sets, id_table_id(load->self->path_sets, key->path_set));
		row_add_hash(executables, id_table_id(load->self->executables, key->executable));
	}
}

static int load_paths(struct path_load *load, bool with_sets)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	scoped(bytes_release) struct bytes sets = BYTES_INIT(MAX_WANTED_BYTES);
	scoped(bytes_release) struct bytes executables = BYTES_INIT(MAX_WANTED_BYTES);
	struct clickhouse_table tables[] = {
		{ .name = "sets", .structure = "id FixedString(16)" },
		{ .name = "files", .structure = "file FixedString(16)" },
	};
	struct clickhouse_query query = {
		.tables = tables, .n_tables = ARRAY_SIZE(tables), .read_row = read_path, .arg = load
	};
	int r;

	add_wanted(load, with_sets, &sets, &executables);
	(void)bytes_append_format(&sql,
				  "SELECT %s AS of_set, executable, max(path) FROM path_sets "
				  "ARRAY JOIN executables AS executable, paths AS path WHERE ",
				  with_sets ? "id" : "toFixedString('', 16)");
	clickhouse_view_add_days(load->self, &sql);
	(void)bytes_append_text(&sql, with_sets ? " AND id IN (SELECT id FROM sets)" : "");
	(void)bytes_append_text(&sql, " AND executable IN (SELECT file FROM files) "
				      "GROUP BY of_set, executable FORMAT RowBinary");
	r = sql_end(&sql);
	if (r == 0)
		r = bytes_error(&sets);
	tables[0].rows = bytes_view_of(&sets);
	tables[1].rows = bytes_view_of(&executables);
	query.sql = (const char *)sql.data;
	return r < 0 || sets.size == 0 ? r : clickhouse_view_run(load->self, &query);
}

int clickhouse_view_paths_of(struct store_view *view, const struct store_mapped_file *files,
			     size_t count, struct arena *arena, const char **ret_paths)
{
	struct clickhouse_view *self = clickhouse_view_of(view);
	scoped(path_load_release) struct path_load load = { .self = self, .arena = arena };
	int r = hash_table_new(sizeof(struct path_key), sizeof(char *), 0, &load.paths);

	for (size_t i = 0; i < count && r >= 0; i++) {
		const struct path_key key = key_of(self, &files[i]);

		if (is_wanted(self, &files[i]))
			r = hash_table_insert(load.paths, &key, NULL);
	}
	if (r >= 0)
		r = load_paths(&load, true);
	if (r == 0)
		r = load_paths(&load, false);
	for (size_t i = 0; i < count && r == 0; i++) {
		const struct path_key key = key_of(self, &files[i]);
		const char **path =
			is_wanted(self, &files[i]) ? hash_table_find(load.paths, &key) : NULL;

		ret_paths[i] = path ? *path : NULL;
	}
	return MIN(r, 0);
}
