/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a foreign profile as a batch of format 2 (proto/batch.proto). Its monotonic clock is the
 * wall clock.
 */
#include <stdlib.h>
#include <string.h>

#include "common/zstd_frame.h"
#include "proto/batch.pb-c.h"
#include "symbolizer/import/foreign_profile.h"

/* The bodies are stored until the next flush only. */
#define COMPRESSION_LEVEL 3

/*
 * An epoch is the hour of the end of the profile, and bits of the hash of its content. So the
 * epochs of a sender increase by the hour, and the store drops definitions of earlier ones.
 */
#define EPOCH_HASH_BITS 43
#define NS_PER_HOUR     (3600 * NSEC_PER_SEC)

struct encode {
	struct foreign_profile *profile;
	struct arena *arena;
	Hearth__V1__Batch *message;
	uint32_t *spaces;         /* [n_frames] of listed frames */
	struct hash_table *table; /* struct space -> uint32_t */
};

struct space {
	uint32_t kind, object;
};

static void *array_of(struct encode *encode, size_t count, size_t size)
{
	return arena_alloc_array(encode->arena, MAX(count, (size_t)1), size);
}

/* Allocates @count messages, and the array of pointers to them. */
static void *messages_of(struct encode *encode, size_t count, size_t size, void *ret_pointers)
{
	uint8_t *items = array_of(encode, count, size);
	void **pointers = array_of(encode, count, sizeof(*pointers));

	if (!items || !pointers)
		return NULL;
	for (size_t i = 0; i < count; i++)
		pointers[i] = items + i * size;
	*(void ***)ret_pointers = pointers;
	return items;
}

static int encode_strings(struct encode *encode)
{
	const struct string_table *texts = encode->profile->texts;
	const size_t count = string_table_count(texts);
	char **strings = array_of(encode, count, sizeof(*strings));

	if (!strings)
		return -ENOSPC;
	for (size_t i = 0; i < count; i++)
		strings[i] = (char *)string_table_text(texts, (string_id)i);
	encode->message->strings = strings;
	encode->message->n_strings = count;
	return 0;
}

static int encode_host(struct encode *encode)
{
	const struct foreign_profile *profile = encode->profile;
	Hearth__V1__Host *host = array_of(encode, 1, sizeof(*host));

	if (!host)
		return -ENOSPC;
	hearth__v1__host__init(host);
	host->name = arena_copy_text(encode->arena, profile->host, strlen(profile->host));
	host->agent_version =
		arena_copy_text(encode->arena, profile->program, strlen(profile->program));
	if (!host->name || !host->agent_version)
		return -ENOSPC;
	encode->message->host = host;
	return 0;
}

static int encode_executables(struct encode *encode)
{
	const size_t count = encode->profile->executables.count;
	Hearth__V1__Executable *items =
		messages_of(encode, count, sizeof(*items), &encode->message->executables);

	if (!items)
		return -ENOSPC;
	for (size_t i = 0; i < count; i++) {
		struct foreign_executable *executable = &encode->profile->executables.items[i];

		hearth__v1__executable__init(&items[i]);
		items[i].number = (uint32_t)i + 1;
		items[i].id_kind = executable->id.kind;
		items[i].id = (ProtobufCBinaryData){ .data = executable->id.bytes,
						     .len = executable->id.size };
		items[i].name = executable->name;
	}
	encode->message->n_executables = count;
	return 0;
}

static int encode_code_objects(struct encode *encode)
{
	const size_t count = encode->profile->codes.count;
	Hearth__V1__CodeObject *items =
		messages_of(encode, count, sizeof(*items), &encode->message->code_objects);

	if (!items)
		return -ENOSPC;
	for (size_t i = 0; i < count; i++) {
		const struct foreign_code *code = &encode->profile->codes.items[i];

		hearth__v1__code_object__init(&items[i]);
		items[i].number = (uint32_t)i + 1;
		items[i].language = code->language;
		items[i].function = code->function;
		items[i].file = code->file;
	}
	encode->message->n_code_objects = count;
	return 0;
}

/* Columns of the names and the values of labels. */
static int label_columns(struct encode *encode, uint32_t first, uint32_t count,
			 uint32_t *ret_columns[2])
{
	const struct foreign_label *labels = encode->profile->labels.items;

	for (size_t i = 0; i < 2; i++) {
		ret_columns[i] = array_of(encode, count, sizeof(**ret_columns));
		if (!ret_columns[i])
			return -ENOSPC;
	}
	for (uint32_t i = 0; i < count; i++) {
		ret_columns[0][i] = labels[first + i].name;
		ret_columns[1][i] = labels[first + i].value;
	}
	return 0;
}

static int encode_processes(struct encode *encode)
{
	const size_t count = encode->profile->processes.count;
	Hearth__V1__Process *items =
		messages_of(encode, count, sizeof(*items), &encode->message->processes);

	if (!items)
		return -ENOSPC;
	for (size_t i = 0; i < count; i++) {
		const struct foreign_process *process = &encode->profile->processes.items[i];
		uint32_t *columns[2];
		int r = label_columns(encode, process->first_label, process->n_labels, columns);

		if (r < 0)
			return r;
		hearth__v1__process__init(&items[i]);
		items[i].number = (uint32_t)i + 1;
		items[i].pid = process->pid;
		items[i].name = process->service;
		items[i].n_label_name = items[i].n_label_value = process->n_labels;
		items[i].label_name = columns[0];
		items[i].label_value = columns[1];
	}
	encode->message->n_processes = count;
	return 0;
}

static int encode_event_types(struct encode *encode)
{
	const size_t count = encode->profile->events.count;
	Hearth__V1__EventType *items =
		messages_of(encode, count, sizeof(*items), &encode->message->event_types);

	if (!items)
		return -ENOSPC;
	for (size_t i = 0; i < count; i++) {
		const struct foreign_event *event = &encode->profile->events.items[i];

		hearth__v1__event_type__init(&items[i]);
		items[i].name = event->name;
		items[i].unit = event->unit;
		items[i].kind = event->kind;
	}
	encode->message->n_event_types = count;
	return 0;
}

static int encode_series(struct encode *encode)
{
	const size_t count = encode->profile->series.count;
	Hearth__V1__Series *items =
		messages_of(encode, count, sizeof(*items), &encode->message->series);

	if (!items)
		return -ENOSPC;
	for (size_t i = 0; i < count; i++) {
		const struct foreign_series *series = &encode->profile->series.items[i];
		uint32_t *columns[2];
		int r = label_columns(encode, series->first_label, series->n_labels, columns);

		if (r < 0)
			return r;
		hearth__v1__series__init(&items[i]);
		items[i].number = (uint32_t)i + 1;
		items[i].process = series->process;
		items[i].tid = series->tid;
		items[i].thread_name = series->thread_name;
		items[i].event_type = series->event;
		items[i].period_ns = series->period_ns;
		items[i].n_label_name = items[i].n_label_value = series->n_labels;
		items[i].label_name = columns[0];
		items[i].label_value = columns[1];
	}
	encode->message->n_series = count;
	return 0;
}

/* The frame at @depth from the root. */
static const struct foreign_frame *frame_at(const struct foreign_profile *profile,
					    const struct foreign_stack *stack, uint32_t depth)
{
	return &profile->frames.items[stack->first_frame + stack->n_frames - 1 - depth];
}

static int compare_frames(const struct foreign_frame *a, const struct foreign_frame *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

static uint32_t shared_frames(const struct foreign_profile *profile, const struct foreign_stack *a,
			      const struct foreign_stack *b)
{
	uint32_t n = 0;

	while (n < MIN(a->n_frames, b->n_frames) &&
	       compare_frames(frame_at(profile, a, n), frame_at(profile, b, n)) == 0)
		n++;
	return n;
}

static int compare_stacks(const void *a, const void *b, void *arg)
{
	const struct foreign_profile *profile = arg;
	const struct foreign_stack *left = &profile->stacks.items[*(const uint32_t *)a];
	const struct foreign_stack *right = &profile->stacks.items[*(const uint32_t *)b];
	uint32_t shared = shared_frames(profile, left, right);

	if (shared == left->n_frames || shared == right->n_frames)
		return (left->n_frames > right->n_frames) - (left->n_frames < right->n_frames);
	return compare_frames(frame_at(profile, left, shared), frame_at(profile, right, shared));
}

/* Lists the spaces of all frames as columns of @table, and makes encode->table. */
static int encode_spaces(struct encode *encode, Hearth__V1__StackTable *table)
{
	const struct foreign_profile *profile = encode->profile;
	uint32_t *columns[3];
	int r = hash_table_new(sizeof(struct space), sizeof(uint32_t), 0, &encode->table);

	/* A frame has one space; an object may have several kinds of frames. */
	for (size_t i = 0; i < ARRAY_SIZE(columns) && r == 0; i++) {
		columns[i] = array_of(encode, profile->frames.count, sizeof(uint32_t));
		if (!columns[i])
			return -ENOSPC;
	}
	for (size_t i = 0; i < profile->frames.count && r >= 0; i++) {
		const struct foreign_frame *frame = &profile->frames.items[i];
		const struct space space = { frame->kind, frame->object };
		const bool is_code = frame->object & FRAME_CODE_OBJECT;
		const size_t n = hash_table_count(encode->table);
		uint32_t *index;

		r = hash_table_insert(encode->table, &space, (void **)&index);
		if (r <= 0)
			continue;
		*index = (uint32_t)n;
		columns[0][n] = frame->kind;
		columns[1][n] = is_code ? 0 : frame->object;
		columns[2][n] = is_code ? frame->object & ~FRAME_CODE_OBJECT : 0;
	}
	if (r < 0)
		return r;
	table->space_kind = columns[0];
	table->space_executable = columns[1];
	table->space_code_object = columns[2];
	table->n_space_kind = table->n_space_executable = table->n_space_code_object =
		hash_table_count(encode->table);
	return 0;
}

static int allocate_stack_columns(struct encode *encode, Hearth__V1__StackTable *table)
{
	const size_t n_stacks = encode->profile->stacks.count;
	const size_t n_frames = encode->profile->frames.count;

	table->number = array_of(encode, n_stacks, sizeof(*table->number));
	table->shared = array_of(encode, n_stacks, sizeof(*table->shared));
	table->n_frames = array_of(encode, n_stacks, sizeof(*table->n_frames));
	table->cut = array_of(encode, n_stacks, sizeof(*table->cut));
	table->frame_space = array_of(encode, n_frames, sizeof(*table->frame_space));
	table->frame_address = array_of(encode, n_frames, sizeof(*table->frame_address));
	table->n_number = table->n_shared = table->n_n_frames = table->n_cut = n_stacks;
	return table->number && table->shared && table->n_frames && table->cut &&
			       table->frame_space && table->frame_address
		       ? 0
		       : -ENOSPC;
}

/* Lists the frames of a stack from @shared on. @last_address has an item for each space. */
static void list_frames(struct encode *encode, Hearth__V1__StackTable *table,
			const struct foreign_stack *stack, uint32_t shared, uint64_t *last_address)
{
	for (uint32_t depth = shared; depth < stack->n_frames; depth++) {
		const struct foreign_frame *frame = frame_at(encode->profile, stack, depth);
		const struct space space = { frame->kind, frame->object };
		const uint32_t index = *(uint32_t *)hash_table_find(encode->table, &space);
		const size_t n = table->n_frame_space++;

		table->frame_space[n] = index;
		table->frame_address[n] = (int64_t)(frame->address - last_address[index]);
		last_address[index] = frame->address;
	}
	table->n_frame_address = table->n_frame_space;
}

static int encode_stacks(struct encode *encode)
{
	const struct foreign_profile *profile = encode->profile;
	const size_t count = profile->stacks.count;
	Hearth__V1__StackTable *table = array_of(encode, 1, sizeof(*table));
	uint32_t *order = array_of(encode, count, sizeof(*order));
	const struct foreign_stack *last = NULL;
	uint64_t *last_address;
	int r;

	if (!table || !order)
		return -ENOSPC;
	hearth__v1__stack_table__init(table);
	r = encode_spaces(encode, table);
	if (r == 0)
		r = allocate_stack_columns(encode, table);
	last_address = array_of(encode, table->n_space_kind, sizeof(*last_address));
	if (r < 0 || !last_address)
		return r < 0 ? r : -ENOSPC;
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	if (count > 1)
		qsort_r(order, count, sizeof(*order), compare_stacks, encode->profile);
	for (size_t i = 0; i < count; i++) {
		const struct foreign_stack *stack = &profile->stacks.items[order[i]];

		table->number[i] = order[i] + 1;
		table->shared[i] = last ? shared_frames(profile, last, stack) : 0;
		table->n_frames[i] = stack->n_frames - table->shared[i];
		table->cut[i] = stack->cut;
		list_frames(encode, table, stack, table->shared[i], last_address);
		last = stack;
	}
	encode->message->stacks = table;
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct batch_row *left = a, *right = b;

	if (left->series != right->series)
		return left->series < right->series ? -1 : 1;
	if (left->slot != right->slot)
		return left->slot < right->slot ? -1 : 1;
	return (left->stack > right->stack) - (left->stack < right->stack);
}

/* Sorts the rows, and adds up those of one stack and slot. */
static int merge_rows(struct foreign_profile *profile)
{
	struct batch_row *rows = profile->rows.items;
	size_t count = 0;

	if (profile->rows.count > 1)
		qsort(rows, profile->rows.count, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < profile->rows.count; i++) {
		if (count == 0 || compare_rows(&rows[count - 1], &rows[i]) != 0) {
			rows[count++] = rows[i];
			continue;
		}
		rows[count - 1].value += rows[i].value;
		if (rows[count - 1].value > IMPORT_MAX_VALUE)
			return foreign_bad(profile,
					   "the sum of the values of a stack is out of range");
	}
	profile->rows.count = count;
	return 0;
}

static int encode_rows(struct encode *encode)
{
	struct foreign_profile *profile = encode->profile;
	Hearth__V1__RowTable *table = array_of(encode, 1, sizeof(*table));
	const struct batch_row *last;
	size_t count;
	int r = merge_rows(profile);

	if (r < 0 || !table)
		return r < 0 ? r : -ENOSPC;
	hearth__v1__row_table__init(table);
	count = profile->rows.count;
	table->series = array_of(encode, count, sizeof(*table->series));
	table->slot = array_of(encode, count, sizeof(*table->slot));
	table->stack = array_of(encode, count, sizeof(*table->stack));
	table->value = array_of(encode, count, sizeof(*table->value));
	if (!table->series || !table->slot || !table->stack || !table->value)
		return -ENOSPC;
	table->first_slot = profile->from_ns / SLOT_NS;
	last = &(struct batch_row){ .slot = table->first_slot };
	for (size_t i = 0; i < count; i++) {
		const struct batch_row *row = &profile->rows.items[i];

		table->series[i] = (int32_t)(row->series - last->series);
		table->slot[i] = (int32_t)((int64_t)row->slot - (int64_t)last->slot);
		table->stack[i] = row->stack;
		table->value[i] = row->value;
		last = row;
	}
	table->n_series = table->n_slot = table->n_stack = table->n_value = count;
	encode->message->rows = table;
	return 0;
}

static void encode_head(struct encode *encode, const struct hash128 *agent)
{
	const struct foreign_profile *profile = encode->profile;
	Hearth__V1__Batch *message = encode->message;
	const uint64_t hour = profile->until_ns / NS_PER_HOUR;
	uint64_t bits;

	static_assert((IMPORT_MAX_TIME_NS - 1) / NS_PER_HOUR >> (63 - EPOCH_HASH_BITS) == 0,
		      "the hour and the hash fit into 63 bits");
	memcpy(&bits, profile->content.bytes, sizeof(bits));
	message->format = 2;
	message->agent_id = (ProtobufCBinaryData){ .data = (uint8_t *)agent->bytes,
						   .len = sizeof(agent->bytes) };
	message->epoch = hour << EPOCH_HASH_BITS | bits >> (64 - EPOCH_HASH_BITS);
	message->epoch += message->epoch == 0;
	message->sequence = 1;
	message->opened_monotonic_ns = profile->from_ns;
	message->closed_monotonic_ns = message->closed_wall_ns = profile->until_ns;
}

static int compress_message(struct encode *encode, struct bytes *out)
{
	scoped(bytes_release) struct bytes plain = BYTES_INIT(BATCH_MAX_BYTES);
	const size_t size = hearth__v1__batch__get_packed_size(encode->message);
	int r = bytes_reserve(&plain, size);

	if (r == 0) {
		plain.size = hearth__v1__batch__pack(encode->message, plain.data);
		r = zstd_compress(bytes_view_of(&plain), COMPRESSION_LEVEL, out);
	}
	if (r == -EFBIG)
		return foreign_too_much(
			encode->profile,
			"the profile is larger than a batch may be: send it in parts");
	return r;
}

int foreign_profile_encode(struct foreign_profile *profile, const struct hash128 *agent,
			   struct bytes *out)
{
	static int (*const steps[])(struct encode * encode) = {
		encode_strings,      encode_host,      encode_executables,
		encode_code_objects, encode_processes, encode_event_types,
		encode_series,       encode_stacks,    encode_rows,
	};
	Hearth__V1__Batch message = HEARTH__V1__BATCH__INIT;
	struct encode encode = { .profile = profile, .arena = profile->arena, .message = &message };
	int r = 0;

	encode_head(&encode, agent);
	for (size_t i = 0; i < ARRAY_SIZE(steps) && r == 0; i++)
		r = steps[i](&encode);
	if (r == 0)
		r = compress_message(&encode, out);
	(void)hash_table_free(encode.table);
	return r == -ENOSPC ? foreign_no_room(profile) : r;
}
