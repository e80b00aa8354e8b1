/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/segment_db/executable_rows.h"

#include "common/arena.h"
#include "common/hash.h"
#include "common/limits.h"
#include "symbolizer/store/segment/segment_executables.h"

/*
 * Texts of one flush: 300 000 executables with paths of 150 bytes. A hostile agent may define as
 * many as fit into its definitions, all with the same long path, which a segment has only once.
 */
#define MAX_TEXT_BYTES (64 * MIB)

struct row_key {
	struct hash128 tenant, id;
	uint64_t day;
	uint64_t class;
};

struct addition {
	struct executable_rows *rows;
	const struct labeled_segment *segment;
	struct row_key key;
};

void executable_rows_release(struct executable_rows *rows)
{
	rows->known = hash_table_free(rows->known);
	rows->arena = arena_free(rows->arena);
	vec_release(&rows->rows);
}

static const char *copy(struct executable_rows *rows, struct bytes_view text)
{
	return text.size ? arena_copy_text(rows->arena, (const char *)text.data, text.size) : "";
}

/* Adds texts that were not known so far. */
static int complete_row(struct executable_rows *rows, struct executable_row *row,
			const struct segment_executable *executable)
{
	if (!row->name[0])
		row->name = copy(rows, executable->name);
	if (!row->name)
		return -ENOMEM;
	if (!row->path[0])
		row->path = copy(rows, executable->path);
	return row->path ? 0 : -ENOMEM;
}

static int add_row(struct addition *addition, const struct segment_executable *executable)
{
	struct executable_rows *rows = addition->rows;
	struct executable_row row = { .day = addition->segment->day,
				      .tenant = addition->segment->tenant,
				      .class = executable->class,
				      .role = executable->role,
				      .name = "",
				      .path = "" };

	row.id = (struct bytes_view){ .data = arena_copy(rows->arena, executable->id.data,
							 executable->id.size),
				      .size = executable->id.size };
	if (!row.id.data || complete_row(rows, &row, executable) < 0)
		return -ENOMEM;
	return vec_push(&rows->rows, row);
}

static int add_executable(void *arg, const struct segment_executable *executable)
{
	struct addition *addition = arg;
	struct executable_rows *rows = addition->rows;
	size_t *row_plus_one;
	int r;

	if (arena_used_bytes(rows->arena) >= MAX_TEXT_BYTES)
		return 0;
	addition->key.class = executable->class;
	addition->key.id = hash128_of(executable->id.data, executable->id.size);
	r = hash_table_insert(rows->known, &addition->key, (void **)&row_plus_one);
	if (r == 0)
		return complete_row(rows, &rows->rows.items[*row_plus_one - 1], executable);
	if (r < 0)
		return r;
	r = add_row(addition, executable);
	*row_plus_one = rows->rows.count;
	return r;
}

/* The arena has unused ends of blocks. */
static int make_tables(struct executable_rows *rows)
{
	int r = 0;

	if (!rows->known)
		r = hash_table_new(sizeof(struct row_key), sizeof(size_t), 0, &rows->known);
	if (r == 0 && !rows->arena)
		r = arena_new(2 * MAX_TEXT_BYTES, &rows->arena);
	return r;
}

int executable_rows_add(struct executable_rows *rows, const struct labeled_segment *segment)
{
	struct addition addition = { .rows = rows, .segment = segment };
	int r = make_tables(rows);

	addition.key.tenant = hash128_of(segment->tenant, strlen(segment->tenant));
	addition.key.day = segment->day;
	return r < 0 ? r : segment_executables(segment->segment, add_executable, &addition);
}

int executable_rows_write(const struct executable_rows *rows, segment_day day,
			  struct sqlite_db *file)
{
	int r = 0;

	for (size_t i = 0; i < rows->rows.count && r == 0; i++) {
		const struct executable_row *row = &rows->rows.items[i];

		if (row->day == day)
			r = sqlite_run(file, DAY_SQL_EXECUTABLE_ADD, SQL_TEXT(row->tenant),
				       SQL_INT(row->class), SQL_BLOB(row->id.data, row->id.size),
				       SQL_TEXT(row->name), SQL_INT(row->role),
				       SQL_TEXT(row->path));
	}
	return r;
}
