/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads stacks with two queries: the leaves, and the callers, which many leaves share.
 */

#include "symbolizer/store/clickhouse/view_private.h"

#include "common/limits.h"
#include "symbolizer/store/clickhouse/schema.h"

/* Stacks of one step, whose callers are in memory at a time. */
#define STEP_STACKS 65536

/* Callers of one step, 512 frames each at most. */
#define MAX_CALLER_BYTES (1024 * MIB)

struct leaf {
	struct hash128 callers;
	struct store_frame frame;
	uint8_t cut;
	bool is_empty;
};

struct callers {
	const struct store_frame *frames;
	uint32_t count;
};

struct stack_load {
	struct clickhouse_view *self;
	struct arena *scratch;       /* frames of callers */
	struct hash_table *leaves;   /* u32 number of the stack -> struct leaf */
	struct hash_table *callers;  /* struct hash128 -> struct callers */
	struct id_table *caller_ids; /* that are wanted */
};

static void stack_load_release(struct stack_load *load)
{
	(void)hash_table_free(load->leaves);
	(void)hash_table_free(load->callers);
	(void)id_table_free(load->caller_ids);
	(void)arena_free(load->scratch);
}

static int object_of(struct clickhouse_view *self, uint8_t type, const struct hash128 *id,
		     uint32_t *ret_object)
{
	uint32_t number = 0;
	int r = 0;

	if (type == CLICKHOUSE_EXECUTABLE)
		r = id_table_number(self->executables, id, &number);
	if (type == CLICKHOUSE_CODE_OBJECT) {
		r = id_table_number(self->code_objects, id, &number);
		number |= FRAME_CODE_OBJECT;
	}
	if (r == 0)
		*ret_object = number;
	return r;
}

static int read_leaf(void *arg, struct bytes_reader *row)
{
	struct stack_load *load = arg;
	struct hash128 id = row_read_hash(row), object;
	struct leaf leaf = {}, *slot;
	uint32_t number, ignored;
	uint8_t object_type;
	int r;

	leaf.cut = row_read_u8(row);
	leaf.frame.kind = row_read_u8(row);
	object_type = row_read_u8(row);
	object = row_read_hash(row);
	leaf.frame.address = row_read_u64(row);
	leaf.callers = row_read_hash(row);
	if (row->error < 0)
		return 0;
	/* A stack without frames has a leaf of kind 0, which no frame has. */
	leaf.is_empty = leaf.frame.kind == 0 && object_type == CLICKHOUSE_NO_OBJECT;
	r = id_table_number(load->self->stacks, &id, &number);
	if (r == 0)
		r = object_of(load->self, object_type, &object, &leaf.frame.object);
	if (r == 0)
		r = id_table_number(load->caller_ids, &leaf.callers, &ignored);
	if (r == 0)
		r = hash_table_insert(load->leaves, &number, (void **)&slot);
	if (r < 0)
		return r;
	*slot = leaf;
	return 0;
}

/* Four arrays of equal length, one element for each frame. */
struct caller_row {
	struct hash128 id;
	size_t count;
	struct bytes_reader kinds, object_types, objects, addresses;
};

static size_t skip_array(struct bytes_reader *row, size_t element_bytes,
			 struct bytes_reader *ret_items)
{
	size_t count = row_read_count(row, element_bytes);

	*ret_items = *row;
	if (row->error == 0)
		row->next += count * element_bytes;
	return count;
}

static int add_callers(struct stack_load *load, struct caller_row *row)
{
	struct store_frame *frames = arena_alloc_array(load->scratch, row->count, sizeof(*frames));
	struct callers *slot;
	int r = frames ? 0 : -ENOMEM;

	for (size_t i = 0; i < row->count && r == 0; i++) {
		struct hash128 object = row_read_hash(&row->objects);

		frames[i] = (struct store_frame){ .kind = row_read_u8(&row->kinds),
						  .address = row_read_u64(&row->addresses) };
		r = object_of(load->self, row_read_u8(&row->object_types), &object,
			      &frames[i].object);
	}
	if (r == 0)
		r = hash_table_insert(load->callers, &row->id, (void **)&slot);
	if (r < 0)
		return r;
	*slot = (struct callers){ .frames = frames, .count = (uint32_t)row->count };
	return 0;
}

static int read_callers(void *arg, struct bytes_reader *reader)
{
	struct caller_row row = { .id = row_read_hash(reader) };
	size_t counts[4];

	counts[0] = skip_array(reader, 1, &row.kinds);
	counts[1] = skip_array(reader, 1, &row.object_types);
	counts[2] = skip_array(reader, sizeof(struct hash128), &row.objects);
	counts[3] = skip_array(reader, sizeof(uint64_t), &row.addresses);
	if (reader->error < 0)
		return 0;
	row.count = counts[0];
	if (row.count > STACK_MAX_FRAMES || counts[1] != row.count || counts[2] != row.count ||
	    counts[3] != row.count)
		return -EBADMSG;
	return add_callers(arg, &row);
}

/* Looks up all IDs of caller_ids. */
static int load_callers(struct stack_load *load)
{
	const size_t end = id_table_end(load->caller_ids);
	const struct clickhouse_lookup lookup = {
		.self = load->self,
		.ids = load->caller_ids,
		.select = "SELECT id, kinds, object_types, objects, addresses FROM callers "
			  "WHERE id IN (SELECT id FROM wanted) AND ",
		.after = " LIMIT 1 BY id",
		.read_row = read_callers,
		.arg = load,
	};
	scoped_free uint64_t *numbers = calloc(end, sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < end; i++)
		numbers[i] = i;
	return clickhouse_view_look_up(&lookup, numbers, end);
}

static int make_stack(const struct stack_load *load, const struct leaf *leaf, struct arena *arena,
		      struct store_stack *ret_stack)
{
	static const struct callers none;
	const struct callers *callers = hash_table_find(load->callers, &leaf->callers);
	struct store_frame *frames;

	ret_stack->cut = leaf->cut;
	if (leaf->is_empty)
		return 0;
	callers = callers ? callers : &none;
	frames = arena_alloc_array(arena, 1 + (size_t)callers->count, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	frames[0] = leaf->frame;
	if (callers->count > 0)
		memcpy(frames + 1, callers->frames, callers->count * sizeof(*frames));
	ret_stack->frames = frames;
	ret_stack->n_frames = callers->count + 1;
	return 0;
}

static int make_tables(struct stack_load *load)
{
	struct memory_budget *memory = load->self->view.memory;
	int r = arena_new_in(MAX_CALLER_BYTES, memory, &load->scratch);

	if (r == 0)
		r = hash_table_new(sizeof(uint32_t), sizeof(struct leaf), 0, &load->leaves);
	if (r == 0)
		r = hash_table_new(sizeof(struct hash128), sizeof(struct callers), 0,
				   &load->callers);
	return r < 0 ? r : id_table_new(STEP_STACKS, memory, &load->caller_ids);
}

static int load_step(struct clickhouse_view *self, const uint64_t *stack_ids, size_t count,
		     struct arena *arena, struct store_stack *ret_stacks)
{
	scoped(stack_load_release) struct stack_load load = { .self = self };
	const struct clickhouse_lookup lookup = {
		.self = self,
		.ids = self->stacks,
		.select = "SELECT id, cut, kind, object_type, object, address, callers FROM stacks "
			  "WHERE id IN (SELECT id FROM wanted) AND ",
		.after = " LIMIT 1 BY id",
		.read_row = read_leaf,
		.arg = &load,
	};
	int r = make_tables(&load);

	if (r == 0)
		r = clickhouse_view_look_up(&lookup, stack_ids, count);
	if (r == 0)
		r = load_callers(&load);
	for (size_t i = 0; i < count && r == 0; i++) {
		const uint32_t number = (uint32_t)MIN(stack_ids[i], (uint64_t)UINT32_MAX);
		const struct leaf *leaf = hash_table_find(load.leaves, &number);

		ret_stacks[i] = (struct store_stack){};
		if (leaf)
			r = make_stack(&load, leaf, arena, &ret_stacks[i]);
	}
	return r;
}

int clickhouse_view_load_stacks(struct store_view *view, const uint64_t *stack_ids, size_t count,
				struct arena *arena, struct store_stack *ret_stacks)
{
	struct clickhouse_view *self = clickhouse_view_of(view);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i += STEP_STACKS)
		r = load_step(self, stack_ids + i, MIN(count - i, (size_t)STEP_STACKS), arena,
			      ret_stacks + i);
	return r;
}
