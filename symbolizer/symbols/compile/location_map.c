/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sweeps over the ranges in order of address. An address belongs to the range around it whose entry
 * stands last in the file: an entry follows the entries around it, so this is the innermost one.
 * Where the DWARF contradicts itself, other readers choose the same.
 *
 * An outermost function gets the name of the symbol that begins at the start of its range. The name
 * may differ between the ranges of one function (f and f.cold). So each such range starts an epoch,
 * and locations of inlined calls in it are made again.
 */

#include "symbolizer/symbols/compile/location_map.h"

#include "symbolizer/symbols/symbol_limits.h"

#define PATH_NOT_MADE (UINT32_MAX - 1)

/* Epochs are numbered from 1. There are fewer than 2^32 ranges, so none has this number. */
#define NO_EPOCH UINT32_MAX

/* Twice PATH_MAX. A longer path is left out of the table. */
#define PATH_MAX_BYTES 8192

void location_map_init(struct location_map *map, struct table_builder *builder)
{
	*map = (struct location_map){ .builder = builder, .path = BYTES_INIT(PATH_MAX_BYTES) };
}

void location_map_release(struct location_map *map)
{
	line_table_release(&map->lines);
	vec_release(&map->open);
	vec_release(&map->paths);
	bytes_release(&map->path);
}

static void heap_push_up(struct code_heap *heap)
{
	size_t at = heap->count - 1;

	while (at > 0 && heap->items[(at - 1) / 2].instance < heap->items[at].instance) {
		const struct code_heap_item item = heap->items[at];

		heap->items[at] = heap->items[(at - 1) / 2];
		heap->items[(at - 1) / 2] = item;
		at = (at - 1) / 2;
	}
}

static void heap_pop(struct code_heap *heap)
{
	size_t at = 0;

	heap->items[0] = heap->items[--heap->count];
	for (;;) {
		size_t child = 2 * at + 1;
		const struct code_heap_item item = heap->items[at];

		if (child + 1 < heap->count &&
		    heap->items[child + 1].instance > heap->items[child].instance)
			child++;
		if (child >= heap->count || heap->items[child].instance <= item.instance)
			return;
		heap->items[at] = heap->items[child];
		heap->items[child] = item;
		at = child;
	}
}

static int make_path(struct location_map *map, uint64_t file, uint32_t *ret_path)
{
	int r;

	*ret_path = SYMBOL_NONE;
	bytes_clear(&map->path);
	r = line_table_path(&map->lines, map->unit, file, &map->path);
	if (r <= 0 || map->path.size == 0)
		return r == -EFBIG || r > 0 ? 0 : r;
	r = string_table_intern(map->builder->paths, (const char *)map->path.data, map->path.size,
				ret_path);
	return r == -ENOSPC ? -EFBIG : r;
}

/* Finds the id in builder->paths of the unit's file @file, or SYMBOL_NONE. */
static int path_of(struct location_map *map, uint64_t file, uint32_t *ret_path)
{
	int r = 0;

	if (file >= map->lines.files.count) {
		*ret_path = SYMBOL_NONE;
		return 0;
	}
	if (map->paths.items[file] == PATH_NOT_MADE)
		r = make_path(map, file, &map->paths.items[file]);
	*ret_path = map->paths.items[file];
	return r;
}

static int function_of(struct location_map *map, struct code_instance *instance,
		       uint32_t *ret_function)
{
	int r = 0;

	if (instance->function_id == SYMBOL_NONE)
		r = table_builder_entry(map->builder, instance->function, &instance->function_id);
	*ret_function = instance->function_id;
	return r;
}

/* Finds the location of the call that was inlined; SYMBOL_NONE for an outermost function. */
static int caller_of(struct location_map *map, struct code_instance *instance, uint32_t *ret_caller)
{
	struct symbol_location location;
	struct code_instance *parent;
	int r;

	if (instance->parent == NO_INSTANCE) {
		*ret_caller = SYMBOL_NONE;
		return 0;
	}
	if (instance->epoch != map->instances[instance->root].epoch) {
		parent = &map->instances[instance->parent];
		location.line = instance->call_line;
		r = caller_of(map, parent, &location.caller);
		if (r < 0)
			return r;
		r = function_of(map, parent, &location.function);
		if (r < 0)
			return r;
		r = path_of(map, instance->call_file, &location.path);
		if (r < 0)
			return r;
		r = location_table_add(&map->builder->locations, &location, &instance->caller);
		if (r < 0)
			return r;
		instance->epoch = map->instances[instance->root].epoch;
	}
	*ret_caller = instance->caller;
	return 0;
}

/*
 * Returns the row of @offset, or NULL if there is none; *ret_end is where the row, or the gap,
 * ends.
 */
static const struct line_row *row_at(struct location_map *map, uint32_t offset, uint32_t *ret_end)
{
	const struct line_row_vec *rows = &map->lines.rows;

	while (map->row + 1 < rows->count && rows->items[map->row + 1].offset <= offset)
		map->row++;
	*ret_end = map->row + 1 < rows->count ? rows->items[map->row + 1].offset : UINT32_MAX;
	if (rows->count == 0)
		return NULL;
	if (rows->items[map->row].offset > offset) {
		*ret_end = rows->items[map->row].offset;
		return NULL;
	}
	return rows->items[map->row].file == LINE_GAP ? NULL : &rows->items[map->row];
}

/* Finds the source line of @row. Line 0 means code without a line: it gets the previous line of the
 * same function. */
static int line_of(struct location_map *map, struct code_instance *instance,
		   const struct line_row *row, struct symbol_location *location)
{
	int r = 0;

	location->path = SYMBOL_NONE;
	location->line = 0;
	if (row && row->line == 0 && instance->last_line != 0) {
		location->path = instance->last_path;
		location->line = instance->last_line;
		return 0;
	}
	if (row)
		r = path_of(map, row->file, &location->path);
	if (row)
		location->line = row->line;
	instance->last_path = location->path;
	instance->last_line = location->line;
	return r;
}

/*
 * The location of a leaf. @is_last: path and line are those of the instance's last piece of code,
 * so that its last location is used again. Instructions of several functions are mixed, and each
 * function often continues with the line it had.
 */
static int leaf_of(struct location_map *map, struct code_instance *instance,
		   const struct symbol_location *location, bool is_last, uint32_t *ret_number)
{
	const uint32_t epoch = map->instances[instance->root].epoch;
	int r = 0;

	if (!is_last || instance->last_epoch != epoch) {
		r = location_table_add(&map->builder->locations, location,
				       &instance->last_location);
		instance->last_epoch = epoch;
	}
	*ret_number = instance->last_location;
	return r;
}

/* Adds the bytes [start, end), which belong to the instance @owner. */
static int add_code(struct location_map *map, uint32_t owner, uint32_t start, uint32_t end)
{
	struct code_instance *instance = &map->instances[owner];
	struct symbol_location location;
	uint32_t number, row_end;
	int r;

	r = caller_of(map, instance, &location.caller);
	if (r < 0)
		return r;
	r = function_of(map, instance, &location.function);
	if (r < 0)
		return r;
	while (start < end) {
		const struct line_row *row = row_at(map, start, &row_end);
		const uint32_t last_path = instance->last_path;
		const uint32_t last_line = instance->last_line;

		r = line_of(map, instance, row, &location);
		if (r < 0)
			return r;
		r = leaf_of(map, instance, &location,
			    location.path == last_path && location.line == last_line, &number);
		if (r < 0)
			return r;
		r = table_builder_add(map->builder, LAYER_CODE, start, MIN(row_end, end), number);
		if (r < 0)
			return r;
		start = MIN(row_end, end);
	}
	return 0;
}

/* Adds bytes that belong to no function, such as padding between functions, and assembly code. */
static int add_lines(struct location_map *map, uint32_t start, uint32_t end)
{
	struct symbol_location location = { .function = SYMBOL_NONE, .caller = SYMBOL_NONE };
	uint32_t number, row_end;

	for (; start < end && map->row < map->lines.rows.count; start = MIN(row_end, end)) {
		const struct line_row *row = row_at(map, start, &row_end);
		int r;

		if (!row)
			continue;
		location.line = row->line;
		r = path_of(map, row->file, &location.path);
		if (r < 0)
			return r;
		r = location_table_add(&map->builder->locations, &location, &number);
		if (r < 0)
			return r;
		r = table_builder_add(map->builder, LAYER_LINES, start, MIN(row_end, end), number);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Adds a range that begins. A range of an outermost function also sets its name and a new epoch. */
static int open_range(struct location_map *map, const struct code_range *range)
{
	struct code_instance *instance = &map->instances[range->instance];
	int64_t symbol;
	uint32_t function = SYMBOL_NONE;
	int r;

	if (instance->parent == NO_INSTANCE) {
		symbol = table_builder_symbol_at(map->builder, range->start);
		if (symbol >= 0) {
			const struct function_range *found = &map->builder->symbols->items[symbol];

			r = 0;
			if (!found->label && found->start == map->builder->base + range->start)
				r = table_builder_symbol(map->builder, (uint32_t)symbol, &function);
			if (r < 0)
				return r;
			if (function != SYMBOL_NONE)
				table_builder_declare(map->builder, function, instance->function);
		}
		instance->function_id = function;
		instance->epoch = ++map->epoch;
	}
	r = vec_push(&map->open,
		     (struct code_heap_item){ .instance = range->instance, .end = range->end });
	if (r == 0)
		heap_push_up(&map->open);
	return r;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct code_range *a = left;
	const struct code_range *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->instance != b->instance)
		return a->instance < b->instance ? -1 : 1;
	return a->end > b->end ? -1 : a->end < b->end;
}

static int sweep(struct location_map *map, const struct code_range_vec *ranges)
{
	uint32_t offset = 0;
	size_t next = 0;
	int r = 0;

	vec_clear(&map->open);
	while (r == 0 && (next < ranges->count || map->open.count > 0)) {
		const uint32_t begins =
			next < ranges->count ? ranges->items[next].start : UINT32_MAX;

		if (begins <= offset) {
			r = open_range(map, &ranges->items[next++]);
		} else if (map->open.count == 0) {
			r = add_lines(map, offset, begins);
			offset = begins;
		} else if (map->open.items[0].end <= offset) {
			heap_pop(&map->open);
		} else {
			const struct code_heap_item top = map->open.items[0];

			r = add_code(map, top.instance, offset, MIN(top.end, begins));
			offset = MIN(top.end, begins);
		}
	}
	return r < 0 ? r : add_lines(map, offset, UINT32_MAX);
}

static int reset(struct location_map *map, const struct dwarf_unit *unit, struct unit_code *code)
{
	int r;

	map->unit = unit->skeleton ? unit->skeleton : unit;
	map->instances = code->instances.items;
	map->row = 0;
	for (size_t i = 0; i < code->instances.count; i++) {
		struct code_instance *instance = &code->instances.items[i];

		instance->function_id = SYMBOL_NONE;
		/* Never equal to the root's epoch, even while that is 0: in damaged DWARF an
		 * inlined call may begin before its function. */
		instance->epoch = instance->parent == NO_INSTANCE ? 0 : NO_EPOCH;
		instance->last_epoch = NO_EPOCH;
	}
	vec_clear(&map->paths);
	r = vec_reserve(&map->paths, map->lines.files.count);
	for (size_t i = 0; r == 0 && i < map->lines.files.count; i++)
		map->paths.items[map->paths.count++] = PATH_NOT_MADE;
	location_table_forget(&map->builder->locations);
	return r;
}

int location_map_add(struct location_map *map, const struct dwarf_unit *unit,
		     struct unit_code *code)
{
	int r = reset(map, unit, code);

	if (r < 0)
		return r;
	if (code->ranges.count > 0)
		qsort(code->ranges.items, code->ranges.count, sizeof(*code->ranges.items),
		      compare_ranges);
	return sweep(map, &code->ranges);
}
