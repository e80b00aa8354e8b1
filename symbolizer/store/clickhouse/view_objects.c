/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads what frames refer to: executables, code objects, and names of kernel code.
 *
 * Later definitions of an executable may add its name, role or segments; the rows are merged. The
 * handle of a named frame is its key.
 */

#include "symbolizer/store/clickhouse/view_private.h"

#include "symbolizer/store/clickhouse/rows.h"

#define EXECUTABLE_COLUMNS                                                                         \
	"SELECT id, any(kind), any(identity), max(name), max(role), "                              \
	"argMax(file_offsets, n_segments), argMax(vaddrs, n_segments), "                           \
	"argMax(file_sizes, n_segments) FROM executables WHERE "

/* 8 bytes each. */
#define MAX_KEY_BYTES MIB

struct executable_load {
	struct clickhouse_view *self;
	struct arena *arena;
	struct hash_table *executables; /* u32 number -> struct store_executable */
};

struct numbers_array {
	size_t count;
	struct bytes_reader items;
};

static struct numbers_array read_numbers(struct bytes_reader *row)
{
	struct numbers_array numbers = { .count = row_read_count(row, sizeof(uint64_t)) };

	numbers.items = *row;
	if (row->error == 0)
		row->next += numbers.count * sizeof(uint64_t);
	return numbers;
}

struct executable_row {
	struct hash128 id;
	struct executable_id identity;
	struct bytes_view name;
	uint8_t role;
	struct numbers_array file_offsets, vaddrs, file_sizes;
};

static int copy_segments(struct executable_row *row, struct arena *arena,
			 struct store_executable *executable)
{
	size_t count = row->file_offsets.count;
	struct load_segment *segments = arena_alloc_array(arena, count, sizeof(*segments));

	if (!segments)
		return -ENOMEM;
	if (row->vaddrs.count != count || row->file_sizes.count != count)
		return -EBADMSG;
	for (size_t i = 0; i < count; i++)
		segments[i] = (struct load_segment){
			.file_offset = row_read_u64(&row->file_offsets.items),
			.vaddr = row_read_u64(&row->vaddrs.items),
			.file_size = row_read_u64(&row->file_sizes.items),
		};
	executable->segments = segments;
	executable->n_segments = (uint32_t)count;
	return 0;
}

static int add_executable(struct executable_load *load, struct executable_row *row)
{
	struct store_executable executable = { .identity = row->identity,
					       .role = (enum executable_role)row->role };
	struct store_executable *slot;
	int r = id_table_number(load->self->executables, &row->id, &executable.id);

	executable.name = row_copy_text(row->name, load->arena);
	if (r == 0 && !executable.name)
		r = -ENOMEM;
	if (r == 0)
		r = copy_segments(row, load->arena, &executable);
	if (r == 0)
		r = hash_table_insert(load->executables, &executable.id, (void **)&slot);
	if (r < 0)
		return r;
	*slot = executable;
	return 0;
}

static int read_executable(void *arg, struct bytes_reader *reader)
{
	struct executable_row row = { .id = row_read_hash(reader) };
	uint8_t kind = row_read_u8(reader);
	struct bytes_view identity = row_read_string(reader);

	row.name = row_read_string(reader);
	row.role = row_read_u8(reader);
	row.file_offsets = read_numbers(reader);
	row.vaddrs = read_numbers(reader);
	row.file_sizes = read_numbers(reader);
	if (reader->error < 0)
		return 0;
	if (executable_id_set(&row.identity, kind, identity.data, identity.size) < 0)
		return -EBADMSG;
	return add_executable(arg, &row);
}

int clickhouse_view_load_executables(struct store_view *view, const uint32_t *ids, size_t count,
				     struct arena *arena, struct store_executable *ret_executables)
{
	struct clickhouse_view *self = clickhouse_view_of(view);
	scoped(hash_table_freep) struct hash_table *executables = NULL;
	struct executable_load load = { .self = self, .arena = arena };
	const struct clickhouse_lookup lookup = {
		.self = self,
		.ids = self->executables,
		.select = EXECUTABLE_COLUMNS "id IN (SELECT id FROM wanted) AND ",
		.after = " GROUP BY id",
		.read_row = read_executable,
		.arg = &load,
	};
	int r = hash_table_new(sizeof(uint32_t), sizeof(struct store_executable), 0, &executables);

	load.executables = executables;
	if (r == 0)
		r = clickhouse_view_look_up_ids(&lookup, ids, count);
	for (size_t i = 0; i < count && r == 0; i++) {
		const struct store_executable *found = hash_table_find(executables, &ids[i]);

		ret_executables[i] = found ? *found : (struct store_executable){ .name = "" };
	}
	return r;
}

int clickhouse_view_find_executable(struct store_view *view, const struct executable_id *identity,
				    struct arena *arena, struct store_executable *ret_executable)
{
	struct clickhouse_view *self = clickhouse_view_of(view);
	const struct hash128 id = rows_executable_id(view->tenant, identity);
	scoped(hash_table_freep) struct hash_table *executables = NULL;
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	struct executable_load load = { .self = self, .arena = arena };
	struct clickhouse_query query = { .read_row = read_executable, .arg = &load };
	struct store_executable *found;
	size_t cursor = 0;
	int r = hash_table_new(sizeof(uint32_t), sizeof(struct store_executable), 0, &executables);

	load.executables = executables;
	(void)bytes_append_text(&sql, EXECUTABLE_COLUMNS "day >= 0 AND id = toFixedString(");
	sql_add_string(&sql, &id, sizeof(id));
	(void)bytes_append_text(&sql, ", 16) GROUP BY id FORMAT RowBinary");
	if (r == 0)
		r = sql_end(&sql);
	query.sql = (const char *)sql.data;
	if (r == 0)
		r = clickhouse_view_run(self, &query);
	if (r < 0 || !hash_table_next(executables, &cursor, NULL, (void **)&found))
		return r;
	*ret_executable = *found;
	return 1;
}

struct code_load {
	struct clickhouse_view *self;
	struct arena *arena;
	struct hash_table *objects; /* u32 number -> struct store_code_object */
};

static int add_code_object(struct code_load *load, const struct hash128 *id,
			   const struct bytes_view texts[4], struct bytes_view line_table,
			   uint32_t first_line)
{
	struct store_code_object *slot, object = {
		.language = row_copy_text(texts[0], load->arena),
		.function = row_copy_text(texts[1], load->arena),
		.qualified_name = row_copy_text(texts[2], load->arena),
		.file = row_copy_text(texts[3], load->arena),
		.first_line = first_line,
		.line_table = { .data = arena_copy(load->arena, line_table.data, line_table.size),
				.size = line_table.size },
	};
	int r = id_table_number(load->self->code_objects, id, &object.id);

	if (!object.language || !object.function || !object.qualified_name || !object.file ||
	    !object.line_table.data)
		return -ENOMEM;
	if (r == 0)
		r = hash_table_insert(load->objects, &object.id, (void **)&slot);
	if (r < 0)
		return r;
	*slot = object;
	return 0;
}

static int read_code_object(void *arg, struct bytes_reader *row)
{
	struct hash128 id = row_read_hash(row);
	struct bytes_view texts[4], line_table;
	uint32_t first_line;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		texts[i] = row_read_string(row);
	first_line = row_read_u32(row);
	line_table = row_read_string(row);
	return row->error < 0 ? 0 : add_code_object(arg, &id, texts, line_table, first_line);
}

int clickhouse_view_load_code_objects(struct store_view *view, const uint32_t *ids, size_t count,
				      struct arena *arena, struct store_code_object *ret_objects)
{
	struct clickhouse_view *self = clickhouse_view_of(view);
	scoped(hash_table_freep) struct hash_table *objects = NULL;
	struct code_load load = { .self = self, .arena = arena };
	const struct clickhouse_lookup lookup = {
		.self = self,
		.ids = self->code_objects,
		.select = "SELECT id, language, name, qualified_name, file, first_line, line_table "
			  "FROM code_objects WHERE id IN (SELECT id FROM wanted) AND ",
		.after = " LIMIT 1 BY id",
		.read_row = read_code_object,
		.arg = &load,
	};
	int r = hash_table_new(sizeof(uint32_t), sizeof(struct store_code_object), 0, &objects);

	load.objects = objects;
	if (r == 0)
		r = clickhouse_view_look_up_ids(&lookup, ids, count);
	for (size_t i = 0; i < count && r == 0; i++) {
		const struct store_code_object *found = hash_table_find(objects, &ids[i]);

		ret_objects[i] = found ? *found
				       : (struct store_code_object){ .language = "",
								     .function = "",
								     .qualified_name = "",
								     .file = "" };
	}
	return r;
}

struct name_load {
	struct arena *arena;
	struct hash_table *names; /* u64 key -> const char * */
};

static int read_name(void *arg, struct bytes_reader *row)
{
	struct name_load *load = arg;
	uint64_t key = row_read_u64(row);
	struct bytes_view name = row_read_string(row);
	const char **slot;
	int r;

	if (row->error < 0)
		return 0;
	r = hash_table_insert(load->names, &key, (void **)&slot);
	if (r < 0)
		return r;
	*slot = row_copy_text(name, load->arena);
	return *slot ? 0 : -ENOMEM;
}

static int load_names(struct clickhouse_view *self, struct name_load *load,
		      const struct bytes *keys)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	const struct clickhouse_table wanted = { .name = "wanted",
						 .structure = "wanted_key UInt64",
						 .rows = bytes_view_of(keys) };
	struct clickhouse_query query = {
		.tables = &wanted, .n_tables = 1, .read_row = read_name, .arg = load
	};
	int r;

	(void)bytes_append_text(&sql, "SELECT frame_key, any(name) FROM named_frames WHERE ");
	clickhouse_view_add_days(self, &sql);
	sql_add_equal(&sql, "tenant", self->view.tenant);
	(void)bytes_append_text(&sql, " AND frame_key IN (SELECT wanted_key FROM wanted) "
				      "GROUP BY frame_key FORMAT RowBinary");
	r = sql_end(&sql);
	if (r == 0)
		r = bytes_error(keys);
	query.sql = (const char *)sql.data;
	return r < 0 || keys->size == 0 ? r : clickhouse_view_run(self, &query);
}

int clickhouse_view_named_frames(struct store_view *view, const uint64_t *addresses, size_t count,
				 struct arena *arena, const char **ret_names)
{
	scoped(bytes_release) struct bytes keys = BYTES_INIT(MAX_KEY_BYTES);
	scoped(hash_table_freep) struct hash_table *names = NULL;
	struct name_load load = { .arena = arena };
	int r = hash_table_new(sizeof(uint64_t), sizeof(char *), 0, &names);

	load.names = names;
	for (size_t i = 0; i < count && r == 0; i++) {
		row_add_u64(&keys, addresses[i]);
		if (keys.size < keys.ceiling)
			continue;
		r = load_names(clickhouse_view_of(view), &load, &keys);
		bytes_clear(&keys);
	}
	if (r == 0)
		r = load_names(clickhouse_view_of(view), &load, &keys);
	for (size_t i = 0; i < count && r == 0; i++) {
		const char **name = hash_table_find(names, &addresses[i]);

		ret_names[i] = name ? *name : NULL;
	}
	return r;
}
