/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each column is written so that what is usual is a zero or a one: a range leads to a location not
 * met before, whose function is that of the location before it, whose line is close to the last
 * one of the same function in the same file. zstd then takes most of it away.
 *
 *   header      as in the flat form, with another magic and the checksum of the flat form
 *   columns     each a u64 with its size, and a zstd frame
 */

#include "symbolizer/symbols/symbol_pack.h"

#include "common/scoped.h"
#include "common/zstd_frame.h"
#include "symbolizer/symbols/symbol_layout.h"

/* Beyond 9, two seconds more give 2 %. */
#define ZSTD_LEVEL 9

/* Longest varint of a column: 33 bits. */
#define VARINT_MAX_BYTES 5

enum column {
	COLUMN_SEGMENTS,
	COLUMN_STARTS,
	COLUMN_LOCATION_OF,
	COLUMN_CALLERS,
	COLUMN_FUNCTIONS_OF,
	COLUMN_PATHS_OF,
	COLUMN_LINES,
	COLUMN_FUNCTION_NAMES,
	COLUMN_PATHS,
	COLUMN_TEXTS,
	N_COLUMNS,
};

struct column_writer {
	uint8_t *data;
	size_t size;
};

static void put(struct column_writer *writer, uint64_t value)
{
	while (value >= 0x80) {
		writer->data[writer->size++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	writer->data[writer->size++] = (uint8_t)value;
}

/* What was last seen of each function, from which its next location is guessed. */
struct last_place {
	uint32_t path;
	uint32_t line;
};

struct packing {
	struct symbol_header header;
	struct symbol_arrays arrays;
	struct last_place *last; /* [n_functions + 1]; the last one is for SYMBOL_NONE */
	struct column_writer writer;
	struct bytes *out;
};

static void put_starts(struct packing *packing)
{
	uint32_t previous = 0;

	for (uint32_t i = 0; i < packing->header.n_ranges; i++) {
		put(&packing->writer, packing->arrays.starts[i] - previous);
		previous = packing->arrays.starts[i];
	}
}

/* 0 a gap; 1, 3, 5 ... so many numbers beyond those met; 2, 4, 6 ... so many back. */
static void put_location_of(struct packing *packing)
{
	uint64_t unmet = 0;

	for (uint32_t i = 0; i < packing->header.n_ranges; i++) {
		uint64_t location = packing->arrays.location_of[i];

		if (location == SYMBOL_NO_LOCATION) {
			put(&packing->writer, 0);
		} else if (location >= unmet) {
			put(&packing->writer, 1 + 2 * (location - unmet));
			unmet = location + 1;
		} else {
			put(&packing->writer, 2 * (unmet - location));
		}
	}
}

/* 0 none, else how many locations back. */
static void put_callers(struct packing *packing)
{
	const struct symbol_location *locations = packing->arrays.locations;

	for (uint32_t i = 0; i < packing->header.n_locations; i++)
		put(&packing->writer,
		    locations[i].caller == SYMBOL_NONE ? 0 : i - locations[i].caller);
}

/* 0 that of the location before, 1 the first one not met yet, 2 none, 3 ... so many back from there. */
static void put_functions_of(struct packing *packing)
{
	const struct symbol_location *locations = packing->arrays.locations;
	uint32_t previous = SYMBOL_NONE;
	uint32_t unmet = 0;

	for (uint32_t i = 0; i < packing->header.n_locations; i++) {
		uint32_t function = locations[i].function;

		if (i > 0 && function == previous)
			put(&packing->writer, 0);
		else if (function == unmet)
			put(&packing->writer, 1);
		else if (function == SYMBOL_NONE)
			put(&packing->writer, 2);
		else
			put(&packing->writer, 3 + zigzag_encode((int64_t)unmet - function));
		if (function != SYMBOL_NONE && function >= unmet)
			unmet = function + 1;
		previous = function;
	}
}

static struct last_place *last_place_of(struct last_place *last, uint32_t n_functions,
					uint32_t function)
{
	return &last[function == SYMBOL_NONE ? n_functions : function];
}

/* 0 that of the function's location before; 1 none; 2 ... so many back from the first unmet. */
static void put_paths_of(struct packing *packing)
{
	const struct symbol_location *locations = packing->arrays.locations;
	uint32_t unmet = 0;

	for (uint32_t i = 0; i < packing->header.n_locations; i++) {
		struct last_place *last = last_place_of(packing->last, packing->header.n_functions,
							locations[i].function);
		uint32_t path = locations[i].path;

		if (path == last->path)
			put(&packing->writer, 0);
		else if (path == SYMBOL_NONE)
			put(&packing->writer, 1);
		else
			put(&packing->writer, 2 + zigzag_encode((int64_t)unmet - path));
		if (path != SYMBOL_NONE && path >= unmet)
			unmet = path + 1;
		last->path = path;
	}
}

static void put_lines(struct packing *packing)
{
	const struct symbol_location *locations = packing->arrays.locations;

	for (uint32_t i = 0; i < packing->header.n_locations; i++) {
		struct last_place *last = last_place_of(packing->last, packing->header.n_functions,
							locations[i].function);

		put(&packing->writer, zigzag_encode((int64_t)locations[i].line - last->line));
		last->line = locations[i].line;
	}
}

static void put_function_names(struct packing *packing)
{
	uint32_t previous = 0;

	for (uint32_t i = 0; i < packing->header.n_functions; i++) {
		const struct symbol_function *function = &packing->arrays.functions[i];

		put(&packing->writer, zigzag_encode((int64_t)function->display - previous));
		put(&packing->writer,
		    zigzag_encode((int64_t)function->linkage - function->display));
		previous = function->linkage;
	}
}

static void put_paths(struct packing *packing)
{
	uint32_t previous = 0;

	for (uint32_t i = 0; i < packing->header.n_paths; i++) {
		put(&packing->writer, zigzag_encode((int64_t)packing->arrays.paths[i] - previous));
		previous = packing->arrays.paths[i];
	}
}

static int append_column(struct bytes *out, struct bytes_view column)
{
	const size_t at = out->size;
	uint64_t size = 0;
	int r;

	r = bytes_append(out, &size, sizeof(size));
	if (r == 0)
		r = zstd_compress(column, ZSTD_LEVEL, out);
	if (r < 0)
		return r;
	size = out->size - at - sizeof(size);
	memcpy(out->data + at, &size, sizeof(size));
	return 0;
}

static int append_written(struct packing *packing, void (*put_column)(struct packing *))
{
	packing->writer.size = 0;
	put_column(packing);
	return append_column(packing->out, (struct bytes_view){ packing->writer.data,
								packing->writer.size });
}

static int append_columns(struct packing *packing)
{
	static void (*const writers[])(struct packing *) = {
		[COLUMN_STARTS] = put_starts,
		[COLUMN_LOCATION_OF] = put_location_of,
		[COLUMN_CALLERS] = put_callers,
		[COLUMN_FUNCTIONS_OF] = put_functions_of,
		[COLUMN_PATHS_OF] = put_paths_of,
		[COLUMN_LINES] = put_lines,
		[COLUMN_FUNCTION_NAMES] = put_function_names,
		[COLUMN_PATHS] = put_paths,
	};
	const struct symbol_arrays *arrays = &packing->arrays;
	int r;

	r = append_column(packing->out,
			  (struct bytes_view){ (const uint8_t *)arrays->segments,
					       packing->header.n_segments *
						       sizeof(*arrays->segments) });
	for (size_t i = COLUMN_STARTS; r == 0 && i < COLUMN_TEXTS; i++)
		r = append_written(packing, writers[i]);
	if (r == 0)
		r = append_column(packing->out,
				  (struct bytes_view){ (const uint8_t *)arrays->texts,
						       packing->header.text_bytes });
	return r;
}

static size_t longest_column(const struct symbol_header *header)
{
	const size_t ranges = MAX((size_t)header->n_ranges, (size_t)header->n_locations);
	const size_t names = MAX((size_t)header->n_functions * 2, (size_t)header->n_paths);

	return MAX(ranges, names);
}

int symbol_pack(struct bytes_view flat, struct bytes *out)
{
	struct packing packing = { .out = out };
	scoped_free struct last_place *last = NULL;
	scoped_free uint8_t *data = NULL;
	int r;

	assert(flat.size >= sizeof(packing.header));
	memcpy(&packing.header, flat.data, sizeof(packing.header));
	symbol_layout_arrays(&packing.header, flat.data, &packing.arrays);
	packing.last = last = calloc(packing.header.n_functions + 1UL, sizeof(*last));
	packing.writer.data = data =
		malloc(longest_column(&packing.header) * VARINT_MAX_BYTES + 1);
	if (!last || !data)
		return -ENOMEM;

	memcpy(packing.header.magic, SYMBOL_STORED_MAGIC, sizeof(packing.header.magic));
	r = bytes_append(out, &packing.header, sizeof(packing.header));
	return r < 0 ? r : append_columns(&packing);
}

/* The way back. Counts are the header's, so that every array is as long as it says. */

struct unpacking {
	struct symbol_header header;
	struct bytes_view rest; /* columns not read yet */
	struct bytes column;    /* the one that is read, expanded */
	struct bytes_reader reader;
	struct last_place *last;
	/* As struct symbol_arrays, to be filled. */
	struct symbol_segment *segments;
	uint32_t *pages;
	uint32_t *starts;
	uint32_t *location_of;
	struct symbol_location *locations;
	struct symbol_function *functions;
	uint32_t *paths;
	char *texts;
};

static uint64_t get(struct unpacking *unpacking)
{
	struct bytes_reader *reader = &unpacking->reader;

	/* Nearly all are of one byte. */
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
	uint32_t unmet = 0;

	for (uint32_t i = 0; i < unpacking->header.n_ranges; i++) {
		uint64_t code = get(unpacking);
		uint32_t location = SYMBOL_NO_LOCATION;

		if (code & 1) {
			location = unmet + (uint32_t)(code >> 1);
			unmet = location + 1;
		} else if (code > 0) {
			location = unmet - (uint32_t)(code >> 1);
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
	uint32_t previous = SYMBOL_NONE;
	uint32_t unmet = 0;

	for (uint32_t i = 0; i < unpacking->header.n_locations; i++) {
		uint64_t code = get(unpacking);
		uint32_t function = previous;

		if (code == 1)
			function = unmet;
		else if (code == 2)
			function = SYMBOL_NONE;
		else if (code > 2)
			function = unmet - (uint32_t)zigzag_decode(code - 3);
		/* last_place_of() trusts it. */
		if (function >= unpacking->header.n_functions && function != SYMBOL_NONE) {
			unpacking->reader.error = -EBADMSG;
			function = SYMBOL_NONE;
		}
		if (function != SYMBOL_NONE && function >= unmet)
			unmet = function + 1;
		unpacking->locations[i].function = previous = function;
	}
}

static void get_paths_of(struct unpacking *unpacking)
{
	uint32_t unmet = 0;

	for (uint32_t i = 0; i < unpacking->header.n_locations; i++) {
		struct symbol_location *location = &unpacking->locations[i];
		struct last_place *last = last_place_of(
			unpacking->last, unpacking->header.n_functions, location->function);
		uint64_t code = get(unpacking);
		uint32_t path = last->path;

		if (code == 1)
			path = SYMBOL_NONE;
		else if (code > 1)
			path = unmet - (uint32_t)zigzag_decode(code - 2);
		if (path != SYMBOL_NONE && path >= unmet)
			unmet = path + 1;
		location->path = last->path = path;
	}
}

static void get_lines(struct unpacking *unpacking)
{
	for (uint32_t i = 0; i < unpacking->header.n_locations; i++) {
		struct symbol_location *location = &unpacking->locations[i];
		struct last_place *last = last_place_of(
			unpacking->last, unpacking->header.n_functions, location->function);

		location->line = last->line = get_signed(unpacking, last->line);
	}
}

static void get_function_names(struct unpacking *unpacking)
{
	uint32_t previous = 0;

	for (uint32_t i = 0; i < unpacking->header.n_functions; i++) {
		struct symbol_function *function = &unpacking->functions[i];

		function->display = get_signed(unpacking, previous);
		previous = function->linkage = get_signed(unpacking, function->display);
	}
}

static void get_paths(struct unpacking *unpacking)
{
	uint32_t previous = 0;

	for (uint32_t i = 0; i < unpacking->header.n_paths; i++)
		unpacking->paths[i] = previous = get_signed(unpacking, previous);
}

/* Expands the next column; it may take @max_bytes. */
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

/* A column that is there byte by byte. */
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
		[COLUMN_STARTS] = get_starts,
		[COLUMN_LOCATION_OF] = get_location_of,
		[COLUMN_CALLERS] = get_callers,
		[COLUMN_FUNCTIONS_OF] = get_functions_of,
		[COLUMN_PATHS_OF] = get_paths_of,
		[COLUMN_LINES] = get_lines,
		[COLUMN_FUNCTION_NAMES] = get_function_names,
		[COLUMN_PATHS] = get_paths,
	};
	const struct symbol_header *header = &unpacking->header;
	const uint64_t max_bytes = (longest_column(header) + UINT64_C(1)) * VARINT_MAX_BYTES;
	int r;

	r = copy_column(unpacking, unpacking->segments,
			header->n_segments * sizeof(*unpacking->segments));
	for (size_t i = COLUMN_STARTS; r == 0 && i < COLUMN_TEXTS; i++) {
		r = next_column(unpacking, max_bytes);
		if (r < 0)
			break;
		readers[i](unpacking);
		r = unpacking->reader.error;
	}
	if (r == 0)
		r = copy_column(unpacking, unpacking->texts, header->text_bytes);
	return r;
}

/* Array by array, in the order of the layout. */
static void place_arrays(struct unpacking *unpacking, uint8_t *flat)
{
	struct symbol_arrays arrays;
	const uint8_t *from = flat;

	symbol_layout_arrays(&unpacking->header, flat, &arrays);
#define PLACE(member) \
	(unpacking->member = (void *)(flat + ((const uint8_t *)arrays.member - from)))
	PLACE(segments);
	PLACE(pages);
	PLACE(starts);
	PLACE(location_of);
	PLACE(locations);
	PLACE(functions);
	PLACE(paths);
	PLACE(texts);
#undef PLACE
}

static int fill_flat(struct unpacking *unpacking, struct bytes_view flat, uint8_t *writable)
{
	const struct symbol_header *header = &unpacking->header;
	scoped_free struct last_place *last = calloc(header->n_functions + 1UL, sizeof(*last));
	int r;

	if (!last)
		return -ENOMEM;
	unpacking->last = last;
	memset(writable, 0, flat.size);
	place_arrays(unpacking, writable);
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
	if (symbol_layout_bytes(&header) != header.total_bytes || header.page_shift > 31)
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
