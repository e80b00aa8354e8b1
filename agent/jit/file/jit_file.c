/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/jit/file/jit_file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/jit/file/jit_dump.h"
#include "agent/jit/file/perf_map.h"
#include "common/hash.h"
#include "common/scoped.h"

/* Number of bytes before a position that are compared with those that were read. */
#define BEFORE_BYTES 64

/* The beginning of an entry: a line of a perf map up to the part of its name that is kept. */
#define ENTRY_BYTES ((size_t)(4 * KIB))

/* Larger records of source lines are not read. A line takes some 80 bytes. */
#define LINES_MAX_BYTES ((size_t)(1 * MIB))

/* Reads up to @size bytes. Returns their number or negative errno. */
static ssize_t read_at(int fd, void *buffer, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n =
			pread(fd, (uint8_t *)buffer + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int hash_before(int fd, uint64_t offset, uint64_t *ret_hash)
{
	uint8_t bytes[BEFORE_BYTES];
	size_t size = (size_t)MIN(offset, (uint64_t)BEFORE_BYTES);
	ssize_t n = read_at(fd, bytes, size, offset - size);

	if (n < 0)
		return (int)n;
	*ret_hash = hash64_of(bytes, (size_t)n);
	return 0;
}

/* Whether the file still begins with what was read before. */
static int is_continued(int fd, const struct jit_position *from, uint64_t file_size)
{
	uint64_t hash;
	int r;

	if (from->offset == 0)
		return 1;
	if (from->offset > file_size)
		return 0;
	r = hash_before(fd, from->offset, &hash);
	return r < 0 ? r : hash == from->before;
}

static void parse_map(struct bytes_view text, struct jit_piece *piece)
{
	const struct perf_map_piece part = {
		.text = text,
		.offset = (uint32_t)piece->next.offset,
		.in_long_line = piece->next.in_long_line,
		.is_max_size = text.size == JIT_PIECE_BYTES,
	};
	bool in_long_line = false;
	size_t n = perf_map_parse(&part, &piece->codes, &in_long_line);

	piece->next.offset += n;
	piece->next.in_long_line = in_long_line;
	piece->at_end = text.size < JIT_PIECE_BYTES && piece->codes.count < JIT_MAX_CODES;
}

static int open_dump(int fd, struct jit_dump *ret_dump)
{
	uint8_t header[JIT_DUMP_HEADER_BYTES];
	ssize_t n = read_at(fd, header, sizeof(header), 0);

	if (n < 0)
		return (int)n;
	return jit_dump_open((struct bytes_view){ header, (size_t)n }, ret_dump) ? 0 : -EBADMSG;
}

static void parse_dump(const struct jit_dump *dump, struct bytes_view bytes, uint64_t file_size,
		       struct jit_piece *piece)
{
	const struct jit_dump_piece part = {
		.bytes = bytes,
		.offset = piece->next.offset,
		.file_size = file_size,
	};
	bool is_closed = false;
	uint64_t next = jit_dump_parse(dump, &part, &piece->codes, &is_closed);

	piece->at_end = is_closed || next == piece->next.offset;
	piece->next.offset = next;
}

static int parse(int fd, enum jit_format format, uint64_t file_size, uint8_t *buffer,
		 struct jit_piece *piece)
{
	struct jit_dump dump = {};
	uint64_t offset;
	ssize_t n;
	int r;

	if (format == JIT_DUMP) {
		r = open_dump(fd, &dump);
		if (r < 0)
			return r;
		piece->next.offset = MAX(piece->next.offset, (uint64_t)dump.first_record);
	}
	offset = piece->next.offset;
	if (offset >= MIN(file_size, JIT_FILE_MAX_BYTES - JIT_PIECE_BYTES)) {
		piece->at_end = true;
		return 0;
	}
	n = read_at(fd, buffer, (size_t)MIN(file_size - offset, (uint64_t)JIT_PIECE_BYTES), offset);
	if (n < 0)
		return (int)n;
	if (format == JIT_DUMP)
		parse_dump(&dump, (struct bytes_view){ buffer, (size_t)n }, file_size, piece);
	else
		parse_map((struct bytes_view){ buffer, (size_t)n }, piece);
	return 0;
}

int jit_file_read(int fd, enum jit_format format, const struct jit_position *from,
		  struct jit_piece *ret_piece)
{
	scoped_free uint8_t *buffer = malloc(JIT_PIECE_BYTES);
	struct stat status;
	int r;

	if (!buffer)
		return -ENOMEM;
	if (fstat(fd, &status) < 0)
		return -errno;
	r = is_continued(fd, from, (uint64_t)status.st_size);
	if (r < 0)
		return r;
	ret_piece->next = r == 1 ? *from : (struct jit_position){};
	ret_piece->restarted = r == 0;
	ret_piece->at_end = false;
	ret_piece->codes.count = 0;
	r = parse(fd, format, (uint64_t)status.st_size, buffer, ret_piece);
	if (r < 0)
		return r;
	return hash_before(fd, ret_piece->next.offset, &ret_piece->next.before);
}

/* ---- names --------------------------------------------------------------------------------- */

static int map_name(int fd, uint32_t offset, struct jit_name *ret_name)
{
	uint8_t line[ENTRY_BYTES];
	ssize_t n = read_at(fd, line, sizeof(line), offset);
	struct bytes_view name;

	if (n < 0)
		return (int)n;
	if (!perf_map_name((struct bytes_view){ line, (size_t)n }, &name))
		return -EBADMSG;
	jit_name_parse(name, ret_name);
	return 0;
}

/* The number of bytes to read: a record of lines, and the record of code that follows. */
static size_t size_of_entry(int fd, const struct jit_dump *dump, uint32_t offset)
{
	uint32_t prefix[2];

	if (read_at(fd, prefix, sizeof(prefix), offset) != sizeof(prefix))
		return ENTRY_BYTES;
	if (dump->is_swapped) {
		prefix[0] = __builtin_bswap32(prefix[0]);
		prefix[1] = __builtin_bswap32(prefix[1]);
	}
	/* Other records have the bytes of code behind the name. */
	if (prefix[0] != JIT_DUMP_LINES)
		return ENTRY_BYTES;
	return MIN((size_t)prefix[1], LINES_MAX_BYTES) + ENTRY_BYTES;
}

static int dump_name(int fd, uint32_t offset, uint32_t code_offset, struct jit_name *ret_name,
		     uint32_t *ret_line)
{
	scoped_free uint8_t *buffer = NULL;
	struct jit_dump_name name;
	struct jit_dump dump;
	size_t size;
	ssize_t n;
	int r = open_dump(fd, &dump);

	if (r < 0)
		return r;
	size = size_of_entry(fd, &dump, offset);
	buffer = malloc(size);
	if (!buffer)
		return -ENOMEM;
	n = read_at(fd, buffer, size, offset);
	if (n < 0)
		return (int)n;
	if (!jit_dump_name(&dump, (struct bytes_view){ buffer, (size_t)n }, code_offset, &name))
		return -EBADMSG;
	jit_name_parse(name.function, ret_name);
	if (name.file.size > 0) {
		jit_text_copy(name.file, ret_name->file);
		ret_name->first_line = name.first_line;
	}
	*ret_line = name.line;
	return 0;
}

int jit_file_name(int fd, enum jit_format format, uint32_t offset, uint32_t code_offset,
		  struct jit_name *ret_name, uint32_t *ret_line)
{
	*ret_line = 0;
	return format == JIT_DUMP ? dump_name(fd, offset, code_offset, ret_name, ret_line)
				  : map_name(fd, offset, ret_name);
}
