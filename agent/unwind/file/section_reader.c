/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The size in the compression header is trusted up to the caller's bound. Deflated bytes are read
 * in pieces, so that neither form is ever in memory as a whole.
 */
#include "agent/unwind/file/section_reader.h"

#include <elf.h>
#include <zlib.h>

#include "common/file.h"

#define PIECE_BYTES (32 * KIB)

struct section_reader {
	const struct elf_file *elf;
	uint64_t file_offset; /* of the next byte to be read */
	uint64_t file_left;
	uint64_t size;
	uint64_t left; /* bytes that the caller can still read */
	bool is_compressed;
	z_stream stream;
	uint8_t piece[PIECE_BYTES];
};

/* 1; 0: it is not compressed with zlib. */
static int read_compression_header(struct section_reader *reader)
{
	Elf64_Chdr header;
	int r;

	if (reader->file_left < sizeof(header))
		return 0;
	r = pread_all(reader->elf->fd, &header, sizeof(header), reader->file_offset);
	if (r < 0)
		return r;
	if (header.ch_type != ELFCOMPRESS_ZLIB)
		return 0;
	if (inflateInit(&reader->stream) != Z_OK)
		return -ENOMEM;
	reader->is_compressed = true;
	reader->file_offset += sizeof(header);
	reader->file_left -= sizeof(header);
	reader->size = header.ch_size;
	return 1;
}

int section_reader_new(const struct elf_file *elf, uint64_t file_offset, uint64_t size,
		       bool is_compressed, uint64_t max_size_bytes,
		       struct section_reader **ret_reader)
{
	scoped(section_reader_freep) struct section_reader *reader = calloc(1, sizeof(*reader));
	int r = 1;

	if (!reader)
		return -ENOMEM;
	reader->elf = elf;
	reader->file_offset = file_offset;
	reader->file_left =
		file_offset > elf->file_size ? 0 : MIN(size, elf->file_size - file_offset);
	reader->size = reader->file_left;
	if (is_compressed)
		r = read_compression_header(reader);
	if (r <= 0)
		return r;
	reader->size = MIN(reader->size, max_size_bytes);
	reader->left = reader->size;
	*ret_reader = take_ptr(reader);
	return 1;
}

struct section_reader *section_reader_free(struct section_reader *reader)
{
	if (!reader)
		return NULL;
	if (reader->is_compressed)
		(void)inflateEnd(&reader->stream);
	free(reader);
	return NULL;
}

uint64_t section_reader_size(const struct section_reader *reader)
{
	return reader->size;
}

static int read_raw(struct section_reader *reader, void *buffer, size_t size)
{
	int r = pread_all(reader->elf->fd, buffer, size, reader->file_offset);

	if (r < 0)
		return r;
	reader->file_offset += size;
	reader->file_left -= size;
	return 0;
}

/* Reads more deflated bytes, if there are any. */
static int refill(struct section_reader *reader)
{
	size_t size = (size_t)MIN(reader->file_left, (uint64_t)PIECE_BYTES);
	int r = read_raw(reader, reader->piece, size);

	if (r < 0)
		return r;
	reader->stream.next_in = reader->piece;
	reader->stream.avail_in = (uInt)size;
	return 0;
}

/*
 * Inflates up to @size bytes. Returns how many: fewer at the end of the stream, or where it is
 * damaged.
 */
static ssize_t inflate_into(struct section_reader *reader, void *buffer, size_t size)
{
	z_stream *stream = &reader->stream;
	int status = Z_OK;
	int r;

	stream->next_out = buffer;
	stream->avail_out = (uInt)size;
	while (status == Z_OK && stream->avail_out > 0) {
		if (stream->avail_in == 0) {
			r = refill(reader);
			if (r < 0)
				return r;
		}
		status = inflate(stream, Z_NO_FLUSH);
	}
	if (status != Z_OK)
		reader->left = size - stream->avail_out;
	return (ssize_t)(size - stream->avail_out);
}

ssize_t section_reader_read(struct section_reader *reader, void *buffer, size_t size)
{
	ssize_t n;

	size = (size_t)MIN((uint64_t)size, reader->left);
	/* zlib's counters have 32 bits. */
	size = MIN(size, (size_t)GIB);
	if (size == 0)
		return 0;
	if (reader->is_compressed) {
		n = inflate_into(reader, buffer, size);
	} else {
		n = read_raw(reader, buffer, size);
		n = n < 0 ? n : (ssize_t)size;
	}
	if (n > 0)
		reader->left -= (uint64_t)n;
	return n;
}
