/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges three sources. Code with functions is used first. Where there is none, lines without a
 * function are used, with the name of the symbol around them. Where there are no lines either,
 * symbols are used alone. Where two runs of one layer overlap (functions that a linker merged), the
 * run that begins first gets the bytes; of two with the same start, the one that was added first.
 */

#include "symbolizer/symbols/compile/table_builder.h"

/* Start of the last range, which is a gap. */
#define WINDOW_END (UINT32_MAX - 1)

/* Finds symbols at rising offsets. */
struct symbol_cursor {
	const struct table_builder *builder;
	uint32_t next; /* index of the first symbol that ends above the last offset */
};

/* Finds pieces of a layer at rising offsets. */
struct layer_cursor {
	const struct builder_layer *layer;
	size_t run;
	uint32_t segment; /* index within the run */
	/* The current piece; its start is UINT32_MAX after the last one. */
	uint32_t start;
	uint32_t end;
	uint32_t location;
};

static int compare_runs(const void *left, const void *right)
{
	const struct builder_run *a = left;
	const struct builder_run *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* Moves to the first piece that ends above @offset, and cuts off its part below @offset. */
static void seek(struct layer_cursor *cursor, uint32_t offset)
{
	const struct builder_layer *layer = cursor->layer;

	for (; cursor->run < layer->runs.count; cursor->run++, cursor->segment = 0) {
		const struct builder_run *run = &layer->runs.items[cursor->run];

		if (run->end <= offset)
			continue;
		for (; cursor->segment < run->count; cursor->segment++) {
			const struct builder_segment *segment =
				&layer->segments.items[run->first + cursor->segment];
			bool is_last = cursor->segment + 1 == run->count;

			cursor->start = MAX(segment->start, offset);
			cursor->end = is_last ? run->end : segment[1].start;
			cursor->location = segment->location;
			if (cursor->end > offset)
				return;
		}
	}
	cursor->start = cursor->end = UINT32_MAX;
}

/* A symbol's range, cut like the pieces of a layer. */
struct symbol_piece {
	uint32_t index;
	uint32_t start;
	uint32_t end;
};

/* Finds the symbol around @offset or the first one above it. */
static void seek_symbol(struct symbol_cursor *cursor, uint32_t offset, struct symbol_piece *ret)
{
	const struct function_range_vec *symbols = cursor->builder->symbols;
	const uint64_t base = cursor->builder->base;

	while (cursor->next < symbols->count && symbols->items[cursor->next].end <= base + offset)
		cursor->next++;
	*ret = (struct symbol_piece){ .index = cursor->next,
				      .start = UINT32_MAX,
				      .end = UINT32_MAX };
	if (cursor->next < symbols->count) {
		const struct function_range *symbol = &symbols->items[cursor->next];
		uint64_t start = symbol->start > base ? symbol->start - base : 0;
		uint64_t end = symbol->end - base;

		if (start < WINDOW_END) {
			ret->start = MAX((uint32_t)start, offset);
			ret->end = (uint32_t)MIN(end, (uint64_t)WINDOW_END);
		}
	}
}

static int append(struct merged_ranges *merged, uint32_t start, uint32_t location)
{
	struct builder_segment_vec *segments = &merged->segments;

	if (segments->count > 0 && segments->items[segments->count - 1].location == location)
		return 0;
	if (segments->count == 0 && location == SYMBOL_NO_LOCATION)
		return 0;
	if (segments->count >= UINT32_MAX - 1)
		return -EFBIG;
	return vec_push(segments, (struct builder_segment){ .start = start, .location = location });
}

/*
 * Finds or adds the location that has the path and line of @lines (none for SYMBOL_NO_LOCATION) and
 * the function of @symbol.
 */
static int named_location(struct table_builder *builder, uint32_t lines, uint32_t symbol,
			  uint32_t *ret_location)
{
	struct symbol_location location = {
		.path = SYMBOL_NONE,
		.caller = SYMBOL_NONE,
	};
	int r;

	if (lines != SYMBOL_NO_LOCATION)
		location = builder->locations.locations.items[lines];
	r = table_builder_symbol(builder, symbol, &location.function);
	return r < 0 ? r : location_table_add(&builder->locations, &location, ret_location);
}

struct merging {
	struct table_builder *builder;
	struct layer_cursor code;
	struct layer_cursor lines;
	struct symbol_cursor symbols;
	struct merged_ranges *merged;
};

/* Appends the lines or the symbol at @offset, where the first layer has nothing; *ret_end is where
 * they end. */
static int append_below(struct merging *merging, uint32_t offset, uint32_t *ret_end)
{
	uint32_t location = SYMBOL_NO_LOCATION;
	uint32_t end = merging->code.start;
	struct symbol_piece symbol;
	int r = 0;

	seek(&merging->lines, offset);
	seek_symbol(&merging->symbols, offset, &symbol);
	if (merging->lines.start == offset && merging->lines.end > offset) {
		location = merging->lines.location;
		end = MIN(end, merging->lines.end);
	} else {
		end = MIN(end, merging->lines.start);
	}
	if (symbol.start == offset && symbol.end > offset) {
		r = named_location(merging->builder, location, symbol.index, &location);
		end = MIN(end, symbol.end);
	} else {
		end = MIN(end, symbol.start);
	}
	*ret_end = end;
	return r < 0 ? r : append(merging->merged, offset, location);
}

static int merge(struct merging *merging)
{
	uint32_t offset = 0;
	int r = 0;

	while (r == 0 && offset < WINDOW_END) {
		seek(&merging->code, offset);
		if (merging->code.start == offset) {
			r = append(merging->merged, offset, merging->code.location);
			offset = merging->code.end;
		} else {
			r = append_below(merging, offset, &offset);
		}
	}
	return r < 0 ? r : append(merging->merged, WINDOW_END, SYMBOL_NO_LOCATION);
}

int table_builder_merge(struct table_builder *builder, struct merged_ranges *ret_merged)
{
	struct merging merging = {
		.builder = builder,
		.code = { .layer = &builder->layers[LAYER_CODE] },
		.lines = { .layer = &builder->layers[LAYER_LINES] },
		.symbols = { .builder = builder },
		.merged = ret_merged,
	};

	for (size_t i = 0; i < N_LAYERS; i++) {
		struct builder_run_vec *runs = &builder->layers[i].runs;

		if (runs->count > 0)
			qsort(runs->items, runs->count, sizeof(*runs->items), compare_runs);
	}
	location_table_forget(&builder->locations);
	return merge(&merging);
}
