/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/cache/open_table.h"

#include "common/log.h"
#include "symbolizer/symbols/cache/table_compiler.h"
#include "symbolizer/symbols/table/symbol_pack.h"

static int make_table(struct symbol_file *file_taken, struct bytes *memory_taken,
		      const struct hash128 *name, struct open_table **ret_table)
{
	struct open_table *table = calloc(1, sizeof(*table));

	if (!table) {
		(void)symbol_file_free(file_taken);
		return -ENOMEM;
	}
	table->file = file_taken;
	table->name = *name;
	table->bytes = sizeof(*table) + symbol_file_info(file_taken)->size_bytes;
	table->references = 1;
	if (memory_taken) {
		table->memory = *memory_taken;
		*memory_taken = BYTES_INIT(0);
	}
	*ret_table = table;
	return 0;
}

void open_table_release(struct open_table *table)
{
	if (!table || --table->references > 0)
		return;
	(void)symbol_file_free(table->file);
	bytes_release(&table->memory);
	free(table);
}

static int map_file(int fd, const struct hash128 *name, struct open_table **ret_table)
{
	struct symbol_file *file;
	int r = symbol_file_open(fd, &file);

	return r < 0 ? r : make_table(file, NULL, name, ret_table);
}

static int keep_in_memory(const struct hash128 *name, struct bytes *flat,
			  struct open_table **ret_table)
{
	struct symbol_file *file;
	int r = symbol_file_open_memory(bytes_view_of(flat), &file);

	return r < 0 ? r : make_table(file, flat, name, ret_table);
}

int open_table_from_flat(struct flat_files *files, const struct hash128 *name, struct bytes *flat,
			 struct open_table **ret_table)
{
	scoped_fd int fd = -1;
	int r;

	r = flat_files_write(files, name, bytes_view_of(flat), &fd);
	if (r == 0)
		r = map_file(fd, name, ret_table);
	/* For example a full disk. */
	if (r < 0 && r != -ENOMEM) {
		log_warn_errno(r, "cannot write a symbol table, keeping it in memory: %m");
		r = keep_in_memory(name, flat, ret_table);
	}
	bytes_release(flat);
	return r;
}

/* Returns 1, or 0 if there is no file, or it was damaged and has been removed. */
static int open_file(struct flat_files *files, const struct hash128 *name,
		     struct open_table **ret_table)
{
	scoped_fd int fd = -1;
	int r;

	r = flat_files_take(files, name, &fd);
	if (r <= 0)
		return r;
	r = map_file(fd, name, ret_table);
	if (r == -EBADMSG || r == -ESTALE) {
		flat_files_remove(files, name);
		return 0;
	}
	return r < 0 ? r : 1;
}

/* Expands the stored form into @flat. Returns 1, or 0 if it is missing, or damaged and removed. */
static int expand_row(struct table_database *database, const struct executable_id *id,
		      const struct stored_table *row, struct bytes *flat)
{
	struct bytes stored = BYTES_INIT(row->stored_bytes);
	struct symbol_file *file = NULL;
	char id_text[EXECUTABLE_ID_TEXT_SIZE];
	int r;

	r = table_database_load(database, id, &row->hash, &stored);
	if (r > 0) {
		r = symbol_unpack(bytes_view_of(&stored), flat);
		if (r == 0)
			r = symbol_file_open_memory(bytes_view_of(flat), &file);
		r = r < 0 ? r : 1;
	}
	(void)symbol_file_free(file);
	bytes_release(&stored);
	if (r == -ENOMEM || r >= 0)
		return r;
	executable_id_format(id, id_text);
	log_warn_errno(r, "cannot use the stored symbol table of '%s', compiling it again: %m",
		       id_text);
	r = table_database_remove(database, id);
	return MIN(r, 0);
}

int open_table_from_row(struct flat_files *files, struct table_database *database,
			const struct executable_id *id, const struct stored_table *row,
			struct open_table **ret_table)
{
	struct bytes flat = BYTES_INIT(TABLE_FLAT_MAX_BYTES);
	int r;

	if (row->stored_bytes == 0)
		return 0;
	r = open_file(files, &row->hash, ret_table);
	if (r != 0)
		return r;
	r = expand_row(database, id, row, &flat);
	if (r > 0) {
		r = open_table_from_flat(files, &row->hash, &flat, ret_table);
		r = r < 0 ? r : 1;
	}
	bytes_release(&flat);
	return r;
}
