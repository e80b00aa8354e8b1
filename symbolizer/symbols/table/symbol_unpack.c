/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts the stored form of a symbol table (symbol_columns.h) to the flat form.
 *
 * The number of values that are read from a column and written to an array depends on the counts in
 * the header only. This file checks a value only where it uses the value as an index. The checksum
 * detects damage. The functions of symbol_file.h that open a table check all values.
 */

#include "common/scoped.h"
#include "common/zstd_frame.h"
#include "symbolizer/symbols/table/symbol_columns.h"
#include "symbolizer/symbols/table/symbol_pack.h"

struct unpacking {
	struct symbol_header header;
	struct bytes_view rest; /* columns not read yet */
	struct bytes column;    /* the current column, expanded */
	struct bytes_reader reader;
	struct last_line *last; /* by function: path and line of its previous location */
	uint32_t *last_callee;  /* by caller: function of the previous location with that caller */
	uint32_t *used_texts;   /* offsets of texts in the order of their first use */
	/* writable pointers to the arrays of struct symbol_arrays */
	struct symbol_segment *segments;
	uint32_t *pages;
	uint32_t *starts;
	uint32_t *location_of;
	struct symbol_location *locations;
	struct symbol_function *functions;
	uint32_t *paths;
	struct symbol_nameless *nameless;
	char *texts;
};

static uint64_t get(struct unpacking *unpacking)
{
	struct bytes_reader *reader = &unpacking->reader;

	/* Nearly all values have one byte. */
	if (reader->next < reader->end && *reader->next < 0x80)
		return *reader->next++;
	return bytes_read_varint(reader);
}

static uint32_t get_signed(struct unpacking *unpacking, uint32_t base)
{
	return base + (uint32_t)zigzag_decode(get(unpacking));
}

static void get_starts(struct unpacking *unpacking)
{
	uint32_t start = 0;

	for (uint32_t i = 0; i < unpacking->header.n_ranges; i++) {
		start += (uint32_t)get(unpacking);
		unpacking->starts[i] = start;
	}
}

static void get_location_of(struct unpacking *unpacking)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < unpacking->header.n_ranges; i++) {
		uint64_t code = get(unpacking);
		uint32_t location = SYMBOL_NO_LOCATION;

		if (code & 1) {
			location = next + (uint32_t)(code >> 1);
			next = location + 1;
		} else if (code > 0) {
			location = next - (uint32_t)(code >> 1);
		}
		unpacking->location_of[i] = location;
	}
}

static void get_callers(struct unpacking *unpacking)
{
	for (uint32_t i = 0; i < unpacking->header.n_locations; i++) {
		uint32_t back = (uint32_t)get(unpacking);

		unpacking->locations[i].caller = back == 0 ? SYMBOL_NONE : i - back;
	}
}

static void get_functions_of(struct unpacking *unpacking)
{
	const struct symbol_header *header = &unpacking->header;
	uint32_t next = 0;

	for (uint32_t i = 0; i < header->n_locations; i++) {
		struct symbol_location *location = &unpacking->locations[i];
		uint32_t *last =
			&unpacking->last_callee[MIN(location->caller, header->n_locations)];
		uint64_t code = get(unpacking);
		uint32_t function = *last;

		if (code == 1)
			function = next;
		else if (code == 2)
			function = SYMBOL_NONE;
		else if (code > 2)
			function = next - (uint32_t)zigzag_decode(code - 3);
		/* last_line_of() uses the function as an index. */
		if (function >= header->n_functions && function != SYMBOL_NONE) {
			unpacking->reader.error = -EBADMSG;
			function = SYMBOL_NONE;
		}
		if (function != SYMBOL_NONE && function >= next)
			next = function + 1;
		location->function = *last = function;
	}
}

static void get_paths_of(struct unpacking *unpacking)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < unpacking->header.n_locations; i++) {
		struct symbol_location *location = &unpacking->locations[i];
		struct last_line *last = last_line_of(
			unpacking->last, unpacking->header.n_functions, location->function);
		uint64_t code = get(unpacking);
		uint32_t path = last->path;

		if (code == 1)
			path = SYMBOL_NONE;
		else if (code > 1)
			path = next - (uint32_t)zigzag_decode(code - 2);
		if (path != SYMBOL_NONE && path >= next)
			next = path + 1;
		location->path = last->path = path;
	}
}

static void get_lines(struct unpacking *unpacking)
{
	for (uint32_t i = 0; i < unpacking->header.n_locations; i++) {
		struct symbol_location *location = &unpacking->locations[i];
		struct last_line *last = last_line_of(
			unpacking->last, unpacking->header.n_functions, location->function);

		location->line = last->line = get_signed(unpacking, last->line);
	}
}

/* Texts in the order of their first use. */
struct used_texts {
	uint32_t *offsets;
	size_t count;
	uint64_t next; /* offset of the first text not used yet */
};

static uint32_t get_text(struct unpacking *unpacking, struct used_texts *used)
{
	const uint64_t text_bytes = unpacking->header.text_bytes;
	uint64_t back = get(unpacking);

	if (back == 0 && used->next < text_bytes) {
		used->offsets[used->count++] = (uint32_t)used->next;
		used->next +=
			strnlen(unpacking->texts + used->next, (size_t)(text_bytes - used->next)) +
			1;
		back = 1;
	}
	if (back == 0 || back > used->count) {
		unpacking->reader.error = -EBADMSG;
		return 0;
	}
	return used->offsets[used->count - back];
}

static void get_texts_of(struct unpacking *unpacking)
{
	struct used_texts used = { .offsets = unpacking->used_texts, .count = 1, .next = 1 };

	used.offsets[0] = 0;
	for (uint32_t i = 0; i < unpacking->header.n_functions; i++) {
		unpacking->functions[i].linkage = get_text(unpacking, &used);
		unpacking->functions[i].display = get_text(unpacking, &used);
	}
	for (uint32_t i = 0; i < unpacking->header.n_paths; i++)
		unpacking->paths[i] = get_text(unpacking, &used);
}

static void get_first_lines(struct unpacking *unpacking)
{
	uint32_t line = 0;

	for (uint32_t i = 0; i < unpacking->header.n_functions; i++)
		unpacking->functions[i].first_line = line = get_signed(unpacking, line);
}

static void get_nameless(struct unpacking *unpacking)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < unpacking->header.n_nameless; i++) {
		struct symbol_nameless *function = &unpacking->nameless[i];

		function->start = end + (uint32_t)get(unpacking);
		function->end = end = function->start + (uint32_t)get(unpacking);
	}
}

/* Expands the next column. -EBADMSG: it is damaged, or has more than @max_bytes. */
static int next_column(struct unpacking *unpacking, uint64_t max_bytes)
{
	struct bytes_view *rest = &unpacking->rest;
	uint64_t size;
	int r;

	if (rest->size < sizeof(size))
		return -EBADMSG;
	memcpy(&size, rest->data, sizeof(size));
	if (size > rest->size - sizeof(size))
		return -EBADMSG;

	bytes_clear(&unpacking->column);
	unpacking->column.ceiling = (size_t)max_bytes;
	r = zstd_decompress((struct bytes_view){ rest->data + sizeof(size), (size_t)size },
			    &unpacking->column);
	if (r < 0)
		return r == -EFBIG ? -EBADMSG : r;
	rest->data += sizeof(size) + size;
	rest->size -= sizeof(size) + (size_t)size;
	unpacking->reader = bytes_reader_of(bytes_view_of(&unpacking->column));
	return 0;
}

/* Expands the next column, which is an array without further encoding, to @to. */
static int copy_column(struct unpacking *unpacking, void *to, uint64_t size)
{
	int r = next_column(unpacking, size);

	if (r < 0)
		return r;
	if (unpacking->column.size != size)
		return -EBADMSG;
	if (size > 0)
		memcpy(to, unpacking->column.data, size);
	return 0;
}

static int read_columns(struct unpacking *unpacking)
{
	static void (*const readers[])(struct unpacking *) = {
		[COLUMN_STARTS] = get_starts,     [COLUMN_LOCATION_OF] = get_location_of,
		[COLUMN_CALLERS] = get_callers,   [COLUMN_FUNCTIONS_OF] = get_functions_of,
		[COLUMN_PATHS_OF] = get_paths_of, [COLUMN_LINES] = get_lines,
		[COLUMN_TEXTS_OF] = get_texts_of, [COLUMN_FIRST_LINES] = get_first_lines,
		[COLUMN_NAMELESS] = get_nameless,
	};
	const struct symbol_header *header = &unpacking->header;
	const uint64_t max_bytes = (longest_column(header) + UINT64_C(1)) * COLUMN_VARINT_MAX_BYTES;
	int r;

	r = copy_column(unpacking, unpacking->segments,
			header->n_segments * sizeof(*unpacking->segments));
	if (r == 0)
		r = copy_column(unpacking, unpacking->texts, header->text_bytes);
	for (size_t i = COLUMN_STARTS; r == 0 && i < N_COLUMNS; i++) {
		r = next_column(unpacking, max_bytes);
		if (r < 0)
			break;
		readers[i](unpacking);
		r = unpacking->reader.error;
	}
	return r;
}

/* Sets the pointers of @unpacking to the arrays in @flat. */
static void set_arrays(struct unpacking *unpacking, uint8_t *flat)
{
	struct symbol_arrays arrays;
	const uint8_t *from = flat;

	symbol_layout_arrays(&unpacking->header, flat, &arrays);
#define SET_ARRAY(member)                                                                          \
	(unpacking->member = (void *)(flat + ((const uint8_t *)arrays.member - from)))
	SET_ARRAY(segments);
	SET_ARRAY(pages);
	SET_ARRAY(starts);
	SET_ARRAY(location_of);
	SET_ARRAY(locations);
	SET_ARRAY(functions);
	SET_ARRAY(paths);
	SET_ARRAY(nameless);
	SET_ARRAY(texts);
#undef SET_ARRAY
}

static int fill_flat(struct unpacking *unpacking, struct bytes_view flat, uint8_t *writable)
{
	const struct symbol_header *header = &unpacking->header;
	scoped_free struct last_line *last = calloc(header->n_functions + 1UL, sizeof(*last));
	scoped_free uint32_t *last_callee = calloc(header->n_locations + 1UL, sizeof(*last_callee));
	scoped_free uint32_t *used_texts =
		malloc((longest_column(header) + 2) * sizeof(*used_texts));
	int r;

	if (!last || !last_callee || !used_texts)
		return -ENOMEM;
	unpacking->last = last;
	unpacking->used_texts = used_texts;
	unpacking->last_callee = last_callee;
	memset(writable, 0, flat.size);
	set_arrays(unpacking, writable);
	r = read_columns(unpacking);
	if (r < 0)
		return r;

	symbol_layout_fill_pages(unpacking->starts, header->n_ranges, header->page_shift,
				 header->n_pages, unpacking->pages);
	memcpy(writable, header, sizeof(*header));
	return symbol_layout_checksum(flat) == header->checksum ? 0 : -EBADMSG;
}

static int read_header(struct bytes_view stored, struct symbol_header *ret_header)
{
	struct symbol_header header;

	if (stored.size < sizeof(header))
		return -EBADMSG;
	memcpy(&header, stored.data, sizeof(header));
	if (memcmp(header.magic, SYMBOL_STORED_MAGIC, sizeof(header.magic)) != 0)
		return -EBADMSG;
	if (header.version != SYMBOL_LAYOUT_VERSION)
		return -ESTALE;
	if (header.zero != 0 || symbol_layout_bytes(&header) != header.total_bytes ||
	    header.page_shift > 31)
		return -EBADMSG;
	*ret_header = header;
	return 0;
}

int symbol_pack_flat_bytes(struct bytes_view stored, uint64_t *ret_bytes)
{
	struct symbol_header header;
	int r = read_header(stored, &header);

	if (r == 0)
		*ret_bytes = header.total_bytes;
	return r;
}

int symbol_unpack(struct bytes_view stored, struct bytes *out)
{
	struct unpacking unpacking = {};
	const size_t at = out->size;
	struct bytes_view flat;
	int r;

	r = read_header(stored, &unpacking.header);
	if (r < 0)
		return r;
	r = bytes_reserve(out, unpacking.header.total_bytes);
	if (r < 0)
		return r;
	memcpy(unpacking.header.magic, SYMBOL_FLAT_MAGIC, sizeof(unpacking.header.magic));
	unpacking.rest = (struct bytes_view){ stored.data + sizeof(unpacking.header),
					      stored.size - sizeof(unpacking.header) };
	flat = (struct bytes_view){ out->data + at, (size_t)unpacking.header.total_bytes };
	r = fill_flat(&unpacking, flat, out->data + at);
	bytes_release(&unpacking.column);
	if (r == 0)
		out->size += flat.size;
	return r;
}
