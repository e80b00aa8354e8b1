/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/source_lines.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/hash_table.h"
#include "common/vec.h"
#include "symbolizer/query/function_match.h"

VEC_DEFINE(source_line_vec, struct source_line);
VEC_DEFINE(stack_number_vec, uint64_t);

/* Texts are those of the frame table, so that equal ones may have several addresses. */
struct line_key {
	uint64_t file_hash, function_hash;
	uint32_t line;
	uint32_t padding;
};

struct source_lines {
	struct function_match match;
	struct arena *arena;
	struct hash_table *index; /* struct line_key -> u32, index of lines */
	struct source_line_vec lines;
	struct stack_number_vec last_stack; /* of each line: the stack that was added last */
	uint64_t seed;
	uint64_t n_stacks, self, total;
};

int source_lines_new(const char *function, struct arena *arena, struct source_lines **ret_lines)
{
	scoped(source_lines_freep) struct source_lines *lines = calloc(1, sizeof(*lines));
	int r;

	if (!lines)
		return -ENOMEM;
	lines->arena = arena;
	lines->seed = hash_seed();
	r = function_match_init(&lines->match, function);
	if (r < 0)
		return r;
	r = hash_table_new(sizeof(struct line_key), sizeof(uint32_t), SOURCE_LINES_MAX,
			   &lines->index);
	if (r < 0)
		return r;
	*ret_lines = take_ptr(lines);
	return 0;
}

struct source_lines *source_lines_free(struct source_lines *lines)
{
	if (!lines)
		return NULL;
	function_match_release(&lines->match);
	(void)hash_table_free(lines->index);
	vec_release(&lines->lines);
	vec_release(&lines->last_stack);
	free(lines);
	return NULL;
}

static uint64_t hash_of_text(const struct source_lines *lines, const char *text)
{
	return hash64_seeded(text, strlen(text), lines->seed);
}

/* Finds or adds the line of the frame. 0, -ENOMEM or -EFBIG. */
static int find_line(struct source_lines *lines, const struct resolved_stacks *stacks,
		     const struct resolved_frame *frame, const struct frame_function *function,
		     uint32_t *ret_line)
{
	const char *file = function->file ? function->file : "";
	const char *name = function->name ? function->name : "";
	const struct store_executable *executable = resolved_executable(stacks, frame);
	const struct line_key key = { .file_hash = hash_of_text(lines, file),
				      .function_hash = hash_of_text(lines, name),
				      .line = function->line };
	struct source_line added;
	uint32_t *index;
	int r = hash_table_insert(lines->index, &key, (void **)&index);

	if (r < 0)
		return r == -ENOSPC ? -EFBIG : r;
	if (r > 0) {
		*index = (uint32_t)lines->lines.count;
		added = (struct source_line){
			.file = arena_copy_text(lines->arena, file, strlen(file)),
			.function = arena_copy_text(lines->arena, name, strlen(name)),
			.line = function->line,
		};
		if (executable)
			added.executable = executable->identity;
		if (!added.file || !added.function)
			return -ENOMEM;
		r = vec_push(&lines->lines, added);
		if (r == 0)
			r = vec_push(&lines->last_stack, 0);
		if (r < 0)
			return r;
	}
	*ret_line = *index;
	return 0;
}

/* Adds the value of a stack to the line of its frame with number @depth. */
static void add_value(struct source_lines *lines, uint32_t index, uint32_t depth, uint64_t value)
{
	struct source_line *line = &lines->lines.items[index];

	if (lines->last_stack.items[index] != lines->n_stacks)
		line->total += value;
	lines->last_stack.items[index] = lines->n_stacks;
	if (depth == 0) {
		line->self += value;
		lines->self += value;
	}
}

static int visit(void *arg, const struct resolved_stacks *stacks,
		 const struct resolved_stack *stack)
{
	struct source_lines *lines = arg;
	bool is_counted = false;
	int r = function_match_begin(&lines->match, stacks);

	lines->n_stacks++;
	for (uint32_t i = 0; i < stack->n_frames && r == 0; i++) {
		const struct resolved_frame *frame = &stack->frames[i];
		const struct frame_function *function = resolved_function(stacks, frame);
		uint32_t index;

		if (!function_match_is(&lines->match, stacks, frame))
			continue;
		r = find_line(lines, stacks, frame, function, &index);
		if (r < 0)
			return r;
		add_value(lines, index, i, stack->value);
		if (!is_counted)
			lines->total += stack->value;
		is_counted = true;
	}
	return r;
}

struct stack_visitor source_lines_visitor(struct source_lines *lines)
{
	return (struct stack_visitor){ .visit = visit, .arg = lines };
}

static int compare_lines(const void *left, const void *right)
{
	const struct source_line *a = left, *b = right;
	int order = strcmp(a->file, b->file);

	if (order == 0)
		order = (a->line > b->line) - (a->line < b->line);
	return order ? order : strcmp(a->function, b->function);
}

const struct source_line *source_lines_sorted(struct source_lines *lines, size_t *ret_count)
{
	*ret_count = lines->lines.count;
	if (lines->lines.count > 0)
		qsort(lines->lines.items, lines->lines.count, sizeof(*lines->lines.items),
		      compare_lines);
	return lines->lines.items;
}

uint64_t source_lines_self(const struct source_lines *lines)
{
	return lines->self;
}

uint64_t source_lines_total(const struct source_lines *lines)
{
	return lines->total;
}
