/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/cache/cached_table.h"

#include "common/log.h"
#include "symbolizer/symbols/cache/table_maker.h"
#include "symbolizer/symbols/table/symbol_pack.h"

static int make_cached(struct symbol_file *file_taken, struct bytes *memory_taken,
		       const struct hash128 *name, struct cached_table **ret_cached)
{
	struct cached_table *cached = calloc(1, sizeof(*cached));

	if (!cached) {
		(void)symbol_file_free(file_taken);
		return -ENOMEM;
	}
	cached->file = file_taken;
	cached->name = *name;
	cached->bytes = sizeof(*cached) + symbol_file_info(file_taken)->size_bytes;
	cached->references = 1;
	if (memory_taken) {
		cached->memory = *memory_taken;
		*memory_taken = BYTES_INIT(0);
	}
	*ret_cached = cached;
	return 0;
}

void cached_table_release(struct cached_table *cached)
{
	if (!cached || --cached->references > 0)
		return;
	(void)symbol_file_free(cached->file);
	bytes_release(&cached->memory);
	free(cached);
}

static int map_file(int fd, const struct hash128 *name, struct cached_table **ret_cached)
{
	struct symbol_file *file;
	int r = symbol_file_open(fd, &file);

	return r < 0 ? r : make_cached(file, NULL, name, ret_cached);
}

static int keep_in_memory(const struct hash128 *name, struct bytes *flat,
			  struct cached_table **ret_cached)
{
	struct symbol_file *file;
	int r = symbol_file_open_memory(bytes_view_of(flat), &file);

	return r < 0 ? r : make_cached(file, flat, name, ret_cached);
}

int cached_table_of_flat(struct table_files *files, const struct hash128 *name, struct bytes *flat,
			 struct cached_table **ret_cached)
{
	scoped_fd int fd = -1;
	int r;

	r = table_files_write(files, name, bytes_view_of(flat), &fd);
	if (r == 0)
		r = map_file(fd, name, ret_cached);
	/* A full disk: names are worth some memory. */
	if (r < 0 && r != -ENOMEM) {
		log_warn_errno(r, "cannot write a symbol table, keeping it in memory: %m");
		r = keep_in_memory(name, flat, ret_cached);
	}
	bytes_release(flat);
	return r;
}

/* 1 open, 0 there is none, or not as it should be. */
static int open_file(struct table_files *files, const struct hash128 *name,
		     struct cached_table **ret_cached)
{
	scoped_fd int fd = -1;
	int r;

	r = table_files_take(files, name, &fd);
	if (r <= 0)
		return r;
	r = map_file(fd, name, ret_cached);
	if (r == -EBADMSG || r == -ESTALE) {
		table_files_remove(files, name);
		return 0;
	}
	return r < 0 ? r : 1;
}

/* Expands the stored form into @flat. 1 done, 0 it is gone, or damaged and removed. */
static int expand_row(struct table_store *store, const struct executable_id *id,
		      const struct stored_table *row, struct bytes *flat)
{
	struct bytes stored = BYTES_INIT(row->stored_bytes);
	struct symbol_file *file = NULL;
	char id_text[EXECUTABLE_ID_TEXT_SIZE];
	int r;

	r = table_store_load(store, id, &row->hash, &stored);
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
	log_warn_errno(r, "the stored symbol table of '%s' is made anew: %m", id_text);
	r = table_store_remove(store, id);
	return MIN(r, 0);
}

int cached_table_of_row(struct table_files *files, struct table_store *store,
			const struct executable_id *id, const struct stored_table *row,
			struct cached_table **ret_cached)
{
	struct bytes flat = BYTES_INIT(TABLE_FLAT_MAX_BYTES);
	int r;

	if (row->stored_bytes == 0)
		return 0;
	r = open_file(files, &row->hash, ret_cached);
	if (r != 0)
		return r;
	r = expand_row(store, id, row, &flat);
	if (r > 0) {
		r = cached_table_of_flat(files, &row->hash, &flat, ret_cached);
		r = r < 0 ? r : 1;
	}
	bytes_release(&flat);
	return r;
}
