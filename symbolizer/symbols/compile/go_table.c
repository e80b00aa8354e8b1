/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles the functions of Go's .gopclntab. Each function has small tables from pc to value: file,
 * line, and node of the function's inline tree. All three are walked together. A node has the pc of
 * the call that was inlined ("parent pc"): at that pc the tables have the file and the line of the
 * call, and the node into which the call was inlined, as in Go's runtime.
 */

#include "symbolizer/symbols/compile/go_table.h"

#include <string.h>

#include "common/elf/dwarf_cursor.h"
#include "common/elf/go_pclntab.h"
#include "common/hash_table.h"
#include "symbolizer/symbols/compile/go_file.h"
#include "symbolizer/symbols/symbol_limits.h"

/* Indexes in a function's lists of tables. */
#define PCDATA_INLINE_TREE   2
#define FUNCDATA_INLINE_TREE 3

#define NO_OFFSET UINT32_MAX

/* Bounds the time to read a file: at most this many steps for each byte of the tables. In a real
 * file each table belongs to one function; in a hostile file all functions may share one table. */
#define STEPS_PER_BYTE 16

VEC_DEFINE(caller_vec, uint32_t);

struct go_function {
	uint32_t start; /* pcs relative to go_file.text */
	uint32_t end;
	uint32_t name;
	uint32_t files;
	uint32_t lines;
	uint32_t inlined; /* table from pc to node, or 0 */
	uint32_t tree;    /* offset of its nodes, or NO_OFFSET */
	uint32_t unit;
};

struct go_reading {
	struct go_file file;
	struct table_builder *builder;
	const struct code_section_vec *code;
	struct hash_table *names;  /* offset -> function */
	struct hash_table *paths;  /* offset -> path */
	struct caller_vec callers; /* location of each node's call, or CALLER_NOT_MADE */
	struct go_function function;
	uint64_t steps_left;
};

#define CALLER_NOT_MADE (UINT32_MAX - 1)
#define NODES_MAX       (1u << 20)

/* State of walking a table from pc to value. */
struct go_values {
	struct go_pc_values pieces;
	int32_t value; /* of the current piece; -1: none */
	uint32_t end;  /* pc at which the piece ends; UINT32_MAX: the table has ended */
};

static void values_next(struct go_reading *reading, struct go_values *values)
{
	uint32_t length;

	if (reading->steps_left == 0 || !go_pc_values_next(&values->pieces, &length)) {
		values->value = -1;
		values->end = UINT32_MAX;
		return;
	}
	reading->steps_left--;
	values->value = values->pieces.value;
	values->end = (uint32_t)MIN((uint64_t)values->end + length, (uint64_t)UINT32_MAX);
}

static void values_open(struct go_reading *reading, uint32_t table, struct go_values *values)
{
	struct bytes_view view = reading->file.values;
	const size_t offset = MIN((size_t)table, view.size);

	view = (struct bytes_view){ view.data + offset, view.size - offset };
	*values = (struct go_values){
		.pieces = go_pc_values_of(view, reading->file.quantum),
		.value = -1,
		.end = reading->function.start,
	};
	if (table == 0)
		values->end = UINT32_MAX;
	else
		values_next(reading, values);
}

static void values_seek(struct go_reading *reading, struct go_values *values, uint32_t pc)
{
	while (values->end <= pc && values->end != UINT32_MAX)
		values_next(reading, values);
}

static int32_t value_at(struct go_reading *reading, uint32_t table, uint32_t pc)
{
	struct go_values values;

	values_open(reading, table, &values);
	values_seek(reading, &values, pc);
	return values.value;
}

static int function_named(struct go_reading *reading, uint32_t name, uint32_t *ret_function)
{
	const char *text = text_at_offset(reading->file.names, name);
	void *value;
	int r;

	*ret_function = SYMBOL_NONE;
	if (!text || text[0] == '\0')
		return 0;
	r = hash_table_insert(reading->names, &name, &value);
	if (r > 0)
		r = table_builder_named(reading->builder, text, value);
	if (r < 0)
		return r;
	memcpy(ret_function, value, sizeof(*ret_function));
	return 0;
}

/* Finds the path of file @number of the function's unit. */
static int path_of(struct go_reading *reading, int32_t number, uint32_t *ret_path)
{
	const uint64_t index = (uint64_t)reading->function.unit + (uint32_t)number;
	struct bytes_reader cursor = cursor_at(reading->file.units, index * 4);
	const uint32_t offset = cursor_u32(&cursor);
	const char *text;
	void *value;
	int r;

	*ret_path = SYMBOL_NONE;
	if (number < 0 || cursor.error < 0 || offset == NO_OFFSET)
		return 0;
	text = text_at_offset(reading->file.files, offset);
	if (!text || text[0] == '\0')
		return 0;
	r = hash_table_insert(reading->paths, &offset, &value);
	if (r > 0)
		r = string_table_intern(reading->builder->paths, text, strlen(text), value);
	if (r < 0)
		return r == -ENOSPC ? -EFBIG : r;
	memcpy(ret_path, value, sizeof(*ret_path));
	return 0;
}

struct go_node {
	uint32_t name;
	uint32_t parent_pc; /* pc of the call, relative to the function's start */
};

static bool node_at(const struct go_reading *reading, int32_t number, struct go_node *ret_node)
{
	const bool is_1_20 = reading->file.is_1_20;
	const uint64_t size = is_1_20 ? 16 : 20;
	struct bytes_reader cursor;

	if (number < 0 || (uint32_t)number >= NODES_MAX || reading->function.tree == NO_OFFSET)
		return false;
	cursor = cursor_at(reading->file.trees, reading->function.tree + (uint64_t)number * size);
	cursor_skip(&cursor, is_1_20 ? 4 : 12);
	ret_node->name = cursor_u32(&cursor);
	ret_node->parent_pc = cursor_u32(&cursor);
	return cursor.error == 0;
}

static int location_at(struct go_reading *reading, uint32_t function, int32_t file, int32_t line,
		       uint32_t caller, uint32_t *ret_location)
{
	struct symbol_location location = {
		.function = function,
		.line = line > 0 ? (uint32_t)line : 0,
		.caller = caller,
	};
	int r = path_of(reading, file, &location.path);

	return r < 0 ? r
		     : location_table_add(&reading->builder->locations, &location, ret_location);
}

static int function_and_caller(struct go_reading *reading, int32_t number, unsigned int depth,
			       uint32_t *ret_function, uint32_t *ret_caller);

/* Finds the location of the call of node @number. */
static int call_of(struct go_reading *reading, int32_t number, const struct go_node *node,
		   unsigned int depth, uint32_t *ret_location)
{
	const struct go_function *function = &reading->function;
	const uint32_t pc = function->start + node->parent_pc;
	uint32_t outer, caller;
	int r;

	while (reading->callers.count <= (size_t)number) {
		r = vec_push(&reading->callers, CALLER_NOT_MADE);
		if (r < 0)
			return r;
	}
	if (reading->callers.items[number] == CALLER_NOT_MADE) {
		r = function_and_caller(reading, value_at(reading, function->inlined, pc),
					depth + 1, &outer, &caller);
		if (r == 0)
			r = location_at(reading, outer, value_at(reading, function->files, pc),
					value_at(reading, function->lines, pc), caller,
					&reading->callers.items[number]);
		if (r < 0)
			return r;
	}
	*ret_location = reading->callers.items[number];
	return 0;
}

/* Finds the function of node @number (-1: the outermost function), and the location of its call. */
static int function_and_caller(struct go_reading *reading, int32_t number, unsigned int depth,
			       uint32_t *ret_function, uint32_t *ret_caller)
{
	struct go_node node;
	int r;

	*ret_caller = SYMBOL_NONE;
	/* The depth is bounded, because the nodes of a damaged tree may form a cycle. */
	if (depth >= SYMBOL_CHAIN_MAX / 2 || !node_at(reading, number, &node))
		return function_named(reading, reading->function.name, ret_function);
	r = call_of(reading, number, &node, depth, ret_caller);
	return r < 0 ? r : function_named(reading, node.name, ret_function);
}

/* Adds the code [start, end) to the builder. */
static int add_piece(struct go_reading *reading, uint32_t start, uint32_t end, uint32_t location)
{
	const uint64_t base = reading->builder->base;
	const uint64_t from = reading->file.text + start;
	const uint64_t to = reading->file.text + end;

	if (from < base || to - base >= UINT32_MAX || !code_section_at(reading->code, from))
		return 0;
	return table_builder_add(reading->builder, LAYER_CODE, (uint32_t)(from - base),
				 (uint32_t)(to - base), location);
}

static int add_function(struct go_reading *reading)
{
	const struct go_function *function = &reading->function;
	struct go_values files, lines, inlined;
	uint32_t pc = function->start;
	int r = 0;

	vec_clear(&reading->callers);
	location_table_forget(&reading->builder->locations);
	values_open(reading, function->files, &files);
	values_open(reading, function->lines, &lines);
	values_open(reading, function->inlined, &inlined);
	while (r == 0 && pc < function->end) {
		uint32_t end, name, caller, location;

		values_seek(reading, &files, pc);
		values_seek(reading, &lines, pc);
		values_seek(reading, &inlined, pc);
		/* Padding up to the next function follows the last line. */
		if (function->lines != 0 && lines.end == UINT32_MAX)
			break;
		end = MIN(files.end, lines.end);
		end = MIN(end, inlined.end);
		end = MIN(end, function->end);
		r = function_and_caller(reading, inlined.value, 0, &name, &caller);
		if (r == 0)
			r = location_at(reading, name, files.value, lines.value, caller, &location);
		if (r == 0)
			r = add_piece(reading, pc, end, location);
		pc = end;
	}
	return r < 0 ? r : (reading->steps_left == 0 ? -EFBIG : 0);
}

/* Reads the record of a function at @offset. */
static bool read_function(struct go_reading *reading, uint32_t offset)
{
	struct go_function *function = &reading->function;
	struct bytes_reader cursor = cursor_at(reading->file.functions, offset);
	uint32_t n_pcdata;
	uint8_t n_funcdata;

	cursor_skip(&cursor, 4); /* start of the function */
	function->name = cursor_u32(&cursor);
	cursor_skip(&cursor, 12); /* arguments, deferreturn, stack */
	function->files = cursor_u32(&cursor);
	function->lines = cursor_u32(&cursor);
	n_pcdata = cursor_u32(&cursor);
	function->unit = cursor_u32(&cursor);
	cursor_skip(&cursor, reading->file.is_1_20 ? 7 : 3); /* first line (1.20), kind, flags */
	n_funcdata = cursor_u8(&cursor);
	function->inlined = 0;
	function->tree = NO_OFFSET;
	if (n_pcdata > PCDATA_INLINE_TREE && n_funcdata > FUNCDATA_INLINE_TREE) {
		struct bytes_reader data = cursor;

		cursor_skip(&data, PCDATA_INLINE_TREE * 4);
		function->inlined = cursor_u32(&data);
		cursor_skip(&cursor, ((uint64_t)n_pcdata + FUNCDATA_INLINE_TREE) * 4);
		function->tree = cursor_u32(&cursor);
	}
	return cursor.error == 0;
}

static int read_functions(struct go_reading *reading)
{
	struct bytes_reader cursor = cursor_at(reading->file.functions, 0);
	uint32_t next = cursor_u32(&cursor);

	for (uint64_t i = 0; i < reading->file.n_functions; i++) {
		uint32_t offset;
		int r;

		reading->function.start = next;
		offset = cursor_u32(&cursor);
		next = cursor_u32(&cursor);
		reading->function.end = next;
		if (cursor.error < 0 || !read_function(reading, offset))
			return -EBADMSG;
		r = next > reading->function.start ? add_function(reading) : 0;
		if (r < 0)
			return r;
	}
	return 1;
}

int go_table_read(struct elf_image *image, const struct code_section_vec *code,
		  struct table_builder *builder)
{
	struct go_reading reading = { .builder = builder, .code = code };
	int r = go_file_find(image, &reading.file);

	if (r <= 0)
		return r;
	reading.steps_left = STEPS_PER_BYTE * reading.file.values.size;
	r = hash_table_new(sizeof(uint32_t), sizeof(uint32_t), 0, &reading.names);
	if (r == 0)
		r = hash_table_new(sizeof(uint32_t), sizeof(uint32_t), 0, &reading.paths);
	if (r == 0)
		r = read_functions(&reading);
	hash_table_free(reading.names);
	hash_table_free(reading.paths);
	vec_release(&reading.callers);
	return r;
}
