/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/jit/file/jit_dump.h"

#define MAGIC 0x4a695444u /* "JiTD" */

/* In the header: times are those of a CPU's counter. */
#define FLAG_ARCH_TIMESTAMP 1

enum record_id {
	RECORD_LOAD = 0,
	RECORD_MOVE = 1,
	RECORD_DEBUG_INFO = JIT_DUMP_LINES,
	RECORD_CLOSE = 3,
};

/* Offsets in records. */
#define PREFIX_BYTES      16 /* id, size, time */
#define LOAD_BYTES        56 /* before the name */
#define MOVE_BYTES        64
#define DEBUG_INFO_BYTES  32 /* before the entries */
#define DEBUG_ENTRY_BYTES 16 /* before the name of the file */

/* Records of lines of several threads may precede the records of their code. */
#define MAX_PENDING 8

/* Records between a record of lines and the record of its code. */
#define MAX_RECORDS_TO_CODE 32

struct prefix {
	uint32_t id, size;
	uint64_t time;
};

static uint32_t read_u32(const struct jit_dump *dump, const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return dump->is_swapped ? __builtin_bswap32(value) : value;
}

static uint64_t read_u64(const struct jit_dump *dump, const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return dump->is_swapped ? __builtin_bswap64(value) : value;
}

bool jit_dump_open(struct bytes_view bytes, struct jit_dump *ret_dump)
{
	struct jit_dump dump = {};

	if (bytes.size < JIT_DUMP_HEADER_BYTES)
		return false;
	if (read_u32(&dump, bytes.data) != MAGIC) {
		dump.is_swapped = true;
		if (read_u32(&dump, bytes.data) != MAGIC)
			return false;
	}
	dump.first_record = read_u32(&dump, bytes.data + 8);
	dump.has_times = !(read_u64(&dump, bytes.data + 32) & FLAG_ARCH_TIMESTAMP);
	if (dump.first_record < JIT_DUMP_HEADER_BYTES)
		return false;
	*ret_dump = dump;
	return true;
}

static struct prefix read_prefix(const struct jit_dump *dump, const uint8_t *bytes)
{
	return (struct prefix){
		.id = read_u32(dump, bytes),
		.size = read_u32(dump, bytes + 4),
		.time = read_u64(dump, bytes + 8),
	};
}

/* ---- entries ------------------------------------------------------------------------------- */

/* Records of lines that wait for the record of their code. */
struct pending {
	size_t count;
	struct {
		uint64_t start;
		uint32_t offset;
	} items[MAX_PENDING];
};

static void add_pending(struct pending *pending, uint64_t start, uint32_t offset)
{
	/* The oldest has no code. */
	if (pending->count == MAX_PENDING)
		memmove(&pending->items[0], &pending->items[1],
			--pending->count * sizeof(pending->items[0]));
	pending->items[pending->count].start = start;
	pending->items[pending->count++].offset = offset;
}

/* Whether lines for the code at @start wait; takes them. */
static bool take_pending(struct pending *pending, uint64_t start, uint32_t *ret_offset)
{
	for (size_t i = 0; i < pending->count; i++) {
		if (pending->items[i].start != start)
			continue;
		*ret_offset = pending->items[i].offset;
		pending->count--;
		memmove(&pending->items[i], &pending->items[i + 1],
			(pending->count - i) * sizeof(pending->items[0]));
		return true;
	}
	return false;
}

struct parse {
	const struct jit_dump *dump;
	struct jit_codes *codes;
	struct pending pending;
};

static void add_load(struct parse *parse, const uint8_t *record, const struct prefix *prefix,
		     uint32_t offset)
{
	uint64_t start = read_u64(parse->dump, record + 32);
	uint64_t size = read_u64(parse->dump, record + 40);
	struct jit_code code = { .start = start,
				 .time_ns = parse->dump->has_times ? prefix->time : 0,
				 .size = (uint32_t)size,
				 .offset = offset };

	if (take_pending(&parse->pending, start, &code.offset))
		code.flags |= JIT_CODE_LINES;
	if (jit_code_is_valid(start, size))
		parse->codes->items[parse->codes->count++] = code;
}

static void add_move(struct parse *parse, const uint8_t *record, const struct prefix *prefix)
{
	uint64_t from = read_u64(parse->dump, record + 32);
	uint64_t start = read_u64(parse->dump, record + 40);
	uint64_t size = read_u64(parse->dump, record + 48);

	if (jit_code_is_valid(start, size))
		parse->codes->items[parse->codes->count++] = (struct jit_code){
			.start = start,
			.moved_from = from,
			.time_ns = parse->dump->has_times ? prefix->time : 0,
			.size = (uint32_t)size,
			.flags = JIT_CODE_MOVED,
		};
}

/* The size of the fixed part of a record that add_record() reads. */
static size_t fixed_bytes(uint32_t id)
{
	switch (id) {
	case RECORD_LOAD:
		return LOAD_BYTES;
	case RECORD_MOVE:
		return MOVE_BYTES;
	case RECORD_DEBUG_INFO:
		return DEBUG_INFO_BYTES;
	default:
		return PREFIX_BYTES;
	}
}

static void add_record(struct parse *parse, const uint8_t *record, const struct prefix *prefix,
		       uint32_t offset)
{
	if (prefix->size < fixed_bytes(prefix->id))
		return;
	if (prefix->id == RECORD_LOAD)
		add_load(parse, record, prefix, offset);
	else if (prefix->id == RECORD_MOVE)
		add_move(parse, record, prefix);
	else if (prefix->id == RECORD_DEBUG_INFO)
		add_pending(&parse->pending, read_u64(parse->dump, record + PREFIX_BYTES), offset);
}

/*
 * Where the next piece begins: at the first record of lines that waits for its code. If the piece
 * has only such records and the file goes on behind it, they are given up.
 */
static uint64_t next_offset(const struct parse *parse, const struct jit_dump_piece *piece,
			    uint64_t at)
{
	bool is_last = piece->offset + piece->bytes.size >= piece->file_size;
	uint64_t first = parse->pending.count > 0 ? parse->pending.items[0].offset : 0;

	if (parse->pending.count > 0 && (first > piece->offset || is_last))
		return first;
	return piece->offset + at;
}

uint64_t jit_dump_parse(const struct jit_dump *dump, const struct jit_dump_piece *piece,
			struct jit_codes *codes, bool *is_closed)
{
	struct parse parse = { .dump = dump, .codes = codes };
	uint64_t at = 0; /* in the piece */

	while (codes->count < JIT_MAX_CODES && piece->bytes.size >= PREFIX_BYTES &&
	       at <= piece->bytes.size - PREFIX_BYTES) {
		const uint8_t *record = piece->bytes.data + at;
		struct prefix prefix = read_prefix(dump, record);

		/* A file that is damaged at one record cannot be read beyond it. */
		if (prefix.id == RECORD_CLOSE || prefix.size < PREFIX_BYTES) {
			*is_closed = true;
			break;
		}
		if (prefix.size > piece->file_size - piece->offset - at ||
		    piece->bytes.size - at < fixed_bytes(prefix.id))
			break;
		add_record(&parse, record, &prefix, (uint32_t)(piece->offset + at));
		at += prefix.size;
	}
	return next_offset(&parse, piece, at);
}

/* ---- names --------------------------------------------------------------------------------- */

/* Reads a text with its NUL, and moves *at behind it. */
static bool read_text(struct bytes_view bytes, size_t *at, struct bytes_view *ret_text)
{
	const uint8_t *begin = bytes.data + *at;
	const uint8_t *end = *at < bytes.size ? memchr(begin, '\0', bytes.size - *at) : NULL;

	if (!end)
		return false;
	*ret_text = (struct bytes_view){ .data = begin, .size = (size_t)(end - begin) };
	*at += ret_text->size + 1;
	return true;
}

/* "\xff" stands for the file of the entry before. */
static bool is_same_file(struct bytes_view text)
{
	return text.size == 1 && text.data[0] == 0xff;
}

static bool is_equal(struct bytes_view a, struct bytes_view b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/*
 * Takes the file and the first line of the function from the first entry. The line of an address is
 * that of the last entry at or before it, unless that entry is of another file: inlined code.
 */
static void read_lines(const struct jit_dump *dump, struct bytes_view record, uint64_t code_offset,
		       struct jit_dump_name *name)
{
	const uint64_t pc = read_u64(dump, record.data + PREFIX_BYTES) + code_offset;
	uint64_t count = read_u64(dump, record.data + 24);
	struct bytes_view file = {};
	uint64_t found_pc = 0;
	size_t at = DEBUG_INFO_BYTES;

	for (uint64_t i = 0; i < count && record.size - at > DEBUG_ENTRY_BYTES; i++) {
		uint64_t entry_pc = read_u64(dump, record.data + at);
		uint32_t line = read_u32(dump, record.data + at + 8);
		struct bytes_view text;

		at += DEBUG_ENTRY_BYTES;
		if (!read_text(record, &at, &text))
			return;
		if (!is_same_file(text))
			file = text;
		if (i == 0) {
			name->file = file;
			name->first_line = line;
		}
		if (entry_pc > pc || entry_pc < found_pc)
			continue;
		found_pc = entry_pc;
		name->line = is_equal(file, name->file) ? line : 0;
	}
}

bool jit_dump_name(const struct jit_dump *dump, struct bytes_view bytes, uint64_t code_offset,
		   struct jit_dump_name *ret_name)
{
	struct jit_dump_name name = {};
	uint64_t start = 0;
	bool has_lines = false;
	size_t at = 0;

	for (int i = 0; i < MAX_RECORDS_TO_CODE && bytes.size - at >= LOAD_BYTES; i++) {
		const uint8_t *record = bytes.data + at;
		struct prefix prefix = read_prefix(dump, record);

		if (prefix.size < fixed_bytes(prefix.id) || prefix.size < PREFIX_BYTES)
			return false;
		if (prefix.id == RECORD_LOAD &&
		    (!has_lines || read_u64(dump, record + 32) == start)) {
			size_t text_at = at + LOAD_BYTES;

			if (!read_text(bytes, &text_at, &name.function))
				return false;
			*ret_name = name;
			return true;
		}
		if (prefix.size > bytes.size - at)
			return false;
		if (i == 0) {
			if (prefix.id != RECORD_DEBUG_INFO)
				return false;
			has_lines = true;
			start = read_u64(dump, record + PREFIX_BYTES);
			read_lines(dump, (struct bytes_view){ record, prefix.size }, code_offset,
				   &name);
		}
		at += prefix.size;
	}
	return false;
}
