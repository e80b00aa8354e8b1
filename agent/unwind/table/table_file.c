/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Written in order: header (filled in at the end), records, index. The index is searched in the
 * file, with ten or more reads of 16 bytes each from the page cache, so that a table with a million
 * chunks needs no memory.
 */
#include "agent/unwind/table/table_file.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "common/bytes.h"
#include "common/file.h"
#include "common/scoped.h"
#include "common/vec.h"

#define MAGIC "HUNWIND2"

struct file_header {
	char magic[8];
	uint64_t checksum; /* XXH3-64 of the rest of the header */
	struct hash128 key;
	uint64_t first_page;
	uint64_t n_pages;
	uint64_t index_offset;
	uint64_t file_bytes;
	uint32_t n_chunks;
	uint32_t n_rows;
	uint64_t zero;
};

#define CHECKED_FROM offsetof(struct file_header, key)

static_assert(sizeof(struct file_header) == TABLE_FILE_HEADER_BYTES, "no padding on disk");

struct record_header {
	uint64_t checksum; /* XXH3-64 of the rest of the record */
	uint32_t n_rules;
	uint32_t zero;
};

/* The size of a record is a multiple of this, so that offsets of 32 bits reach 64 GiB. */
#define RECORD_UNIT 16u

struct index_entry {
	uint64_t elf_addr;
	uint32_t offset; /* in units of RECORD_UNIT, as the size */
	uint32_t size;
};

VEC_DEFINE(index_vec, struct index_entry);

#define RECORD_MAX_BYTES (sizeof(struct record_header) + sizeof(struct chunk_record))
#define BUFFER_BYTES     (64 * KIB)

/* ---- writing --------------------------------------------------------------------------------- */

struct file_writer {
	int fd;
	uint64_t offset;
	struct bytes buffer; /* not written yet */
	struct index_vec index;
};

static void writer_release(struct file_writer *writer)
{
	bytes_release(&writer->buffer);
	vec_release(&writer->index);
}

static int write_buffer(struct file_writer *writer)
{
	int r = bytes_error(&writer->buffer);

	if (r == 0)
		r = write_all(writer->fd, writer->buffer.data, writer->buffer.size);
	writer->buffer.size = 0;
	return r;
}

static int append(struct file_writer *writer, const void *data, size_t size)
{
	(void)bytes_append(&writer->buffer, data, size);
	writer->offset += size;
	return writer->buffer.size < BUFFER_BYTES ? bytes_error(&writer->buffer)
						  : write_buffer(writer);
}

static int write_record(void *arg, const struct chunk_record *record)
{
	struct file_writer *writer = arg;
	const struct abi_unwind_chunk *chunk = &record->chunk;
	size_t rules_bytes = record->n_rules * sizeof(*record->rules);
	struct record_header header = { .n_rules = record->n_rules };
	struct index_entry entry = {
		.elf_addr = chunk->first_unit << chunk->unit_shift,
		.offset = (uint32_t)(writer->offset / RECORD_UNIT),
		.size = (uint32_t)((sizeof(header) + sizeof(*chunk) + rules_bytes) / RECORD_UNIT),
	};
	size_t start = writer->buffer.size;
	int r;

	r = vec_push(&writer->index, entry);
	if (r < 0)
		return r;
	(void)bytes_append(&writer->buffer, &header, sizeof(header));
	(void)bytes_append(&writer->buffer, chunk, sizeof(*chunk));
	(void)bytes_append(&writer->buffer, record->rules, rules_bytes);
	if (bytes_error(&writer->buffer) < 0)
		return bytes_error(&writer->buffer);
	header.checksum = hash64_of(writer->buffer.data + start + sizeof(header.checksum),
				    writer->buffer.size - start - sizeof(header.checksum));
	memcpy(writer->buffer.data + start, &header, sizeof(header));
	writer->offset += writer->buffer.size - start;
	return writer->buffer.size < BUFFER_BYTES ? 0 : write_buffer(writer);
}

int table_file_write(int fd, const struct hash128 *key, const struct unwind_table *table,
		     uint64_t *ret_bytes)
{
	scoped(writer_release) struct file_writer writer = {
		.fd = fd, .buffer = BYTES_INIT(BUFFER_BYTES + RECORD_MAX_BYTES)
	};
	struct file_header header = {
		.key = *key,
		.first_page = table->base_address >> UNWIND_PAGE_SHIFT,
		.n_pages = table->n_pages,
		.n_rows = table->n_rows,
	};
	size_t index_bytes;
	int r;

	memcpy(header.magic, MAGIC, sizeof(header.magic));
	r = append(&writer, &header, sizeof(header));
	if (r < 0)
		return r;
	r = chunk_writer_run(table, write_record, &writer);
	if (r < 0)
		return r;
	r = write_buffer(&writer);
	if (r < 0)
		return r;
	index_bytes = writer.index.count * sizeof(*writer.index.items);
	header.index_offset = writer.offset;
	header.file_bytes = writer.offset + index_bytes;
	header.n_chunks = (uint32_t)writer.index.count;
	header.checksum =
		hash64_of((uint8_t *)&header + CHECKED_FROM, sizeof(header) - CHECKED_FROM);
	r = write_all(fd, writer.index.items, index_bytes);
	if (r < 0)
		return r;
	if (pwrite(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return -EIO;
	*ret_bytes = header.file_bytes;
	return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool header_is_sound(const struct file_header *header, const struct hash128 *key,
			    uint64_t file_bytes)
{
	if (memcmp(header->magic, MAGIC, sizeof(header->magic)) != 0 ||
	    memcmp(&header->key, key, sizeof(*key)) != 0)
		return false;
	if (hash64_of((const uint8_t *)header + CHECKED_FROM, sizeof(*header) - CHECKED_FROM) !=
	    header->checksum)
		return false;
	if (header->n_pages == 0 || header->n_pages > UNWIND_MAX_PAGES ||
	    header->first_page > (UINT64_MAX >> UNWIND_PAGE_SHIFT) - header->n_pages ||
	    header->n_chunks == 0)
		return false;
	return header->file_bytes == file_bytes && header->index_offset <= file_bytes &&
	       file_bytes - header->index_offset ==
		       (uint64_t)header->n_chunks * sizeof(struct index_entry);
}

int table_file_open(int fd, const struct hash128 *key, struct table_file *ret_file)
{
	struct file_header header;
	struct stat status;
	int r;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (status.st_size < (off_t)sizeof(header))
		return -EBADMSG;
	r = pread_all(fd, &header, sizeof(header), 0);
	if (r < 0)
		return r;
	if (!header_is_sound(&header, key, (uint64_t)status.st_size))
		return -EBADMSG;
	*ret_file = (struct table_file){
		.fd = fd,
		.first_page = header.first_page,
		.n_pages = header.n_pages,
		.n_chunks = header.n_chunks,
		.n_rows = header.n_rows,
		.index_offset = header.index_offset,
		.bytes = header.file_bytes,
	};
	return 0;
}

/* The last entry at or before @elf_addr. 1; 0: there is none. */
static int find_entry(const struct table_file *file, uint64_t elf_addr,
		      struct index_entry *ret_entry)
{
	uint32_t low = 0, high = file->n_chunks;
	bool found = false;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct index_entry entry;
		int r = pread_all(file->fd, &entry, sizeof(entry),
				  file->index_offset + (uint64_t)middle * sizeof(entry));

		if (r < 0)
			return r;
		if (entry.elf_addr <= elf_addr) {
			*ret_entry = entry;
			found = true;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return found;
}

/* The units are code pages of the table, or pieces of one page. */
static bool units_are_sound(const struct table_file *file, const struct abi_unwind_chunk *chunk)
{
	uint32_t pages_shift = UNWIND_PAGE_SHIFT - chunk->unit_shift;
	uint64_t first_unit, n_units;

	if (chunk->unit_shift != UNWIND_PAGE_SHIFT && chunk->unit_shift != UNWIND_DENSE_UNIT_SHIFT)
		return false;
	if (chunk->n_units == 0 ||
	    UNWIND_CHUNK_FIRST_HALF + chunk->n_units + 1 > UNWIND_CHUNK_HALVES)
		return false;
	first_unit = file->first_page << pages_shift;
	n_units = file->n_pages << pages_shift;
	if (chunk->first_unit < first_unit ||
	    chunk->first_unit - first_unit > n_units - chunk->n_units)
		return false;
	return chunk->unit_shift == UNWIND_PAGE_SHIFT ||
	       chunk->first_unit >> pages_shift ==
		       (chunk->first_unit + chunk->n_units - 1) >> pages_shift;
}

/* Each unit has rows, which are after the index of units, and whose rules exist. */
static bool rows_are_sound(const struct chunk_record *record)
{
	const struct abi_unwind_chunk *chunk = &record->chunk;
	const uint16_t *first = &chunk->halves[UNWIND_CHUNK_FIRST_HALF];

	if ((uint32_t)first[0] * 2 < UNWIND_CHUNK_FIRST_HALF + chunk->n_units + 1u ||
	    first[chunk->n_units] > UNWIND_CHUNK_ROWS)
		return false;
	for (uint32_t unit = 0; unit < chunk->n_units; unit++)
		if (first[unit] >= first[unit + 1])
			return false;
	for (uint32_t row = first[0]; row < first[chunk->n_units]; row++)
		if (chunk->rows[row].rule >= record->n_rules)
			return false;
	return true;
}

static int read_record(const struct table_file *file, const struct index_entry *entry,
		       struct chunk_record *ret_record)
{
	uint64_t size = (uint64_t)entry->size * RECORD_UNIT;
	uint64_t offset = (uint64_t)entry->offset * RECORD_UNIT;
	const size_t fixed = sizeof(struct record_header) + sizeof(ret_record->chunk);
	uint8_t bytes[RECORD_MAX_BYTES];
	struct record_header header;
	int r;

	if (size < fixed || size > sizeof(bytes) || offset > file->bytes ||
	    size > file->bytes - offset)
		return -EBADMSG;
	r = pread_all(file->fd, bytes, (size_t)size, offset);
	if (r < 0)
		return r;
	memcpy(&header, bytes, sizeof(header));
	if (header.n_rules > CHUNK_MAX_RULES ||
	    size != fixed + header.n_rules * sizeof(*ret_record->rules) ||
	    hash64_of(bytes + sizeof(header.checksum), size - sizeof(header.checksum)) !=
		    header.checksum)
		return -EBADMSG;
	memcpy(&ret_record->chunk, bytes + sizeof(header), sizeof(ret_record->chunk));
	memcpy(ret_record->rules, bytes + fixed, header.n_rules * sizeof(*ret_record->rules));
	ret_record->n_rules = header.n_rules;
	return 0;
}

int table_file_read(const struct table_file *file, uint64_t elf_addr,
		    struct chunk_record *ret_record)
{
	const struct abi_unwind_chunk *chunk = &ret_record->chunk;
	struct index_entry entry;
	int r;

	if ((elf_addr >> UNWIND_PAGE_SHIFT) - file->first_page >= file->n_pages)
		return 0;
	r = find_entry(file, elf_addr, &entry);
	/* Every page of the table has rows. */
	if (r <= 0)
		return r < 0 ? r : -EBADMSG;
	r = read_record(file, &entry, ret_record);
	if (r < 0)
		return r;
	if (!units_are_sound(file, chunk) || !rows_are_sound(ret_record) || chunk->owner != 0)
		return -EBADMSG;
	return (elf_addr >> chunk->unit_shift) - chunk->first_unit < chunk->n_units ? 1 : -EBADMSG;
}
