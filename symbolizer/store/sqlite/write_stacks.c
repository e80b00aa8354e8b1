/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the new stacks of a batch: hashes the stack, looks up the hash, or else adds the path to the
 * prefix tree. The stacks of a batch are sorted by their outermost frames, so most of a path is
 * that of the previous stack. Below the first new node all nodes are new and need no lookup.
 */

#include "symbolizer/store/sqlite/write.h"

/* Input of the hash for one frame: frame kind, ID kind, size, ID, address. */
#define MAX_HASHED_FRAME_BYTES (3 + EXECUTABLE_ID_MAX_BYTES + 8)

static int identity_of(struct write *write, uint32_t number,
		       const struct executable_id **ret_identity, uint64_t *ret_id)
{
	struct number_entry *entry = write_number(write, NUMBER_EXECUTABLE, number);
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct executable_id *identity;
	struct bytes_view bytes;
	int r;

	assert(entry);
	*ret_id = entry->id;
	if (entry->identity) {
		*ret_identity = entry->identity;
		return 0;
	}
	identity = arena_alloc(write->scratch, sizeof(*identity));
	if (!identity)
		return -ENOMEM;
	if (entry->id != 0) {
		r = sqlite_query(write->hearth, SQL_EXECUTABLE_LOAD, &row, SQL_INT(entry->id));
		if (r <= 0)
			return r < 0 ? r : -EIO;
		bytes = sqlite_blob(row, 2);
		r = executable_id_set(identity, (unsigned int)sqlite3_column_int(row, 1),
				      bytes.data, bytes.size);
		if (r < 0)
			return -EIO;
	}
	entry->identity = identity;
	*ret_identity = identity;
	return 0;
}

static void hash_frame(struct bytes *input, const struct batch_frame *frame,
		       const struct executable_id *identity)
{
	uint8_t head[3] = { frame->kind, identity->kind, identity->size };
	uint8_t address[8];

	for (size_t i = 0; i < sizeof(address); i++)
		address[i] = (uint8_t)(frame->address >> (8 * i));
	(void)bytes_append(input, head, sizeof(head));
	(void)bytes_append(input, identity->bytes, identity->size);
	(void)bytes_append(input, address, sizeof(address));
}

/* Finds the identity of the frame's object, and its reference in the store. */
static int object_of(struct write *write, const struct batch_frame *frame,
		     const struct executable_id **ret_identity, uint32_t *ret_object)
{
	const struct number_entry *entry;
	uint64_t id;
	int r;

	if (frame->object & FRAME_CODE_OBJECT) {
		entry = write_number(write, NUMBER_CODE_OBJECT, frame->object & ~FRAME_CODE_OBJECT);
		assert(entry);
		r = write_code_object_identity(write, frame->object & ~FRAME_CODE_OBJECT,
					       ret_identity);
		*ret_object = entry->id != 0 ? FRAME_CODE_OBJECT | (uint32_t)entry->id : 0;
		return r;
	}
	r = identity_of(write, frame->object, ret_identity, &id);
	*ret_object = (uint32_t)id;
	return r;
}

/* Hashes @stack. Fills @path with its frames, root first, with store IDs of objects. */
static int hash_stack(struct write *write, const struct batch_stack *stack,
		      struct batch_frame *path, struct hash128 *ret_hash)
{
	static const struct executable_id none;
	struct bytes *input = &write->writer->buffer;
	int r;

	bytes_clear(input);
	r = bytes_reserve(input, (size_t)stack->n_frames * MAX_HASHED_FRAME_BYTES + 1);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < stack->n_frames; i++) {
		const struct batch_frame *frame = &stack->frames[i];
		const struct executable_id *identity = &none;
		uint32_t object = 0;

		if (frame->object != 0) {
			r = object_of(write, frame, &identity, &object);
			if (r < 0)
				return r;
		}
		hash_frame(input, frame, identity);
		path[stack->n_frames - 1 - i] = (struct batch_frame){
			.kind = frame->kind,
			.object = object,
			.address = frame->address,
		};
	}
	(void)bytes_append_byte(input, stack->cut);
	*ret_hash = hash128_of(input->data, input->size);
	return bytes_error(input);
}

static bool is_same_frame(const struct batch_frame *a, const struct batch_frame *b)
{
	return a->kind == b->kind && a->object == b->object && a->address == b->address;
}

/* Returns 1 if found, 0 if not. */
static int find_node(struct sqlite_db *hearth, uint64_t parent, const struct batch_frame *frame,
		     uint64_t *ret_node)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(hearth, SQL_NODE_FIND, &row, SQL_INT(parent),
			 SQL_INT(frame->kind | (uint64_t)frame->object << NODE_KIND_BITS),
			 SQL_INT(frame->address));
	if (r > 0)
		*ret_node = (uint64_t)sqlite3_column_int64(row, 0);
	return r;
}

/* -EDQUOT: the agent has used up its new nodes (node_budget.h). */
static int add_node(struct write *write, uint64_t parent, const struct batch_frame *frame,
		    uint64_t *ret_node)
{
	int r;

	if (write->n_new_nodes == write->max_new_nodes)
		return -EDQUOT;
	write->n_new_nodes++;
	r = sqlite_run(write->hearth, SQL_NODE_ADD, SQL_INT(parent),
		       SQL_INT(frame->kind | (uint64_t)frame->object << NODE_KIND_BITS),
		       SQL_INT(frame->address));
	if (r == 0)
		*ret_node = (uint64_t)sqlite_last_id(write->hearth);
	return r;
}

/* In the tree the address of a named frame is its row ID, since names belong to a tenant. */
static int resolve_named_frames(struct write *write, struct batch_frame *frames, uint32_t count)
{
	bool has_name;
	int r = 0;

	for (uint32_t i = 0; i < count && r == 0; i++)
		if (frames[i].kind == FRAME_KERNEL_NAMED)
			r = write_find_named_frame(write, frames[i].address, &frames[i].address,
						   &has_name);
	return r;
}

/* Finds or adds the nodes of @frames (root first), which become the writer's path. */
static int add_path(struct write *write, const struct batch_frame *frames, uint32_t count,
		    uint64_t *ret_leaf)
{
	struct stack_path *path = &write->writer->path;
	bool all_new = false;
	uint32_t depth = 0;
	int r;

	while (depth < count && depth < path->depth &&
	       is_same_frame(&frames[depth], &path->frames[depth]))
		depth++;
	for (path->depth = depth; path->depth < count; path->depth++) {
		uint64_t parent = path->depth ? path->nodes[path->depth - 1] : 0;
		const struct batch_frame *frame = &frames[path->depth];

		r = all_new ? 0
			    : find_node(write->hearth, parent, frame, &path->nodes[path->depth]);
		if (r == 0) {
			all_new = true;
			r = add_node(write, parent, frame, &path->nodes[path->depth]);
		}
		if (r < 0)
			return r;
		path->frames[path->depth] = *frame;
	}
	*ret_leaf = count ? path->nodes[count - 1] : 0;
	return 0;
}

static int add_stack(struct write *write, const struct batch_stack *stack,
		     struct batch_frame *frames, const struct hash128 *hash, uint64_t *ret_id)
{
	int64_t tenant = 0;
	uint64_t leaf;
	int r;

	r = write_begin(write);
	if (r == 0)
		r = write_tenant(write, &tenant);
	if (r == 0)
		r = resolve_named_frames(write, frames, stack->n_frames);
	if (r == 0)
		r = add_path(write, frames, stack->n_frames, &leaf);
	if (r == 0)
		r = sqlite_run(write->hearth, SQL_STACK_ADD, SQL_INT(leaf), SQL_INT(stack->cut));
	if (r < 0)
		return r;
	*ret_id = (uint64_t)sqlite_last_id(write->hearth);
	write->n_new_stacks++;
	return sqlite_run(write->hearth, SQL_STACK_HASH_ADD, SQL_INT(tenant),
			  SQL_BLOB(hash->bytes, sizeof(hash->bytes)), SQL_INT(*ret_id));
}

/* Returns 1 if found, 0 if not. */
static int find_stack(struct write *write, const struct hash128 *hash, uint64_t *ret_id)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int64_t tenant;
	int r;

	r = write_tenant(write, &tenant);
	if (r == 0)
		r = sqlite_query(write->hearth, SQL_STACK_FIND, &row, SQL_INT(tenant),
				 SQL_BLOB(hash->bytes, sizeof(hash->bytes)));
	if (r > 0)
		*ret_id = (uint64_t)sqlite3_column_int64(row, 0);
	return r;
}

static int define_stack(struct write *write, const struct batch_stack *stack)
{
	const struct number_entry *entry = write_number(write, NUMBER_STACK, stack->number);
	struct batch_frame frames[STACK_MAX_FRAMES];
	struct hash128 hash;
	bool applied;
	uint64_t id = 0;
	int r;

	/*
	 * The number of a stack never changes its meaning: the agent repeats unacknowledged ones.
	 */
	assert(entry && stack->n_frames <= STACK_MAX_FRAMES);
	if (entry->known)
		return 0;
	r = hash_stack(write, stack, frames, &hash);
	if (r == 0)
		r = find_stack(write, &hash, &id);
	if (r == 0)
		r = add_stack(write, stack, frames, &hash, &id);
	if (r < 0)
		return r;
	return write_set_number(write, NUMBER_STACK, stack->number, id, &applied);
}

int write_define_stacks(struct write *write)
{
	int r = 0;

	/* The last batch may have been rolled back, and its nodes with it. */
	write->writer->path.depth = 0;
	for (uint32_t i = 0; i < write->batch->n_stacks && r == 0; i++)
		r = define_stack(write, &write->batch->stacks[i]);
	return r;
}
