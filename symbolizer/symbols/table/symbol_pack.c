/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/table/symbol_pack.h"

#include "common/scoped.h"
#include "common/search.h"
#include "common/zstd_frame.h"
#include "symbolizer/symbols/table/symbol_columns.h"

/*
 * Compared with level 6, level 9 takes four times as long and saves 3 % of the size; level 3 takes
 * half as long and adds 12 %.
 */
#define ZSTD_LEVEL 6

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

struct packing {
	struct symbol_header header;
	struct symbol_arrays arrays;
	struct last_line *last; /* [n_functions + 1] */
	/* [n_locations + 1], by caller: function of the previous location with that caller */
	uint32_t *last_callee;
	uint32_t *used_texts; /* [longest_column() + 2] */
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

static void put_location_of(struct packing *packing)
{
	uint64_t next = 0;

	for (uint32_t i = 0; i < packing->header.n_ranges; i++) {
		uint64_t location = packing->arrays.location_of[i];

		if (location == SYMBOL_NO_LOCATION) {
			put(&packing->writer, 0);
		} else if (location >= next) {
			put(&packing->writer, 1 + 2 * (location - next));
			next = location + 1;
		} else {
			put(&packing->writer, 2 * (next - location));
		}
	}
}

static void put_callers(struct packing *packing)
{
	const struct symbol_location *locations = packing->arrays.locations;

	for (uint32_t i = 0; i < packing->header.n_locations; i++)
		put(&packing->writer,
		    locations[i].caller == SYMBOL_NONE ? 0 : i - locations[i].caller);
}

static void put_functions_of(struct packing *packing)
{
	const struct symbol_location *locations = packing->arrays.locations;
	uint32_t next = 0;

	for (uint32_t i = 0; i < packing->header.n_locations; i++) {
		const uint32_t function = locations[i].function;
		const uint32_t caller = MIN(locations[i].caller, packing->header.n_locations);
		uint32_t *last = &packing->last_callee[caller];

		if (function == *last)
			put(&packing->writer, 0);
		else if (function == next)
			put(&packing->writer, 1);
		else if (function == SYMBOL_NONE)
			put(&packing->writer, 2);
		else
			put(&packing->writer, 3 + zigzag_encode((int64_t)next - function));
		if (function != SYMBOL_NONE && function >= next)
			next = function + 1;
		*last = function;
	}
}

static void put_paths_of(struct packing *packing)
{
	const struct symbol_location *locations = packing->arrays.locations;
	uint32_t next = 0;

	for (uint32_t i = 0; i < packing->header.n_locations; i++) {
		struct last_line *last = last_line_of(packing->last, packing->header.n_functions,
						      locations[i].function);
		uint32_t path = locations[i].path;

		if (path == last->path)
			put(&packing->writer, 0);
		else if (path == SYMBOL_NONE)
			put(&packing->writer, 1);
		else
			put(&packing->writer, 2 + zigzag_encode((int64_t)next - path));
		if (path != SYMBOL_NONE && path >= next)
			next = path + 1;
		last->path = path;
	}
}

static void put_lines(struct packing *packing)
{
	const struct symbol_location *locations = packing->arrays.locations;

	for (uint32_t i = 0; i < packing->header.n_locations; i++) {
		struct last_line *last = last_line_of(packing->last, packing->header.n_functions,
						      locations[i].function);

		put(&packing->writer, zigzag_encode((int64_t)locations[i].line - last->line));
		last->line = locations[i].line;
	}
}

/* Texts in the order of their first use, which is the order of their offsets. */
struct used_texts {
	uint32_t *offsets;
	size_t count;
	uint32_t next; /* offset of the first text not used yet */
};

static void put_text(struct packing *packing, uint32_t text, struct used_texts *used)
{
	size_t low;

	if (text == used->next) {
		used->offsets[used->count++] = text;
		used->next += (uint32_t)strlen(packing->arrays.texts + text) + 1;
		put(&packing->writer, 0);
		return;
	}
	assert(text < used->next);
	low = lower_bound(at, used->count, used->offsets[at] < text);
	put(&packing->writer, used->count - low);
}

static void put_texts_of(struct packing *packing)
{
	const struct symbol_arrays *arrays = &packing->arrays;
	struct used_texts used = { .offsets = packing->used_texts, .count = 1, .next = 1 };

	used.offsets[0] = 0;
	for (uint32_t i = 0; i < packing->header.n_functions; i++) {
		put_text(packing, arrays->functions[i].linkage, &used);
		put_text(packing, arrays->functions[i].display, &used);
	}
	for (uint32_t i = 0; i < packing->header.n_paths; i++)
		put_text(packing, arrays->paths[i], &used);
}

static void put_first_lines(struct packing *packing)
{
	int64_t previous = 0;

	for (uint32_t i = 0; i < packing->header.n_functions; i++) {
		const int64_t line = packing->arrays.functions[i].first_line;

		put(&packing->writer, zigzag_encode(line - previous));
		previous = line;
	}
}

static void put_nameless(struct packing *packing)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < packing->header.n_nameless; i++) {
		const struct symbol_nameless *function = &packing->arrays.nameless[i];

		put(&packing->writer, function->start - end);
		put(&packing->writer, function->end - function->start);
		end = function->end;
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
	return append_column(packing->out,
			     (struct bytes_view){ packing->writer.data, packing->writer.size });
}

static int append_columns(struct packing *packing)
{
	static void (*const writers[])(struct packing *) = {
		[COLUMN_STARTS] = put_starts,     [COLUMN_LOCATION_OF] = put_location_of,
		[COLUMN_CALLERS] = put_callers,   [COLUMN_FUNCTIONS_OF] = put_functions_of,
		[COLUMN_PATHS_OF] = put_paths_of, [COLUMN_LINES] = put_lines,
		[COLUMN_TEXTS_OF] = put_texts_of, [COLUMN_FIRST_LINES] = put_first_lines,
		[COLUMN_NAMELESS] = put_nameless,
	};
	const struct symbol_arrays *arrays = &packing->arrays;
	int r;

	r = append_column(packing->out, (struct bytes_view){ (const uint8_t *)arrays->segments,
							     packing->header.n_segments *
								     sizeof(*arrays->segments) });
	if (r == 0)
		r = append_column(packing->out, (struct bytes_view){ (const uint8_t *)arrays->texts,
								     packing->header.text_bytes });
	for (size_t i = COLUMN_STARTS; r == 0 && i < N_COLUMNS; i++)
		r = append_written(packing, writers[i]);
	return r;
}

int symbol_pack(struct bytes_view flat, struct bytes *out)
{
	struct packing packing = { .out = out };
	scoped_free struct last_line *last = NULL;
	scoped_free uint32_t *last_callee = NULL;
	scoped_free uint32_t *used_texts = NULL;
	scoped_free uint8_t *data = NULL;
	int r;

	assert(flat.size >= sizeof(packing.header));
	memcpy(&packing.header, flat.data, sizeof(packing.header));
	symbol_layout_arrays(&packing.header, flat.data, &packing.arrays);
	packing.last = last = calloc(packing.header.n_functions + 1UL, sizeof(*last));
	packing.last_callee = last_callee =
		calloc(packing.header.n_locations + 1UL, sizeof(*last_callee));
	packing.writer.data = data =
		malloc(longest_column(&packing.header) * COLUMN_VARINT_MAX_BYTES + 1);
	packing.used_texts = used_texts =
		malloc((longest_column(&packing.header) + 2) * sizeof(*used_texts));
	if (!last || !last_callee || !used_texts || !data)
		return -ENOMEM;

	memcpy(packing.header.magic, SYMBOL_STORED_MAGIC, sizeof(packing.header.magic));
	r = bytes_append(out, &packing.header, sizeof(packing.header));
	return r < 0 ? r : append_columns(&packing);
}
