/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autofdo: the text form of LLVM's sample profiles. Each function has the samples of its own code
 * by line, counted from the line of its definition, and below it the functions that were inlined
 * into it. Only the innermost frame of a stack counts, because the others wait for a call.
 *
 * A function's total is before its lines, so lines are collected, and all is written at the end.
 */

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/string_table.h"
#include "common/vec.h"
#include "symbolizer/export/frame_text.h"
#include "symbolizer/flame/saturating_add.h"

#define MAX_TEXT_BYTES (512 * MIB)

#define NO_NODE UINT32_MAX

/* LLVM has 16 bits for the distance of a line from the function's first line. */
#define OFFSET_MASK 0xffff

/* Why a value is left out. */
#define LEFT_OUT(X)                                                                                \
	X(NOT_COMPILED, "not compiled by a compiler with sample profiles")                         \
	X(NO_FUNCTION, "without a function")                                                       \
	X(NO_LINE, "without a source line")                                                        \
	X(NO_FIRST_LINE, "in functions whose first line is not known")                             \
	X(BAD_NAME, "in functions with a name that the format cannot have")

enum left_out {
	LEFT_OUT_NOTHING,
#define X(id, text) LEFT_OUT_##id,
	LEFT_OUT(X)
#undef X
		N_LEFT_OUT,
};

/* A function, or a function inlined into its parent at a line. */
struct node_key {
	uint32_t parent; /* lower than the node; or NO_NODE */
	uint32_t offset; /* of the call in the parent */
	string_id name;
};

struct node {
	struct node_key key;
	uint32_t id; /* index before sorting */
	uint64_t total;
};

struct line_key {
	uint32_t node;
	uint32_t offset;
};

struct line {
	struct line_key key;
	uint64_t value;
};

VEC_DEFINE(node_vec, struct node);
VEC_DEFINE(line_vec, struct line);

struct autofdo_writer {
	const struct export_selection *selection;
	struct bytes *out;
	struct string_table *names;
	struct hash_table *node_of; /* struct node_key -> uint32_t */
	struct hash_table *line_of; /* struct line_key -> uint32_t */
	struct node_vec nodes;
	struct line_vec lines;
	uint64_t left_out[N_LEFT_OUT];
};

static void autofdo_free(void *arg)
{
	struct autofdo_writer *writer = arg;

	if (!writer)
		return;
	string_table_free(writer->names);
	hash_table_free(writer->node_of);
	hash_table_free(writer->line_of);
	vec_release(&writer->nodes);
	vec_release(&writer->lines);
	free(writer);
}

static int autofdo_begin(const struct export_selection *selection, struct bytes *out,
			 void **ret_writer)
{
	struct autofdo_writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return -ENOMEM;
	writer->selection = selection;
	writer->out = out;
	r = string_table_new(MAX_TEXT_BYTES, &writer->names);
	if (r == 0)
		r = hash_table_new(sizeof(struct node_key), sizeof(uint32_t), 0, &writer->node_of);
	if (r == 0)
		r = hash_table_new(sizeof(struct line_key), sizeof(uint32_t), 0, &writer->line_of);
	if (r < 0)
		autofdo_free(writer);
	else
		*ret_writer = writer;
	return r;
}

/* Blanks separate fields, and a digit begins a number of samples. */
static bool name_fits(const char *name)
{
	if (!isalpha((unsigned char)name[0]) && !strchr("_$.", name[0]))
		return false;
	for (; *name; name++)
		if (!isgraph((unsigned char)*name))
			return false;
	return true;
}

static enum left_out check_function(const struct frame_function *function)
{
	if (!function || !function->linkage_name || !function->linkage_name[0])
		return LEFT_OUT_NO_FUNCTION;
	if (function->line == 0)
		return LEFT_OUT_NO_LINE;
	if (function->first_line == 0)
		return LEFT_OUT_NO_FIRST_LINE;
	return name_fits(function->linkage_name) ? LEFT_OUT_NOTHING : LEFT_OUT_BAD_NAME;
}

/* Sets *ret_count to the number of functions at the innermost frame's address. */
static enum left_out check_leaf(const struct resolved_stacks *stacks,
				const struct resolved_stack *stack, uint32_t *ret_count)
{
	uint32_t count = 0;

	if (stack->n_frames == 0)
		return LEFT_OUT_NO_FUNCTION;
	if (!resolved_executable(stacks, &stack->frames[0]))
		return resolved_function(stacks, &stack->frames[0]) ? LEFT_OUT_NOT_COMPILED
								    : LEFT_OUT_NO_FUNCTION;
	do {
		enum left_out why =
			check_function(resolved_function(stacks, &stack->frames[count]));

		if (why != LEFT_OUT_NOTHING)
			return why;
	} while (stack->frames[count++].inlined && count < stack->n_frames);
	*ret_count = count;
	return LEFT_OUT_NOTHING;
}

static int child_of(struct autofdo_writer *writer, uint32_t parent, uint32_t offset,
		    const char *name, uint32_t *ret_node)
{
	struct node_key key = { .parent = parent, .offset = offset };
	int r = string_table_intern(writer->names, name, strlen(name), &key.name);

	if (r == 0)
		r = export_number_of(writer->node_of, &key, ret_node);
	if (r <= 0)
		return r == -ENOSPC ? -EFBIG : r;
	return vec_push(&writer->nodes, (struct node){ .key = key, .id = *ret_node });
}

static int add_line(struct autofdo_writer *writer, const struct line_key *key, uint64_t value)
{
	uint32_t number;
	int r = export_number_of(writer->line_of, key, &number);

	if (r > 0)
		r = vec_push(&writer->lines, (struct line){ .key = *key });
	if (r < 0)
		return r;
	writer->lines.items[number].value =
		saturating_add(writer->lines.items[number].value, value);
	return 0;
}

/* As LLVM does: a line before the first one, which macros and included files have, wraps around. */
static uint32_t offset_of(const struct frame_function *function)
{
	return (function->line - function->first_line) & OFFSET_MASK;
}

static int autofdo_add(void *arg, const struct resolved_stacks *stacks,
		       const struct resolved_stack *stack)
{
	struct autofdo_writer *writer = arg;
	struct line_key line = { .node = NO_NODE };
	uint32_t count = 0;
	const enum left_out why = check_leaf(stacks, stack, &count);

	if (why != LEFT_OUT_NOTHING) {
		writer->left_out[why] = saturating_add(writer->left_out[why], stack->value);
		return 0;
	}
	while (count-- > 0) {
		const struct frame_function *function =
			resolved_function(stacks, &stack->frames[count]);
		int r = child_of(writer, line.node, line.offset, function->linkage_name,
				 &line.node);

		if (r < 0)
			return r;
		line.offset = offset_of(function);
	}
	return add_line(writer, &line, stack->value);
}

static int compare_nodes(const void *left, const void *right)
{
	const struct node *a = left, *b = right;

	if (a->key.parent != b->key.parent)
		return a->key.parent < b->key.parent ? -1 : 1;
	if (a->key.offset != b->key.offset)
		return a->key.offset < b->key.offset ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

static int compare_lines(const void *left, const void *right)
{
	const struct line *a = left, *b = right;

	if (a->key.node != b->key.node)
		return a->key.node < b->key.node ? -1 : 1;
	return a->key.offset < b->key.offset ? -1 : a->key.offset > b->key.offset;
}

/* Adds the lines to the totals of their functions, and these to the functions around. */
static void sum_totals(struct autofdo_writer *writer)
{
	struct node *nodes = writer->nodes.items;

	for (size_t i = 0; i < writer->lines.count; i++) {
		const struct line *line = &writer->lines.items[i];

		nodes[line->key.node].total =
			saturating_add(nodes[line->key.node].total, line->value);
	}
	for (size_t i = writer->nodes.count; i-- > 0;) {
		struct node *parent =
			nodes[i].key.parent == NO_NODE ? NULL : &nodes[nodes[i].key.parent];

		if (parent)
			parent->total = saturating_add(parent->total, nodes[i].total);
	}
}

/*
 *   first_child[id]  index of the first sorted node with the parent @id
 *   first_line[id]   index of its first sorted line
 */
struct sorted {
	const struct autofdo_writer *writer;
	uint32_t *first_child; /* [n_nodes] */
	uint32_t *first_line;  /* [n_nodes] */
};

static int sort(struct autofdo_writer *writer, struct sorted *sorted)
{
	const struct node_vec *nodes = &writer->nodes;
	const struct line_vec *lines = &writer->lines;

	sorted->writer = writer;
	sorted->first_child = calloc(nodes->count + 1, sizeof(*sorted->first_child));
	sorted->first_line = calloc(nodes->count + 1, sizeof(*sorted->first_line));
	if (!sorted->first_child || !sorted->first_line)
		return -ENOMEM;
	if (nodes->count > 0)
		qsort(nodes->items, nodes->count, sizeof(*nodes->items), compare_nodes);
	if (lines->count > 0)
		qsort(lines->items, lines->count, sizeof(*lines->items), compare_lines);
	for (size_t i = nodes->count; i-- > 0;)
		if (nodes->items[i].key.parent != NO_NODE)
			sorted->first_child[nodes->items[i].key.parent] = (uint32_t)i;
	for (size_t i = lines->count; i-- > 0;)
		sorted->first_line[lines->items[i].key.node] = (uint32_t)i;
	return 0;
}

static void indent(struct bytes *out, uint32_t depth)
{
	for (uint32_t i = 0; i < depth; i++)
		(void)bytes_append_byte(out, ' ');
}

/* Writes the lines of a function, and the functions inlined into it; it is inlined @depth times. */
static void write_body(const struct sorted *sorted, const struct node *node, uint32_t depth)
{
	const struct autofdo_writer *writer = sorted->writer;
	const struct line_vec *lines = &writer->lines;
	const struct node_vec *nodes = &writer->nodes;

	for (size_t i = sorted->first_line[node->id];
	     i < lines->count && lines->items[i].key.node == node->id; i++) {
		indent(writer->out, depth + 1);
		(void)bytes_append_format(writer->out, "%" PRIu32 ": %" PRIu64 "\n",
					  lines->items[i].key.offset, lines->items[i].value);
	}
	for (size_t i = sorted->first_child[node->id];
	     i < nodes->count && nodes->items[i].key.parent == node->id; i++) {
		indent(writer->out, depth + 1);
		(void)bytes_append_format(
			writer->out, "%" PRIu32 ": %s:%" PRIu64 "\n", nodes->items[i].key.offset,
			string_table_text(writer->names, nodes->items[i].key.name),
			nodes->items[i].total);
		write_body(sorted, &nodes->items[i], depth + 1);
	}
}

/* Comments: the reader of LLVM skips lines that begin with '#'. */
static void write_head(const struct autofdo_writer *writer)
{
	static const char *const reasons[] = {
#define X(id, text) [LEFT_OUT_##id] = text,
		LEFT_OUT(X)
#undef X
	};
	const char *unit = export_unit_name(writer->selection->event);

	(void)bytes_append_format(writer->out, "# %s of hearth; values are %s\n",
				  writer->selection->event->name, unit);
	for (size_t i = LEFT_OUT_NOTHING + 1; i < N_LEFT_OUT; i++)
		if (writer->left_out[i] > 0)
			(void)bytes_append_format(writer->out, "# left out: %" PRIu64 " %s %s\n",
						  writer->left_out[i], unit, reasons[i]);
}

static int autofdo_end(void *arg, const struct export_result *result)
{
	struct autofdo_writer *writer = arg;
	struct sorted sorted = {};
	int r;

	(void)result;
	sum_totals(writer);
	write_head(writer);
	r = sort(writer, &sorted);
	for (size_t i = 0; r == 0 && i < writer->nodes.count; i++) {
		const struct node *node = &writer->nodes.items[i];

		if (node->key.parent != NO_NODE)
			continue;
		/* 0: samples do not count how often a function was called. */
		(void)bytes_append_format(writer->out, "%s:%" PRIu64 ":0\n",
					  string_table_text(writer->names, node->key.name),
					  node->total);
		write_body(&sorted, node, 0);
	}
	free(sorted.first_child);
	free(sorted.first_line);
	return r < 0 ? r : bytes_error(writer->out);
}

static const struct export_stack_operations operations = {
	.begin = autofdo_begin,
	.add = autofdo_add,
	.end = autofdo_end,
	.free = autofdo_free,
};

const struct export_writer export_autofdo = { .stacks = &operations };
