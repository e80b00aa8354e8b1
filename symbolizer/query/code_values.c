/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/code_values.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash_table.h"
#include "common/vec.h"
#include "symbolizer/query/function_match.h"

VEC_DEFINE(code_value_vec, struct code_value);
VEC_DEFINE(code_file_vec, struct code_file);
VEC_DEFINE(last_stack_vec, uint64_t);

struct value_key {
	uint64_t address;
	uint32_t file;
	uint32_t padding;
};

struct file_key {
	struct executable_id identity;
	uint8_t kernel_image;
	uint8_t padding;
	uint32_t id; /* of the view, if the file has no identity */
};

struct code_values {
	struct function_match match;
	struct arena *arena;
	struct hash_table *value_of; /* struct value_key -> u32, index of values */
	struct hash_table *file_of;  /* struct file_key -> u32, index of files */
	struct code_value_vec values;
	struct last_stack_vec last_stack; /* of each value: the stack that was added last */
	struct code_file_vec files;
	struct code_sums sums;
	uint64_t n_stacks;
	bool has_name; /* a frame has the function by its name, not by its label */
};

int code_values_new(const char *function, struct arena *arena, struct code_values **ret_values)
{
	scoped(code_values_freep) struct code_values *values = calloc(1, sizeof(*values));
	int r;

	if (!values)
		return -ENOMEM;
	values->arena = arena;
	r = function_match_init(&values->match, function);
	if (r == 0)
		r = hash_table_new(sizeof(struct value_key), sizeof(uint32_t), CODE_VALUES_MAX,
				   &values->value_of);
	if (r == 0)
		r = hash_table_new(sizeof(struct file_key), sizeof(uint32_t), 0, &values->file_of);
	if (r < 0)
		return r;
	*ret_values = take_ptr(values);
	return 0;
}

struct code_values *code_values_free(struct code_values *values)
{
	if (!values)
		return NULL;
	function_match_release(&values->match);
	(void)hash_table_free(values->value_of);
	(void)hash_table_free(values->file_of);
	vec_release(&values->values);
	vec_release(&values->last_stack);
	vec_release(&values->files);
	free(values);
	return NULL;
}

static int find_file(struct code_values *values, const struct store_executable *executable,
		     bool kernel_image, uint32_t *ret_file)
{
	const bool is_known = executable->identity.kind != EXECUTABLE_ID_NONE;
	const struct file_key key = { .identity = executable->identity,
				      .kernel_image = kernel_image,
				      .id = is_known ? 0 : executable->id };
	const char *name = executable->name ? executable->name : "";
	struct code_file added = { .identity = executable->identity, .kernel_image = kernel_image };
	void *value;
	int r = hash_table_insert(values->file_of, &key, &value);

	if (r < 0)
		return r;
	if (r > 0) {
		*(uint32_t *)value = (uint32_t)values->files.count;
		added.name = arena_copy_text(values->arena, name, strlen(name));
		r = added.name ? vec_push(&values->files, added) : -ENOMEM;
		if (r < 0)
			return r;
	}
	*ret_file = *(uint32_t *)value;
	return 0;
}

/* Finds or adds the value of an address. 0, -ENOMEM or -EFBIG. */
static int find_value(struct code_values *values, uint32_t file, uint64_t address,
		      uint32_t *ret_value)
{
	const struct value_key key = { .address = address, .file = file };
	const struct code_value added = { .file = file, .address = address };
	void *value;
	int r = hash_table_insert(values->value_of, &key, &value);

	if (r < 0)
		return r == -ENOSPC ? -EFBIG : r;
	if (r > 0) {
		*(uint32_t *)value = (uint32_t)values->values.count;
		r = vec_push(&values->values, added);
		if (r == 0)
			r = vec_push(&values->last_stack, 0);
		if (r < 0)
			return r;
	}
	*ret_value = *(uint32_t *)value;
	return 0;
}

/* A frame of the function in the stack. */
struct matched_frame {
	const struct resolved_frame *frame;
	bool is_leaf;      /* no frame of the unwinder is further in */
	bool is_innermost; /* no function is inlined into it there */
};

static void add_value(struct code_values *values, uint32_t index, const struct matched_frame *found,
		      uint64_t amount)
{
	struct code_value *value = &values->values.items[index];
	struct code_file *file = &values->files.items[value->file];

	/* A recursive function may be inlined into itself, or have the same address twice. */
	if (values->last_stack.items[index] == values->n_stacks)
		return;
	values->last_stack.items[index] = values->n_stacks;
	value->total += amount;
	file->total += amount;
	value->inlined = !found->is_innermost;
	if (!found->is_leaf)
		return;
	value->self += amount;
	file->self += amount;
	if (found->is_innermost)
		values->sums.self += amount;
	else
		values->sums.inlined += amount;
}

static int add_frame(struct code_values *values, const struct resolved_stacks *stacks,
		     const struct matched_frame *found, uint64_t amount)
{
	const struct store_executable *executable = resolved_executable(stacks, found->frame);
	const struct frame *stored = resolved_stored(stacks, found->frame);
	uint32_t file, index;
	uint64_t address;
	bool from_text;
	int r;

	if (!executable || !frame_code_address(stored, executable, &address, &from_text)) {
		if (found->is_leaf && found->is_innermost)
			values->sums.self += amount;
		return 0;
	}
	r = find_file(values, executable, from_text, &file);
	if (r == 0)
		r = find_value(values, file, address, &index);
	if (r < 0)
		return r;
	add_value(values, index, found, amount);
	return 1;
}

static bool is_match(struct code_values *values, const struct resolved_stacks *stacks,
		     const struct resolved_frame *frame)
{
	if (function_match_is(&values->match, stacks, frame)) {
		values->has_name = true;
		return true;
	}
	return function_match_is_nameless(&values->match, stacks, frame);
}

static int visit(void *arg, const struct resolved_stacks *stacks,
		 const struct resolved_stack *stack)
{
	struct code_values *values = arg;
	struct matched_frame found = { .is_leaf = true, .is_innermost = true };
	bool is_counted = false, has_code = false;
	int r = function_match_begin(&values->match, stacks);

	values->n_stacks++;
	for (uint32_t i = 0; i < stack->n_frames && r >= 0; i++) {
		found.frame = &stack->frames[i];
		if (is_match(values, stacks, found.frame)) {
			r = add_frame(values, stacks, &found, stack->value);
			is_counted = true;
			has_code = has_code || r > 0;
		}
		/* The next frame is that of the caller, unless this function is inlined. */
		found.is_innermost = !found.frame->inlined;
		found.is_leaf = found.is_leaf && found.frame->inlined;
	}
	if (is_counted)
		values->sums.total += stack->value;
	if (is_counted && !has_code)
		values->sums.without_code += stack->value;
	return MIN(r, 0);
}

struct stack_visitor code_values_visitor(struct code_values *values)
{
	return (struct stack_visitor){ .visit = visit, .arg = values };
}

static int compare_values(const void *left, const void *right)
{
	const struct code_value *a = left, *b = right;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

const struct code_value *code_values_sorted(struct code_values *values, size_t *ret_count)
{
	*ret_count = values->values.count;
	if (values->values.count > 0)
		qsort(values->values.items, values->values.count, sizeof(*values->values.items),
		      compare_values);
	return values->values.items;
}

const struct code_file *code_values_files(const struct code_values *values, size_t *ret_count)
{
	*ret_count = values->files.count;
	return values->files.items;
}

struct code_sums code_values_sums(const struct code_values *values)
{
	return values->sums;
}

const char *code_values_name(const struct code_values *values)
{
	return values->has_name ? values->match.name : NULL;
}
