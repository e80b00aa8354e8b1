/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One hash table per kind of number. A stack is added from its root. Adjacent stacks of a batch
 * share their outermost frames, so only the frames in which a stack differs from the one before
 * are looked up in the tree.
 */

#include "symbolizer/store/head/numbers.h"

#include <string.h>

#include "common/arena.h"
#include "common/scoped.h"
#include "symbolizer/store/head/numbers_copy.h"

/* An event type by all that makes a segment of its own. */
struct numbers_type {
	struct hash128 name, unit;
	uint64_t kind;
};

int numbers_new(size_t max_bytes, struct numbers **ret_numbers)
{
	scoped(numbers_freep) struct numbers *numbers = calloc(1, sizeof(*numbers));
	/*
	 * A node takes up to 48 bytes in the array and 22 in the index, as both double when full.
	 */
	size_t max_nodes = max_bytes / 2 / 70 + 1;

	if (!numbers || arena_new(max_bytes / 2 + 64 * KIB, &numbers->arena) < 0 ||
	    hash_table_new(sizeof(uint32_t), sizeof(void *), max_nodes, &numbers->objects) < 0 ||
	    hash_table_new(sizeof(uint32_t), sizeof(void *), max_nodes, &numbers->processes) < 0 ||
	    hash_table_new(sizeof(uint32_t), sizeof(void *), max_nodes, &numbers->series) < 0 ||
	    hash_table_new(sizeof(struct numbers_type), 0, NUMBERS_MAX_EVENT_TYPES,
			   &numbers->types) < 0 ||
	    hash_table_new(sizeof(uint32_t), sizeof(struct numbers_stack), max_nodes,
			   &numbers->stacks) < 0 ||
	    hash_table_new(sizeof(uint64_t), sizeof(char *), max_nodes, &numbers->names) < 0)
		return -ENOMEM;
	row_index_init(&numbers->tree, NUMBERS_NODE_WORDS);
	numbers->max_nodes = max_nodes;
	*ret_numbers = take_ptr(numbers);
	return 0;
}

struct numbers *numbers_free(struct numbers *numbers)
{
	if (!numbers)
		return NULL;
	(void)arena_free(numbers->arena);
	(void)hash_table_free(numbers->objects);
	(void)hash_table_free(numbers->processes);
	(void)hash_table_free(numbers->series);
	(void)hash_table_free(numbers->types);
	(void)hash_table_free(numbers->stacks);
	(void)hash_table_free(numbers->names);
	row_index_release(&numbers->tree);
	vec_release(&numbers->nodes);
	free(numbers);
	return NULL;
}

static void *find_pointer(const struct hash_table *table, uint32_t number)
{
	void **pointer = hash_table_find(table, &number);

	return pointer ? *pointer : NULL;
}

struct numbers_object *numbers_object(const struct numbers *numbers, uint32_t number)
{
	return find_pointer(numbers->objects, number);
}

const struct numbers_process *numbers_process(const struct numbers *numbers, uint32_t number)
{
	return find_pointer(numbers->processes, number);
}

const struct batch_series *numbers_series(const struct numbers *numbers, uint32_t number)
{
	return find_pointer(numbers->series, number);
}

struct numbers_stack *numbers_stack(const struct numbers *numbers, uint32_t number)
{
	return hash_table_find(numbers->stacks, &number);
}

const char *numbers_name(const struct numbers *numbers, uint64_t key)
{
	const char **name = hash_table_find(numbers->names, &key);

	return name ? *name : NULL;
}

size_t numbers_bytes(const struct numbers *numbers)
{
	const struct hash_table *const tables[] = { numbers->objects, numbers->processes,
						    numbers->series,  numbers->types,
						    numbers->stacks,  numbers->names };
	size_t bytes = sizeof(*numbers) + arena_held_bytes(numbers->arena) +
		       row_index_bytes(&numbers->tree) +
		       numbers->nodes.capacity * sizeof(*numbers->nodes.items);

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		bytes += hash_table_memory_bytes(tables[i]);
	return bytes;
}

static int add_missing(struct numbers_list *list, uint32_t number)
{
	if (list->count > 0 && list->items[list->count - 1] == number)
		return 0;
	return vec_push(list, number);
}

/* Checks whether the object is known or 0. */
static int check_object(const struct numbers *numbers, uint32_t number,
			struct numbers_missing *missing)
{
	int r;

	if (number == 0 || numbers_object(numbers, number))
		return 1;
	r = add_missing(&missing->objects, number);
	return r < 0 ? r : 0;
}

/* Finds or makes the item of a number. */
static int define(struct numbers *numbers, struct hash_table *table, uint32_t number, size_t size,
		  void **ret_item)
{
	void **pointer;
	int r;

	r = hash_table_insert(table, &number, (void **)&pointer);
	if (r < 0)
		return r;
	if (!*pointer)
		*pointer = arena_alloc(numbers->arena, size);
	if (!*pointer) {
		(void)hash_table_remove(table, &number);
		return -ENOSPC;
	}
	*ret_item = *pointer;
	return 0;
}

/* Stacks are read again, because an object or a name that they refer to has changed. */
static void change_contents(struct numbers *numbers)
{
	struct numbers_stack *stack;
	size_t cursor = 0;

	numbers->generation++;
	while (hash_table_next(numbers->stacks, &cursor, NULL, (void **)&stack))
		stack->content = (struct content){};
}

static void note_definition(struct numbers *numbers, struct numbers_object *object)
{
	if (object->is_defined)
		change_contents(numbers);
	object->is_defined = true;
	object->content = (struct content){};
}

/* An agent repeats a definition until it is acknowledged. An equal one changes nothing. */
static int learn_executable(struct numbers *numbers, const struct batch_executable *executable)
{
	struct numbers_object *object;
	int r = define(numbers, numbers->objects, executable->number, sizeof(*object),
		       (void **)&object);

	if (r == 0 && object->is_defined && equal_executables(&object->executable, executable))
		return 0;
	if (r == 0)
		r = copy_executable(numbers->arena, executable, &object->executable);
	if (r == 0)
		note_definition(numbers, object);
	return r;
}

static int learn_code_object(struct numbers *numbers, const struct batch_code_object *code)
{
	struct numbers_object *object;
	int r = define(numbers, numbers->objects, FRAME_CODE_OBJECT | code->number, sizeof(*object),
		       (void **)&object);

	if (r == 0 && object->is_defined && equal_code_objects(&object->code, code))
		return 0;
	if (r == 0)
		r = copy_code_object(numbers->arena, code, &object->code);
	if (r == 0)
		note_definition(numbers, object);
	return r;
}

static int learn_objects(struct numbers *numbers, const struct batch *batch)
{
	int r = 0;

	for (uint32_t i = 0; i < batch->n_executables && r == 0; i++)
		r = learn_executable(numbers, &batch->executables[i]);
	for (uint32_t i = 0; i < batch->n_code_objects && r == 0; i++)
		r = learn_code_object(numbers, &batch->code_objects[i]);
	return r;
}

static int check_process(const struct numbers *numbers, const struct batch_process *process,
			 struct numbers_missing *missing)
{
	int known = check_object(numbers, process->main_executable, missing);

	for (uint32_t i = 0; i < process->n_paths && known >= 0; i++) {
		int r = check_object(numbers, process->paths[i].executable, missing);

		known = r < 0 ? r : known & r;
	}
	return known;
}

static int learn_processes(struct numbers *numbers, const struct batch *batch,
			   struct numbers_missing *missing)
{
	for (uint32_t i = 0; i < batch->n_processes; i++) {
		struct numbers_process *process;
		int r = check_process(numbers, &batch->processes[i], missing);

		if (r == 0)
			continue;
		if (r > 0)
			r = define(numbers, numbers->processes, batch->processes[i].number,
				   sizeof(*process), (void **)&process);
		if (r == 0)
			r = copy_process(numbers->arena, &batch->processes[i], &process->process);
		if (r < 0)
			return r;
		process->version++;
	}
	return 0;
}

/* A series of a type beyond the limit becomes an empty definition, whose rows are skipped. */
static int limit_event_types(struct numbers *numbers, struct batch_series *series)
{
	const struct batch_event_type *type = series->described;
	struct numbers_type key;
	int r;

	if (!type)
		return 0;
	key = (struct numbers_type){ .name = hash128_of(type->name, strlen(type->name)),
				     .unit = hash128_of(type->unit, strlen(type->unit)),
				     .kind = type->kind };
	r = hash_table_insert(numbers->types, &key, NULL);
	if (r != -ENOSPC)
		return MIN(r, 0);
	series->described = NULL;
	series->type = EVENT_NONE;
	numbers->n_refused_series++;
	return 0;
}

static int learn_series(struct numbers *numbers, const struct batch *batch,
			struct numbers_missing *missing)
{
	for (uint32_t i = 0; i < batch->n_series; i++) {
		const struct batch_series *definition = &batch->series[i];
		struct batch_series *series;
		int r;

		if (definition->process && !numbers_process(numbers, definition->process)) {
			r = add_missing(&missing->processes, definition->process);
			if (r < 0)
				return r;
			continue;
		}
		r = define(numbers, numbers->series, definition->number, sizeof(*series),
			   (void **)&series);
		if (r == 0)
			r = copy_series(numbers->arena, definition, series);
		if (r == 0)
			r = limit_event_types(numbers, series);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_node(struct numbers *numbers, const struct numbers_node *node, uint32_t *ret_index)
{
	const uint64_t *words = (const uint64_t *)node;
	const size_t count = numbers->nodes.count;
	int r;

	/* One more than the limit, so that a known node is found in a full tree. */
	if (count > numbers->max_nodes)
		return -ENOSPC;
	r = row_index_add(&numbers->tree, (const uint64_t *)numbers->nodes.items, words,
			  (uint32_t)count, ret_index);
	if (r <= 0)
		return r;
	r = vec_push(&numbers->nodes, *node);
	if (r < 0)
		row_index_undo(&numbers->tree, words, (uint32_t)count);
	return r;
}

/* @nodes[i]: the node of the frame at depth i from the root, plus one. */
static int add_nodes(struct numbers *numbers, const struct batch_stack *stack, uint32_t first,
		     uint32_t *nodes)
{
	for (uint32_t depth = first; depth < stack->n_frames; depth++) {
		const struct batch_frame *frame = &stack->frames[stack->n_frames - 1 - depth];
		const struct numbers_node node = { .address = frame->address,
						   .object = frame->object,
						   .parent = depth ? nodes[depth - 1] : 0,
						   .kind = frame->kind };
		uint32_t index;
		int r = add_node(numbers, &node, &index);

		if (r < 0)
			return r;
		nodes[depth] = index + 1;
	}
	return 0;
}

static uint32_t shared_frames(const struct batch_stack *a, const struct batch_stack *b)
{
	uint32_t most = a ? MIN(a->n_frames, b->n_frames) : 0, n = 0;

	while (n < most) {
		const struct batch_frame *x = &a->frames[a->n_frames - 1 - n];
		const struct batch_frame *y = &b->frames[b->n_frames - 1 - n];

		if (x->address != y->address || x->object != y->object || x->kind != y->kind)
			break;
		n++;
	}
	return n;
}

/*
 * Returns 1 if all objects are known, 0 if not. The first @first frames from the root are checked
 * already.
 */
static int check_frames(const struct numbers *numbers, const struct batch_stack *stack,
			uint32_t first, struct numbers_missing *missing)
{
	int known = 1;

	for (uint32_t depth = first; depth < stack->n_frames; depth++) {
		const struct batch_frame *frame = &stack->frames[stack->n_frames - 1 - depth];
		int r = check_object(numbers, frame->object, missing);

		if (r < 0)
			return r;
		known &= r;
	}
	return known;
}

static int learn_stacks(struct numbers *numbers, const struct batch *batch,
			struct numbers_missing *missing)
{
	const struct batch_stack *last = NULL;
	uint32_t nodes[STACK_MAX_FRAMES];

	for (uint32_t i = 0; i < batch->n_stacks; i++) {
		const struct batch_stack *stack = &batch->stacks[i];
		uint32_t shared = shared_frames(last, stack);
		struct numbers_stack *entry;
		int r = check_frames(numbers, stack, shared, missing);

		assert(stack->n_frames <= STACK_MAX_FRAMES); /* batch_decode() refuses more */
		if (r == 0)
			continue;
		if (r > 0)
			r = add_nodes(numbers, stack, shared, nodes);
		if (r == 0)
			r = hash_table_insert(numbers->stacks, &stack->number, (void **)&entry);
		if (r < 0)
			return r;
		entry->leaf = stack->n_frames ? nodes[stack->n_frames - 1] : 0;
		entry->cut = stack->cut;
		entry->content = (struct content){};
		last = stack;
	}
	return 0;
}

static int learn_names(struct numbers *numbers, const struct batch *batch)
{
	for (uint32_t i = 0; i < batch->n_named_frames; i++) {
		const struct batch_named_frame *frame = &batch->named_frames[i];
		const char **name;
		int r = hash_table_insert(numbers->names, &frame->key, (void **)&name);

		if (r < 0)
			return r;
		if (r > 0)
			*name = arena_copy_text(numbers->arena, frame->name, strlen(frame->name));
		if (!*name) {
			(void)hash_table_remove(numbers->names, &frame->key);
			return -ENOSPC;
		}
		if (r > 0)
			change_contents(numbers);
	}
	return 0;
}

int numbers_learn(struct numbers *numbers, const struct batch *batch,
		  struct numbers_missing *missing)
{
	int r = 0;

	if (!numbers->host.name)
		r = copy_host(numbers->arena, &batch->host, &numbers->host);
	if (r == 0)
		r = learn_objects(numbers, batch);
	if (r == 0)
		r = learn_names(numbers, batch);
	if (r == 0)
		r = learn_processes(numbers, batch, missing);
	if (r == 0)
		r = learn_series(numbers, batch, missing);
	return r < 0 ? r : learn_stacks(numbers, batch, missing);
}

int numbers_check_rows(const struct numbers *numbers, const struct batch *batch,
		       struct numbers_missing *missing)
{
	uint32_t last_series = 0;

	for (uint32_t i = 0; i < batch->n_rows; i++) {
		const struct batch_row *row = &batch->rows[i];
		int r = 0;

		if ((i == 0 || row->series != last_series) && !numbers_series(numbers, row->series))
			r = add_missing(&missing->series, row->series);
		if (r == 0 && row->stack && !numbers_stack(numbers, row->stack))
			r = add_missing(&missing->stacks, row->stack);
		if (r < 0)
			return r;
		last_series = row->series;
	}
	return 0;
}
