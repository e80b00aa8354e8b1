/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of a batch, which are sent as columns, each without the frames that it shares with the
 * stack before. The columns are checked completely before memory for their expansion is allocated,
 * because a few bytes can expand to a stack of 640 frames.
 *
 * A frame refers to a space: a kind, and the object in which its address lies. Format 2 lists the
 * spaces; in format 1 each frame has kind and executable in one number.
 */

#include "common/hash_table.h"
#include "symbolizer/ingest/batch_checks.h"

/* Only for batches of format 1. */
#define PACKED_KIND_BITS 3
#define PACKED_KIND_MASK ((1u << PACKED_KIND_BITS) - 1)
#define PACKED_KIND_END  5

/* Checks the columns against each other. *ret_total: frames after expansion. */
static int check_stacks(struct decode *decode, const Hearth__V1__StackTable *table,
			size_t *ret_total)
{
	size_t n_spaces = decode->message->format == 1 ? table->n_frame_kind_executable
						       : table->n_frame_space;
	size_t count = table->n_number;
	uint64_t listed = 0;
	uint64_t total = 0;
	uint64_t depth = 0;

	if (table->n_shared != count || table->n_n_frames != count || table->n_cut != count)
		return decode_bad(decode, "stacks: columns of %zu, %zu, %zu and %zu items", count,
				  table->n_shared, table->n_n_frames, table->n_cut);
	if (n_spaces != table->n_frame_address)
		return decode_bad(decode, "stacks: frame columns of %zu and %zu items", n_spaces,
				  table->n_frame_address);
	for (size_t i = 0; i < count; i++) {
		if (table->number[i] == 0)
			return decode_bad(decode, "stacks.number[%zu] is 0", i);
		if (table->cut[i] >= STACK_CUT_END)
			return decode_bad(decode, "stacks.cut[%zu] is %u", i, table->cut[i]);
		if (table->shared[i] > depth)
			return decode_bad(
				decode,
				"stacks.shared[%zu] is %u, the stack before has %llu frames", i,
				table->shared[i], (unsigned long long)depth);
		depth = (uint64_t)table->shared[i] + table->n_frames[i];
		if (depth > STACK_MAX_FRAMES)
			return decode_bad(decode, "stacks[%zu] has %llu frames, at most %d", i,
					  (unsigned long long)depth, STACK_MAX_FRAMES);
		listed += table->n_frames[i];
		total += depth;
	}
	if (listed != table->n_frame_address)
		return decode_bad(decode, "stacks.n_frames add up to %llu, there are %zu frames",
				  (unsigned long long)listed, table->n_frame_address);
	if (listed > DECODE_MAX_LISTED_FRAMES)
		return decode_too_much(decode, "stacks: %llu listed frames, at most %u",
				       (unsigned long long)listed, DECODE_MAX_LISTED_FRAMES);
	if (total > DECODE_MAX_FRAMES)
		return decode_too_much(decode, "stacks: %llu frames, at most %llu",
				       (unsigned long long)total,
				       (unsigned long long)DECODE_MAX_FRAMES);
	*ret_total = (size_t)total;
	return 0;
}

struct space {
	uint8_t kind; /* 0: not read yet */
	uint32_t object;
	uint64_t last_address; /* addresses are sent as differences */
};

/* Reads the listed frames in order. */
struct frame_reader {
	const Hearth__V1__StackTable *table;
	struct space *spaces;      /* format 2: [table->n_space_kind] */
	struct hash_table *packed; /* format 1: frame_kind_executable -> struct space */
	size_t next;
};

static int read_space(struct decode *decode, const Hearth__V1__StackTable *table, size_t index,
		      struct space *ret_space)
{
	uint32_t kind = table->space_kind[index];
	uint32_t executable = table->space_executable[index];
	uint32_t code = table->n_space_code_object ? table->space_code_object[index] : 0;
	enum frame_object object = FRAME_OBJECT_NOTHING;

	if (kind == 0 || kind > FRAME_KIND_MAX)
		return decode_bad(decode, "stacks.space_kind[%zu] is %u, not 1 to %d", index, kind,
				  FRAME_KIND_MAX);
	if (executable >= FRAME_CODE_OBJECT || code >= FRAME_CODE_OBJECT)
		return decode_bad(decode, "stacks: space %zu has an object number above 2^31 - 1",
				  index);
	if (executable != 0 && code != 0)
		return decode_bad(decode, "stacks: space %zu has an executable and a code object",
				  index);
	if (executable != 0)
		object = FRAME_OBJECT_EXECUTABLE;
	else if (code != 0)
		object = FRAME_OBJECT_CODE;
	if (!frame_kind_allows(kind, object))
		return decode_bad(decode, "stacks: space %zu is a frame of kind '%s' with %s",
				  index, frame_kind_name(kind),
				  executable != 0 ? "an executable" : "a code object");
	*ret_space = (struct space){
		.kind = (uint8_t)kind,
		.object = code != 0 ? FRAME_CODE_OBJECT | code : executable,
	};
	return 0;
}

static int read_spaces(struct decode *decode, struct frame_reader *reader)
{
	const Hearth__V1__StackTable *table = reader->table;
	size_t count = table->n_space_kind;
	int r = 0;

	if (table->n_space_executable != count ||
	    (table->n_space_code_object != 0 && table->n_space_code_object != count))
		return decode_bad(decode, "stacks: space columns of %zu, %zu and %zu items", count,
				  table->n_space_executable, table->n_space_code_object);
	if (count > DECODE_MAX_SPACES)
		return decode_too_much(decode, "stacks: %zu spaces, at most %u", count,
				       DECODE_MAX_SPACES);
	reader->spaces = decode_array(decode, count, sizeof(*reader->spaces));
	if (!reader->spaces)
		return decode_no_room(decode);
	for (size_t i = 0; i < count && r == 0; i++)
		r = read_space(decode, table, i, &reader->spaces[i]);
	return r;
}

/* Only for batches of format 1. */
static int find_packed_space(struct decode *decode, struct frame_reader *reader, size_t index,
			     struct space **ret_space)
{
	uint32_t key = reader->table->frame_kind_executable[index];
	uint32_t kind = key & PACKED_KIND_MASK;
	void *space;
	int r;

	if (kind == 0 || kind >= PACKED_KIND_END)
		return decode_bad(decode, "stacks.frame_kind_executable[%zu]: kind %u", index,
				  kind);
	if (kind == FRAME_KERNEL_NAMED && key >> PACKED_KIND_BITS != 0)
		return decode_bad(
			decode,
			"stacks.frame_kind_executable[%zu]: a named frame with an executable",
			index);
	r = hash_table_insert(reader->packed, &key, &space);
	if (r == -ENOSPC)
		return decode_too_much(decode, "stacks: frames in more than %u executables",
				       DECODE_MAX_SPACES);
	if (r < 0)
		return decode_no_room(decode);
	*ret_space = space;
	(*ret_space)->kind = (uint8_t)kind;
	(*ret_space)->object = key >> PACKED_KIND_BITS;
	return 0;
}

static int find_space(struct decode *decode, struct frame_reader *reader, size_t index,
		      struct space **ret_space)
{
	const Hearth__V1__StackTable *table = reader->table;

	if (reader->packed)
		return find_packed_space(decode, reader, index, ret_space);
	if (table->frame_space[index] >= table->n_space_kind)
		return decode_bad(decode, "stacks.frame_space[%zu] is %u of %zu", index,
				  table->frame_space[index], table->n_space_kind);
	*ret_space = &reader->spaces[table->frame_space[index]];
	return 0;
}

static int read_frame(struct decode *decode, struct frame_reader *reader,
		      struct batch_frame *ret_frame)
{
	size_t index = reader->next++;
	struct space *space;
	int r;

	r = find_space(decode, reader, index, &space);
	if (r < 0)
		return r;
	space->last_address += (uint64_t)reader->table->frame_address[index];
	*ret_frame = (struct batch_frame){
		.kind = space->kind,
		.object = space->object,
		.address = space->last_address,
	};
	decode->batch->n_unknown_frames += !frame_kind_name(space->kind);
	return 0;
}

static int expand_stacks(struct decode *decode, struct frame_reader *reader,
			 struct batch_frame *frames)
{
	const Hearth__V1__StackTable *table = reader->table;
	struct batch_frame path[STACK_MAX_FRAMES]; /* root first */
	int r;

	for (size_t i = 0; i < table->n_number; i++) {
		uint32_t n_frames = table->shared[i] + table->n_frames[i];

		for (uint32_t k = table->shared[i]; k < n_frames; k++) {
			r = read_frame(decode, reader, &path[k]);
			if (r < 0)
				return r;
		}
		for (uint32_t k = 0; k < n_frames; k++)
			frames[k] = path[n_frames - 1 - k];
		decode->batch->stacks[i] = (struct batch_stack){
			.number = table->number[i],
			.cut = (uint8_t)table->cut[i],
			.n_frames = n_frames,
			.frames = frames,
		};
		frames += n_frames;
	}
	decode->batch->n_stacks = (uint32_t)table->n_number;
	return 0;
}

int decode_stacks(struct decode *decode)
{
	scoped(hash_table_freep) struct hash_table *packed = NULL;
	struct frame_reader reader = { .table = decode->message->stacks };
	struct batch_frame *frames;
	size_t total = 0;
	int r;

	if (!reader.table)
		return 0;
	r = check_stacks(decode, reader.table, &total);
	if (r < 0)
		return r;
	decode->batch->stacks =
		decode_array(decode, reader.table->n_number, sizeof(*decode->batch->stacks));
	frames = decode_array(decode, total, sizeof(*frames));
	if (!decode->batch->stacks || !frames)
		return decode_no_room(decode);
	if (decode->message->format > 1) {
		r = read_spaces(decode, &reader);
		return r < 0 ? r : expand_stacks(decode, &reader, frames);
	}
	r = hash_table_new(sizeof(uint32_t), sizeof(struct space), DECODE_MAX_SPACES, &packed);
	if (r < 0)
		return decode_no_room(decode);
	reader.packed = packed;
	return expand_stacks(decode, &reader, frames);
}
