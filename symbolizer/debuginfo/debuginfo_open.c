/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens stored files for callers: the whole file, a range of bytes, the stored zstd frames, or one
 * ELF section.
 */

#include <elf.h>

#include "common/elf/elf_file.h"
#include "common/elf/richness.h"
#include "common/log.h"
#include "symbolizer/debuginfo/debuginfo_private.h"

int debuginfo_open_kind(struct debuginfo_store *store, const struct debuginfo_key *key, int *ret_fd,
			struct debuginfo_entry *ret_entry)
{
	scoped(debuginfo_view_releasep) struct debuginfo_view view;
	int fd, r;

	r = debuginfo_view_open(store, key, &view);
	if (r <= 0)
		return r;
	r = debuginfo_view_read_all(&view);
	if (r < 0)
		return r;
	fd = debuginfo_view_take_fd(&view);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	*ret_entry = view.file.entry;
	return 1;
}

int debuginfo_open_file(struct debuginfo_store *store, const struct executable_id *id, int *ret_fd,
			struct debuginfo_entry *ret_entry)
{
	const struct debuginfo_key key = { .id = *id, .kind = DEBUGINFO_KIND_NAMES, .path = "" };

	return debuginfo_open_kind(store, &key, ret_fd, ret_entry);
}

int debuginfo_open_part(struct debuginfo_store *store, const struct debuginfo_key *key,
			const struct debuginfo_range *range, int *ret_fd,
			struct debuginfo_entry *ret_entry)
{
	scoped(debuginfo_view_releasep) struct debuginfo_view view;
	int fd, r;

	r = debuginfo_view_open(store, key, &view);
	if (r <= 0)
		return r;
	r = debuginfo_view_read(&view, range->offset, range->size);
	if (r < 0)
		return r;
	fd = debuginfo_view_take_fd(&view);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	*ret_entry = view.file.entry;
	return 1;
}

int debuginfo_open_frames(struct debuginfo_store *store, const struct debuginfo_key *key,
			  int *ret_fd, uint64_t *ret_size, struct debuginfo_entry *ret_entry)
{
	scoped(debuginfo_view_releasep) struct debuginfo_view view;
	scoped_fd int fd = -1;
	int r;

	r = debuginfo_view_open(store, key, &view);
	if (r <= 0)
		return r;
	fd = debuginfo_open_unlinked(store->folder, view.file.entry.stored_bytes);
	if (fd < 0)
		return fd;
	r = debuginfo_view_copy_frames(&view, fd);
	if (r < 0)
		return r;
	*ret_fd = take_fd(fd);
	*ret_size = view.file.entry.stored_bytes;
	*ret_entry = view.file.entry;
	return 1;
}

/* Returns 1, or 0 if the file has no section @name, or stores no bytes for it. */
static int open_section(struct debuginfo_view *view, const char *name, int *ret_fd,
			struct debuginfo_range *ret_range)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	const struct elf_section *section;
	struct debuginfo_range range;
	int r;

	r = debuginfo_view_read_headers(view);
	if (r == 0)
		r = elf_file_open(view->fd, &elf);
	if (r < 0)
		return r;
	section = elf_file_section(elf, name);
	if (!section || section->type == SHT_NOBITS || section->type == SHT_NULL)
		return 0;
	range = (struct debuginfo_range){ .offset = section->file_offset, .size = section->size };
	r = debuginfo_view_read(view, range.offset, range.size);
	if (r == 0)
		r = debuginfo_view_take_fd(view);
	if (r < 0)
		return r == -ERANGE ? -EBADMSG : r;
	*ret_fd = r;
	*ret_range = range;
	return 1;
}

int debuginfo_open_section(struct debuginfo_store *store, const struct executable_id *id,
			   const char *name, int *ret_fd, struct debuginfo_range *ret_range)
{
	static const enum debuginfo_kind kinds[] = {
		DEBUGINFO_KIND_DEBUGINFO,
		DEBUGINFO_KIND_EXECUTABLE,
		DEBUGINFO_KIND_NAMES,
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && r == 0; i++) {
		const struct debuginfo_key key = { .id = *id, .kind = kinds[i], .path = "" };
		scoped(debuginfo_view_releasep) struct debuginfo_view view;

		r = debuginfo_view_open(store, &key, &view);
		if (r > 0)
			r = open_section(&view, name, ret_fd, ret_range);
	}
	return r;
}

/*
 * Format 1 of debuginfo.db did not store whether a file has code. Determines it for one file and
 * stores it; a file that cannot be read counts as one without code. Returns 1, or 0 if no such file
 * is left.
 */
static int complete_one(struct debuginfo_store *store)
{
	scoped(debuginfo_view_releasep) struct debuginfo_view view;
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	bool has_code = false;
	int64_t file;
	int r;

	view = (struct debuginfo_view){ .fd = -1 };
	r = sqlite_query(store->writer, SQL_FILE_UNKNOWN_CODE, &row);
	if (r <= 0)
		return r;
	file = sqlite3_column_int64(row, 0);
	(void)sqlite3_reset(row);
	r = debuginfo_view_open_id(store, file, &view);
	if (r > 0)
		r = debuginfo_view_read_headers(&view);
	if (r == 0)
		r = elf_file_open(view.fd, &elf);
	if (r == 0)
		has_code = elf_file_has_code(elf);
	if (view.damaged)
		return 1;
	r = sqlite_run(store->writer, SQL_FILE_SET_CODE, SQL_INT(file), SQL_INT(has_code));
	return r < 0 ? r : 1;
}

void debuginfo_complete_format_1(struct debuginfo_store *store)
{
	int r;

	do
		r = complete_one(store);
	while (r > 0);
	if (r < 0)
		log_warn_errno(
			r,
			"cannot examine all files that an older version stored in "
			"'%s/debuginfo.db', some are not found as executables until the next "
			"start: %m",
			store->folder);
}
