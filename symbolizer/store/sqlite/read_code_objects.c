/* SPDX-License-Identifier: Apache-2.0 */
/* Reads code objects and event types, which agents describe by their content and name. */

#include "symbolizer/store/sqlite/codec.h"
#include "symbolizer/store/sqlite/read.h"

static const char *copy_text(struct arena *arena, sqlite3_stmt *row, int column)
{
	return arena_copy_text(arena, sqlite_text(row, column),
			       (size_t)sqlite3_column_bytes(row, column));
}

static int object_of_row(sqlite3_stmt *row, uint32_t id, struct arena *arena,
			 struct store_code_object *ret_object)
{
	struct bytes_view line_table = sqlite_blob(row, 5);
	struct store_code_object object = {
		.id = id,
		.language = copy_text(arena, row, 0),
		.function = copy_text(arena, row, 1),
		.qualified_name = copy_text(arena, row, 2),
		.file = copy_text(arena, row, 3),
		.first_line = (uint32_t)sqlite3_column_int64(row, 4),
		.line_table = { .data = arena_copy(arena, line_table.data, line_table.size),
				.size = line_table.size },
	};

	if (!object.language || !object.function || !object.qualified_name || !object.file ||
	    !object.line_table.data)
		return -ENOMEM;
	*ret_object = object;
	return 0;
}

int read_code_objects(struct connection_set *set, const uint32_t *ids, size_t count,
		      struct arena *arena, struct store_code_object *ret_objects)
{
	scoped(sqlite_end_readp) struct sqlite_db *reading = NULL;
	struct sqlite_db *hearth;
	int r;

	r = connection_set_hearth(set, &hearth);
	if (r == 0)
		r = sqlite_begin_read(hearth, &reading);
	for (size_t i = 0; r >= 0 && i < count; i++) {
		scoped(sqlite_resetp) sqlite3_stmt *row = NULL;

		ret_objects[i] = (struct store_code_object){
			.language = "", .function = "", .qualified_name = "", .file = ""
		};
		r = sqlite_query(hearth, SQL_CODE_OBJECT_LOAD, &row, SQL_INT(ids[i]));
		if (r > 0)
			r = object_of_row(row, ids[i], arena, &ret_objects[i]);
	}
	return MIN(r, 0);
}

int read_event_type(struct connection_set *set, const char *tenant, const char *name,
		    struct arena *arena, struct event_type_info *ret_info)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct event_type_info info = { .name = arena_copy_text(arena, name, strlen(name)) };
	struct sqlite_db *hearth;
	int r;

	r = connection_set_hearth(set, &hearth);
	if (r == 0)
		r = sqlite_query(hearth, SQL_EVENT_TYPE_BY_NAME, &row, SQL_TEXT(tenant),
				 SQL_TEXT(name));
	if (r <= 0)
		return r;
	info.type = (enum event_type)sqlite3_column_int64(row, 0);
	info.unit = copy_text(arena, row, 1);
	info.kind = (enum event_value_kind)sqlite3_column_int(row, 2);
	if (!info.name || !info.unit)
		return -ENOMEM;
	*ret_info = info;
	return 1;
}

int read_event_of_number(struct sqlite_db *hearth, uint32_t type, struct arena *arena,
			 struct event_type_info *ret_info)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(hearth, SQL_EVENT_TYPE_LOAD, &row, SQL_INT(type));
	if (r <= 0)
		return r < 0 ? r : -EIO;
	*ret_info = (struct event_type_info){
		.type = (enum event_type)type,
		.name = arena_copy_text(arena, sqlite_text(row, 0),
					(size_t)sqlite3_column_bytes(row, 0)),
		.unit = arena_copy_text(arena, sqlite_text(row, 1),
					(size_t)sqlite3_column_bytes(row, 1)),
		.kind = (enum event_value_kind)sqlite3_column_int(row, 2),
	};
	return ret_info->name && ret_info->unit ? 0 : -ENOMEM;
}
