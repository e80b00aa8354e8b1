/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A view expands a stored file into a descriptor without a name, chunk by chunk, at their offsets.
 * Chunks that are not read stay holes, so that a section of a large file costs its chunks and those
 * of the headers.
 *
 * A view reads on a connection that it has for itself, from the snapshot that WAL gives it, even if
 * the file is replaced meanwhile.
 */

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "common/file.h"
#include "common/log.h"
#include "common/zstd_frame.h"
#include "symbolizer/debuginfo/debuginfo_private.h"

/* last_used_ns is updated at most this often. */
#define USED_LAG_NS (600 * NSEC_PER_SEC)

/* Smaller files are expanded in memory. Callers limit their number. */
#define IN_MEMORY_BELOW_BYTES (64 * MIB)

int debuginfo_open_unlinked(const char *folder, uint64_t size_bytes)
{
	scoped_free char *path = NULL;
	int fd;

	if (size_bytes < IN_MEMORY_BELOW_BYTES) {
		fd = memfd_create("hearth-debuginfo", MFD_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd >= 0 ? fd : -errno;
	if (asprintf(&path, "%s/" UPLOAD_PREFIX "XXXXXX", folder) < 0)
		return -ENOMEM;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	(void)unlink(path);
	return fd;
}

static void record_use(struct debuginfo_store *store, const struct stored_file *file)
{
	uint64_t now = clock_wall_ns(store->clock);

	if (now < file->entry.last_used_wall_ns + USED_LAG_NS)
		return;
	/* The file is read even if this fails, as on a full disk. */
	debuginfo_write_begin(store);
	(void)sqlite_run(store->writer, SQL_FILE_USED, SQL_INT(file->id), SQL_INT(now));
	debuginfo_write_end(store);
}

/* Prepares the view after its file was found. */
static int begin_view(struct debuginfo_view *view)
{
	uint64_t n_chunks = (view->file.entry.size_bytes + CHUNK_BYTES - 1) / CHUNK_BYTES;

	if (view->file.entry.size_bytes > DEBUGINFO_MAX_FILE_BYTES)
		return -EIO;
	view->present = calloc(MAX(n_chunks, (uint64_t)1), 1);
	if (!view->present)
		return -ENOMEM;
	view->n_chunks = n_chunks;
	view->plain = BYTES_INIT(CHUNK_BYTES);
	debuginfo_pin(view->store, view->file.content);
	return 1;
}

static int open_view(struct debuginfo_store *store, const struct debuginfo_key *key, int64_t file,
		     struct debuginfo_view *view)
{
	int r;

	*view = (struct debuginfo_view){ .store = store, .fd = -1 };
	r = debuginfo_reader_take(store, &view->db);
	if (r == 0)
		r = sqlite_db_run(view->db, "BEGIN");
	if (r == 0)
		r = key ? debuginfo_db_best(view->db, key, &view->file)
			: debuginfo_db_by_id(view->db, file, &view->file);
	return r > 0 ? begin_view(view) : r;
}

int debuginfo_view_open(struct debuginfo_store *store, const struct debuginfo_key *key,
			struct debuginfo_view *view)
{
	int r = open_view(store, key, 0, view);

	if (r > 0)
		record_use(store, &view->file);
	return r;
}

int debuginfo_view_open_id(struct debuginfo_store *store, int64_t file, struct debuginfo_view *view)
{
	return open_view(store, NULL, file, view);
}

/*
 * A damaged file must be removed: it would keep out an equal file, hide files of lower rank, and
 * keep the server from asking agents for another.
 */
static void forget_damaged_file(struct debuginfo_store *store, const struct stored_file *file)
{
	int r;

	r = debuginfo_remove_file(store, file->id);
	if (r < 0)
		log_warn_errno(r,
			       "cannot remove damaged debuginfo from '%s/debuginfo.db', it can be "
			       "removed with DELETE /v1/debuginfo/BUILDID: %m",
			       store->folder);
}

void debuginfo_view_release(struct debuginfo_view *view)
{
	/* Ends the read transaction first, which would keep the pages of removed files. */
	if (view->db)
		debuginfo_reader_give_back(view->store, view->db);
	if (view->present)
		debuginfo_unpin(view->store, view->file.content);
	if (view->damaged)
		forget_damaged_file(view->store, &view->file);
	scoped_close(&view->fd);
	bytes_release(&view->plain);
	free(view->present);
	*view = (struct debuginfo_view){ .fd = -1 };
}

int debuginfo_view_take_fd(struct debuginfo_view *view)
{
	return lseek(view->fd, 0, SEEK_SET) < 0 ? -errno : take_fd(view->fd);
}

static int damaged(struct debuginfo_view *view, const char *reason)
{
	char id[EXECUTABLE_ID_TEXT_SIZE];

	view->damaged = true;
	executable_id_format(&view->file.entry.id, id);
	return log_error_errno(EIO,
			       "debuginfo of '%s' in '%s/debuginfo.db' is damaged (%s), removing "
			       "it, upload it again: %m",
			       id, view->store->folder, reason);
}

static int open_descriptor(struct debuginfo_view *view, uint64_t size_bytes)
{
	view->fd = debuginfo_open_unlinked(view->store->folder, size_bytes);
	if (view->fd < 0)
		return view->fd;
	view->in_memory = size_bytes < IN_MEMORY_BELOW_BYTES;
	return ftruncate(view->fd, (off_t)view->file.entry.size_bytes) < 0 ? -errno : 0;
}

static int write_chunk(struct debuginfo_view *view, uint64_t number)
{
	uint64_t offset = number * CHUNK_BYTES;
	uint64_t size = MIN((uint64_t)CHUNK_BYTES, view->file.entry.size_bytes - offset);

	if (view->plain.size != size)
		return damaged(view, "a chunk has another size");
	if (lseek(view->fd, (off_t)offset, SEEK_SET) < 0)
		return -errno;
	return write_all(view->fd, view->plain.data, view->plain.size);
}

static int expand_chunk(struct debuginfo_view *view, sqlite3_stmt *row, uint64_t number)
{
	struct bytes_view stored_hash = sqlite_blob(row, 1);
	struct hash128 hash;
	int r;

	if (sqlite3_column_int64(row, 0) != first_chunk_id(view->file.content) + (int64_t)number)
		return damaged(view, "a chunk is missing");
	bytes_clear(&view->plain);
	r = zstd_decompress(sqlite_blob(row, 2), &view->plain);
	if (r == -EBADMSG || r == -EFBIG)
		return damaged(view, "a chunk cannot be decompressed");
	if (r < 0)
		return r;
	hash = hash128_of(view->plain.data, view->plain.size);
	if (stored_hash.size != sizeof(hash) || memcmp(stored_hash.data, &hash, sizeof(hash)) != 0)
		return damaged(view, "a chunk has another hash");
	r = write_chunk(view, number);
	if (r == 0)
		view->present[number] = 1;
	return r;
}

/* Chunks @first to @last, both included. */
static int expand_chunks(struct debuginfo_view *view, uint64_t first, uint64_t last)
{
	int64_t start = first_chunk_id(view->file.content);
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	uint64_t number = first;
	int r;

	r = sqlite_query(view->db, SQL_CHUNKS_READ, &row, SQL_INT(start + (int64_t)first),
			 SQL_INT(start + (int64_t)last + 1));
	while (r > 0 && number <= last) {
		r = expand_chunk(view, row, number++);
		if (r == 0)
			r = sqlite_step(view->db, row);
	}
	if (r == 0 && number <= last)
		return damaged(view, "a chunk is missing");
	return MIN(r, 0);
}

static int expand_missing(struct debuginfo_view *view, uint64_t first, uint64_t last)
{
	while (first <= last && view->present[first])
		first++;
	while (last > first && view->present[last])
		last--;
	return first <= last ? expand_chunks(view, first, last) : 0;
}

/*
 * Moves the view to a file on disk: headers were expanded in memory, and a section is too large for
 * it.
 */
static int move_to_disk(struct debuginfo_view *view)
{
	scoped_free uint8_t *wanted = take_ptr(view->present);
	int r;

	scoped_close(&view->fd);
	view->fd = -1;
	view->present = calloc(MAX(view->n_chunks, (uint64_t)1), 1);
	if (!view->present) {
		view->present = take_ptr(wanted);
		return -ENOMEM;
	}
	r = open_descriptor(view, UINT64_MAX);
	for (uint64_t i = 0; i < view->n_chunks && r == 0; i++)
		if (wanted[i])
			r = expand_missing(view, i, i);
	return r;
}

int debuginfo_view_read(struct debuginfo_view *view, uint64_t offset, uint64_t size)
{
	int r = 0;

	if (offset > view->file.entry.size_bytes || size > view->file.entry.size_bytes - offset)
		return -ERANGE;
	if (view->fd < 0)
		r = open_descriptor(view, size);
	else if (view->in_memory && size >= IN_MEMORY_BELOW_BYTES)
		r = move_to_disk(view);
	if (r < 0 || size == 0)
		return r;
	return expand_missing(view, offset / CHUNK_BYTES, (offset + size - 1) / CHUNK_BYTES);
}

/* The hash of the file is the hash of the hashes of its chunks, which were compared before. */
static int compare_whole(struct debuginfo_view *view)
{
	scoped(bytes_release) struct bytes hashes =
		BYTES_INIT(DEBUGINFO_MAX_FILE_BYTES / CHUNK_BYTES * sizeof(struct hash128));
	int64_t start = first_chunk_id(view->file.content);
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct hash128 hash;
	uint64_t count = 0;
	int r;

	r = sqlite_query(view->db, SQL_CHUNKS_READ, &row, SQL_INT(start),
			 SQL_INT(first_chunk_id(view->file.content + 1)));
	while (r > 0) {
		struct bytes_view chunk_hash = sqlite_blob(row, 1);

		count++;
		r = bytes_append(&hashes, chunk_hash.data, chunk_hash.size);
		if (r == 0)
			r = sqlite_step(view->db, row);
	}
	if (r < 0)
		return r;
	hash = hash128_of(hashes.data, hashes.size);
	if (count != view->n_chunks || memcmp(&hash, &view->file.entry.hash, sizeof(hash)) != 0)
		return damaged(view, "its size or hash differs");
	return 0;
}

int debuginfo_view_read_all(struct debuginfo_view *view)
{
	int r;

	r = debuginfo_view_read(view, 0, view->file.entry.size_bytes);
	return r < 0 ? r : compare_whole(view);
}

int debuginfo_view_copy_frames(struct debuginfo_view *view, int fd)
{
	int64_t start = first_chunk_id(view->file.content);
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	uint64_t number = 0, copied = 0;
	int r;

	r = sqlite_query(view->db, SQL_CHUNKS_READ, &row, SQL_INT(start),
			 SQL_INT(first_chunk_id(view->file.content + 1)));
	while (r > 0) {
		struct bytes_view frame = sqlite_blob(row, 2);

		if (sqlite3_column_int64(row, 0) != start + (int64_t)number++)
			return damaged(view, "a chunk is missing");
		copied += frame.size;
		r = write_all(fd, frame.data, frame.size);
		if (r == 0)
			r = sqlite_step(view->db, row);
	}
	if (r == 0 && (number != view->n_chunks || copied != view->file.entry.stored_bytes))
		return damaged(view, "a chunk is missing");
	return r;
}

/* -EBADMSG: the headers are not within the file, which the upload has checked. */
static int read_headers_of(struct debuginfo_view *view, const Elf64_Ehdr *header)
{
	uint64_t table_bytes = (uint64_t)header->e_shnum * header->e_shentsize;
	Elf64_Shdr names;
	int r;

	r = debuginfo_view_read(view, header->e_phoff,
				(uint64_t)header->e_phnum * header->e_phentsize);
	if (r == 0)
		r = debuginfo_view_read(view, header->e_shoff, table_bytes);
	if (r == 0 && (header->e_shnum == 0 || header->e_shstrndx >= header->e_shnum ||
		       header->e_shentsize != sizeof(names)))
		/* With more than 65279 sections, the first section header has their number. */
		return debuginfo_view_read(view, 0, view->file.entry.size_bytes);
	if (r == 0)
		r = pread_all(view->fd, &names, sizeof(names),
			      header->e_shoff + header->e_shstrndx * sizeof(names));
	return r < 0 ? r : debuginfo_view_read(view, names.sh_offset, names.sh_size);
}

int debuginfo_view_read_headers(struct debuginfo_view *view)
{
	Elf64_Ehdr header;
	int r;

	if (view->file.entry.size_bytes < sizeof(header))
		return -EBADMSG;
	r = debuginfo_view_read(view, 0, sizeof(header));
	if (r == 0)
		r = pread_all(view->fd, &header, sizeof(header), 0);
	if (r == 0)
		r = read_headers_of(view, &header);
	return r == -ERANGE ? -EBADMSG : r;
}
