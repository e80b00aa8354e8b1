/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This encoder shares no code with the agent's. It follows proto/batch.proto alone, so that a
 * misreading of the format in the agent's encoder or in the decoder fails a test.
 */

#include "tests/support/batch_builder.h"

#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/hash_table.h"
#include "common/vec.h"
#include "common/zstd_frame.h"

#define MAX_MESSAGE_BYTES (256 * MIB)

struct built_stack {
	uint32_t number;
	uint32_t cut;
	uint32_t n_frames;
	const struct batch_frame *frames; /* root first */
};

struct batch_builder {
	struct arena *arena;
	Hearth__V1__Batch message;
	Hearth__V1__Host host;
	Hearth__V1__StackTable stack_table;
	Hearth__V1__RowTable row_table;
	VEC_DEFINE(, char *) strings;
	VEC_DEFINE(, Hearth__V1__Executable *) executables;
	VEC_DEFINE(, Hearth__V1__Process *) processes;
	VEC_DEFINE(, Hearth__V1__Series *) series;
	VEC_DEFINE(, Hearth__V1__NamedFrame *) named_frames;
	VEC_DEFINE(, Hearth__V1__Counter *) counters;
	VEC_DEFINE(, Hearth__V1__EventType *) event_types;
	VEC_DEFINE(, Hearth__V1__CodeObject *) code_objects;
	VEC_DEFINE(, struct built_stack) stacks;
	VEC_DEFINE(, struct batch_row) rows; /* slot is monotonic */
};

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

#define must_push(vec, ...)                                                                        \
	do {                                                                                       \
		if (vec_push((vec), __VA_ARGS__) < 0)                                              \
			abort();                                                                   \
	} while (0)

static void *allocate(struct batch_builder *builder, size_t count, size_t size)
{
	return must(arena_alloc_array(builder->arena, count, size));
}

static char *copy_text(struct batch_builder *builder, const char *text)
{
	return must(arena_copy_text(builder->arena, text, strlen(text)));
}

static uint32_t add_string(struct batch_builder *builder, const char *text)
{
	for (size_t i = 0; i < builder->strings.count; i++)
		if (strcmp(builder->strings.items[i], text) == 0)
			return (uint32_t)i;
	must_push(&builder->strings, copy_text(builder, text));
	return (uint32_t)builder->strings.count - 1;
}

/* Appends one item to a column. One reallocation per item suffices for tests. */
static void append_u32(struct batch_builder *builder, uint32_t **column, size_t *count,
		       uint32_t value)
{
	uint32_t *longer = allocate(builder, *count + 1, sizeof(*longer));

	if (*count > 0)
		memcpy(longer, *column, *count * sizeof(*longer));
	longer[(*count)++] = value;
	*column = longer;
}

static void append_u64(struct batch_builder *builder, uint64_t **column, size_t *count,
		       uint64_t value)
{
	uint64_t *longer = allocate(builder, *count + 1, sizeof(*longer));

	if (*count > 0)
		memcpy(longer, *column, *count * sizeof(*longer));
	longer[(*count)++] = value;
	*column = longer;
}

struct batch_builder *batch_builder_new(uint8_t agent, uint64_t epoch, uint64_t sequence,
					uint64_t opened_wall_ns, uint64_t closed_wall_ns)
{
	struct batch_builder *builder = must(calloc(1, sizeof(*builder)));

	if (arena_new(MAX_MESSAGE_BYTES, &builder->arena) < 0)
		abort();
	hearth__v1__batch__init(&builder->message);
	hearth__v1__host__init(&builder->host);
	builder->message.format = 1;
	builder->message.agent_id.len = sizeof(struct hash128);
	builder->message.agent_id.data = allocate(builder, 1, sizeof(struct hash128));
	memset(builder->message.agent_id.data, agent, sizeof(struct hash128));
	builder->message.epoch = epoch;
	builder->message.sequence = sequence;
	builder->message.opened_monotonic_ns = opened_wall_ns - BUILDER_BOOT_WALL_NS;
	builder->message.closed_monotonic_ns = closed_wall_ns - BUILDER_BOOT_WALL_NS;
	builder->message.closed_wall_ns = closed_wall_ns;
	builder->message.host = &builder->host;
	builder->host.name = must(arena_format(builder->arena, "host-%u", agent));
	builder->host.machine_id = copy_text(builder, "0123456789abcdef0123456789abcdef");
	builder->host.boot_id = copy_text(builder, BUILDER_BOOT_ID);
	builder->host.agent_version = copy_text(builder, "0.1.0");
	builder->host.kernel_release = copy_text(builder, "6.1.0");
	builder->host.architecture = copy_text(builder, "x86_64");
	builder->host.n_cpus = 2;
	(void)add_string(builder, "");
	return builder;
}

struct batch_builder *batch_builder_free(struct batch_builder *builder)
{
	if (!builder)
		return NULL;
	vec_release(&builder->strings);
	vec_release(&builder->executables);
	vec_release(&builder->processes);
	vec_release(&builder->series);
	vec_release(&builder->named_frames);
	vec_release(&builder->counters);
	vec_release(&builder->event_types);
	vec_release(&builder->code_objects);
	vec_release(&builder->stacks);
	vec_release(&builder->rows);
	(void)arena_free(builder->arena);
	free(builder);
	return NULL;
}

void batch_builder_host(struct batch_builder *builder, const char *name, const char *agent_version)
{
	builder->host.name = copy_text(builder, name);
	builder->host.agent_version = copy_text(builder, agent_version);
}

void batch_builder_executable(struct batch_builder *builder, uint32_t number,
			      const struct executable_id *id, const char *name,
			      enum executable_role role)
{
	Hearth__V1__Executable *executable = allocate(builder, 1, sizeof(*executable));

	hearth__v1__executable__init(executable);
	executable->number = number;
	if (id) {
		executable->id_kind = id->kind;
		executable->id.len = id->size;
		executable->id.data = must(arena_copy(builder->arena, id->bytes, id->size));
	}
	executable->name = add_string(builder, name);
	executable->role = role;
	must_push(&builder->executables, executable);
}

void batch_builder_segment(struct batch_builder *builder, uint64_t file_offset, uint64_t vaddr,
			   uint64_t file_size)
{
	Hearth__V1__Executable *last = builder->executables.items[builder->executables.count - 1];

	append_u64(builder, &last->segment_file_offset, &last->n_segment_file_offset, file_offset);
	append_u64(builder, &last->segment_vaddr, &last->n_segment_vaddr, vaddr);
	append_u64(builder, &last->segment_file_size, &last->n_segment_file_size, file_size);
}

void batch_builder_process(struct batch_builder *builder, uint32_t number, uint32_t pid,
			   uint64_t start_time_ns, const char *name, uint32_t main_executable)
{
	Hearth__V1__Process *process = allocate(builder, 1, sizeof(*process));

	hearth__v1__process__init(process);
	process->number = number;
	process->pid = pid;
	process->parent_pid = 1;
	process->start_time_ns = start_time_ns;
	process->name = add_string(builder, name);
	process->main_executable = main_executable;
	must_push(&builder->processes, process);
}

static Hearth__V1__Process *last_process(struct batch_builder *builder)
{
	return builder->processes.items[builder->processes.count - 1];
}

void batch_builder_process_details(struct batch_builder *builder,
				   const struct batch_process *process)
{
	Hearth__V1__Process *last = last_process(builder);

	last->parent_pid = process->parent_pid;
	last->executable_path = add_string(builder, process->executable_path);
	last->kernel_thread = process->kernel_thread;
	last->without_stacks = process->without_stacks;
}

void batch_builder_path(struct batch_builder *builder, uint32_t executable, const char *path)
{
	Hearth__V1__Process *last = last_process(builder);

	append_u32(builder, &last->path_executable, &last->n_path_executable, executable);
	append_u32(builder, &last->path, &last->n_path, add_string(builder, path));
}

void batch_builder_label(struct batch_builder *builder, const char *name, const char *value)
{
	Hearth__V1__Process *last = last_process(builder);

	append_u32(builder, &last->label_name, &last->n_label_name, add_string(builder, name));
	append_u32(builder, &last->label_value, &last->n_label_value, add_string(builder, value));
}

void batch_builder_use_format_2(struct batch_builder *builder)
{
	builder->message.format = 2;
}

/* Returns 1 + the index of the type in the batch. */
static uint32_t add_event_type(struct batch_builder *builder, const struct batch_event_type *type)
{
	uint32_t name = add_string(builder, type->name);
	Hearth__V1__EventType *added;

	for (size_t i = 0; i < builder->event_types.count; i++)
		if (builder->event_types.items[i]->name == name)
			return (uint32_t)i + 1;
	added = allocate(builder, 1, sizeof(*added));
	hearth__v1__event_type__init(added);
	added->name = name;
	added->unit = add_string(builder, type->unit);
	added->kind = type->kind;
	must_push(&builder->event_types, added);
	return (uint32_t)builder->event_types.count;
}

void batch_builder_described_series(struct batch_builder *builder, uint32_t number,
				    uint32_t process, uint32_t tid,
				    const struct batch_event_type *type)
{
	batch_builder_series(builder, number, process, tid, "", EVENT_NONE, 0);
	builder->series.items[builder->series.count - 1]->event_type =
		add_event_type(builder, type);
}

void batch_builder_series_label(struct batch_builder *builder, const char *name, const char *value)
{
	Hearth__V1__Series *last = builder->series.items[builder->series.count - 1];

	append_u32(builder, &last->label_name, &last->n_label_name, add_string(builder, name));
	append_u32(builder, &last->label_value, &last->n_label_value, add_string(builder, value));
}

void batch_builder_code_object(struct batch_builder *builder,
			       const struct batch_code_object *object)
{
	Hearth__V1__CodeObject *added = allocate(builder, 1, sizeof(*added));

	hearth__v1__code_object__init(added);
	added->number = object->number;
	added->language = add_string(builder, object->language);
	added->function = add_string(builder, object->function);
	added->qualified_name = add_string(builder, object->qualified_name);
	added->file = add_string(builder, object->file);
	added->first_line = object->first_line;
	added->line_table.len = object->line_table.size;
	added->line_table.data =
		must(arena_copy(builder->arena, object->line_table.data, object->line_table.size));
	must_push(&builder->code_objects, added);
}

/* In format 2 the batch describes the type. */
static uint32_t type_of_series(struct batch_builder *builder, enum event_type type)
{
	const struct event_type_info *info = event_type_info(type);

	if (builder->message.format == 1 || !info)
		return type;
	return add_event_type(builder, &(struct batch_event_type){ .name = info->name,
								   .unit = info->unit,
								   .kind = info->kind });
}

void batch_builder_series(struct batch_builder *builder, uint32_t number, uint32_t process,
			  uint32_t tid, const char *thread_name, enum event_type type,
			  uint64_t period_ns)
{
	Hearth__V1__Series *series = allocate(builder, 1, sizeof(*series));

	hearth__v1__series__init(series);
	series->number = number;
	series->process = process;
	series->tid = tid;
	series->thread_name = add_string(builder, thread_name);
	series->event_type = type_of_series(builder, type);
	series->period_ns = period_ns;
	must_push(&builder->series, series);
}

void batch_builder_cpu(struct batch_builder *builder, int cpu)
{
	builder->series.items[builder->series.count - 1]->cpu_plus_one = (uint32_t)(cpu + 1);
}

void batch_builder_stack(struct batch_builder *builder, uint32_t number, enum stack_cut cut,
			 const struct batch_frame *frames, uint32_t n_frames)
{
	struct batch_frame *root_first = allocate(builder, n_frames, sizeof(*root_first));

	for (uint32_t i = 0; i < n_frames; i++)
		root_first[i] = frames[n_frames - 1 - i];
	must_push(&builder->stacks, (struct built_stack){ .number = number,
							  .cut = cut,
							  .n_frames = n_frames,
							  .frames = root_first });
}

void batch_builder_row(struct batch_builder *builder, uint32_t series, uint32_t stack,
		       uint64_t wall_ns, uint64_t value)
{
	must_push(&builder->rows,
		  (struct batch_row){ .series = series,
				      .stack = stack,
				      .slot = (wall_ns - BUILDER_BOOT_WALL_NS) / SLOT_NS,
				      .value = value });
}

uint64_t batch_builder_named_frame(struct batch_builder *builder, const char *name)
{
	Hearth__V1__NamedFrame *frame = allocate(builder, 1, sizeof(*frame));

	hearth__v1__named_frame__init(frame);
	frame->key = hash64_of(name, strlen(name));
	frame->name = copy_text(builder, name);
	must_push(&builder->named_frames, frame);
	return frame->key;
}

void batch_builder_counter(struct batch_builder *builder, const char *name, uint64_t value)
{
	Hearth__V1__Counter *counter = allocate(builder, 1, sizeof(*counter));

	hearth__v1__counter__init(counter);
	counter->name = copy_text(builder, name);
	counter->value = value;
	must_push(&builder->counters, counter);
}

/* The key of a frame's space. A space has the frames of one kind in one executable or object. */
static uint64_t key_of_frame(const struct batch_frame *frame)
{
	return frame->kind | (uint64_t)frame->object << 8;
}

static bool is_same_frame(const struct batch_frame *a, const struct batch_frame *b)
{
	return key_of_frame(a) == key_of_frame(b) && a->address == b->address;
}

static int compare_stacks(const void *a, const void *b)
{
	const struct built_stack *left = a;
	const struct built_stack *right = b;

	for (uint32_t i = 0; i < left->n_frames && i < right->n_frames; i++) {
		const struct batch_frame *x = &left->frames[i];
		const struct batch_frame *y = &right->frames[i];

		if (key_of_frame(x) != key_of_frame(y))
			return key_of_frame(x) < key_of_frame(y) ? -1 : 1;
		if (x->address != y->address)
			return x->address < y->address ? -1 : 1;
	}
	return left->n_frames < right->n_frames ? -1 : left->n_frames > right->n_frames;
}

/* Returns the index of the frame's space in @table. Adds the space if the table lacks it. */
static uint32_t find_space(Hearth__V1__StackTable *table, const struct batch_frame *frame)
{
	bool is_code = frame->object & FRAME_CODE_OBJECT;
	uint32_t executable = is_code ? 0 : frame->object;
	uint32_t code = is_code ? frame->object & ~FRAME_CODE_OBJECT : 0;

	for (uint32_t i = 0; i < table->n_space_kind; i++)
		if (table->space_kind[i] == frame->kind &&
		    table->space_executable[i] == executable && table->space_code_object[i] == code)
			return i;
	table->space_kind[table->n_space_kind++] = frame->kind;
	table->space_executable[table->n_space_executable++] = executable;
	table->space_code_object[table->n_space_code_object++] = code;
	return (uint32_t)table->n_space_kind - 1;
}

static void encode_frame(Hearth__V1__StackTable *table, uint32_t format, struct hash_table *last,
			 const struct batch_frame *frame)
{
	uint64_t key = key_of_frame(frame);
	uint64_t *address;

	if (hash_table_insert(last, &key, (void **)&address) < 0)
		abort();
	if (format == 1)
		table->frame_kind_executable[table->n_frame_kind_executable++] =
			frame->kind | frame->object << 3;
	else
		table->frame_space[table->n_frame_space++] = find_space(table, frame);
	table->frame_address[table->n_frame_address++] = (int64_t)(frame->address - *address);
	*address = frame->address;
}

static void encode_stacks(struct batch_builder *builder)
{
	size_t count = builder->stacks.count;
	scoped(hash_table_freep) struct hash_table *last = NULL;
	Hearth__V1__StackTable *table = &builder->stack_table;
	const struct built_stack *before = NULL;
	size_t n_frames = 0;

	if (count > 0)
		qsort(builder->stacks.items, count, sizeof(struct built_stack), compare_stacks);
	for (size_t i = 0; i < count; i++)
		n_frames += builder->stacks.items[i].n_frames;
	if (hash_table_new(sizeof(uint64_t), sizeof(uint64_t), 0, &last) < 0)
		abort();
	hearth__v1__stack_table__init(table);
	table->number = allocate(builder, count, sizeof(uint32_t));
	table->shared = allocate(builder, count, sizeof(uint32_t));
	table->n_frames = allocate(builder, count, sizeof(uint32_t));
	table->cut = allocate(builder, count, sizeof(uint32_t));
	table->frame_kind_executable = allocate(builder, n_frames, sizeof(uint32_t));
	table->frame_space = allocate(builder, n_frames, sizeof(uint32_t));
	table->space_kind = allocate(builder, n_frames, sizeof(uint32_t));
	table->space_executable = allocate(builder, n_frames, sizeof(uint32_t));
	table->space_code_object = allocate(builder, n_frames, sizeof(uint32_t));
	table->frame_address = allocate(builder, n_frames, sizeof(int64_t));
	for (size_t i = 0; i < count; i++) {
		const struct built_stack *stack = &builder->stacks.items[i];
		uint32_t shared = 0;

		while (before && shared < before->n_frames && shared < stack->n_frames &&
		       is_same_frame(&before->frames[shared], &stack->frames[shared]))
			shared++;
		table->number[table->n_number++] = stack->number;
		table->shared[table->n_shared++] = shared;
		table->n_frames[table->n_n_frames++] = stack->n_frames - shared;
		table->cut[table->n_cut++] = stack->cut;
		for (uint32_t k = shared; k < stack->n_frames; k++)
			encode_frame(table, builder->message.format, last, &stack->frames[k]);
		before = stack;
	}
	builder->message.stacks = count ? table : NULL;
}

static int compare_rows(const void *a, const void *b)
{
	const struct batch_row *left = a;
	const struct batch_row *right = b;

	if (left->series != right->series)
		return left->series < right->series ? -1 : 1;
	if (left->slot != right->slot)
		return left->slot < right->slot ? -1 : 1;
	return left->stack < right->stack ? -1 : left->stack > right->stack;
}

static void encode_rows(struct batch_builder *builder)
{
	size_t count = builder->rows.count;
	Hearth__V1__RowTable *table = &builder->row_table;
	struct batch_row *rows = builder->rows.items;
	bool all_one = true;

	hearth__v1__row_table__init(table);
	builder->message.rows = NULL;
	if (count == 0)
		return;
	qsort(rows, count, sizeof(*rows), compare_rows);
	table->first_slot = rows[0].slot;
	table->series = allocate(builder, count, sizeof(int32_t));
	table->slot = allocate(builder, count, sizeof(int32_t));
	table->stack = allocate(builder, count, sizeof(uint32_t));
	table->value = allocate(builder, count, sizeof(uint64_t));
	table->n_series = table->n_slot = table->n_stack = count;
	for (size_t i = 0; i < count; i++) {
		table->series[i] = (int32_t)(rows[i].series - (i ? rows[i - 1].series : 0));
		table->slot[i] = (int32_t)((int64_t)rows[i].slot -
					   (int64_t)(i ? rows[i - 1].slot : rows[0].slot));
		table->stack[i] = rows[i].stack;
		table->value[i] = rows[i].value;
		all_one = all_one && rows[i].value == 1;
	}
	table->n_value = all_one ? 0 : count;
	builder->message.rows = table;
}

Hearth__V1__Batch *batch_builder_message(struct batch_builder *builder)
{
	Hearth__V1__Batch *message = &builder->message;

	encode_stacks(builder);
	encode_rows(builder);
	message->strings = builder->strings.items;
	message->n_strings = builder->strings.count;
	message->executables = builder->executables.items;
	message->n_executables = builder->executables.count;
	message->processes = builder->processes.items;
	message->n_processes = builder->processes.count;
	message->series = builder->series.items;
	message->n_series = builder->series.count;
	message->named_frames = builder->named_frames.items;
	message->n_named_frames = builder->named_frames.count;
	message->counters = builder->counters.items;
	message->n_counters = builder->counters.count;
	message->event_types = builder->event_types.items;
	message->n_event_types = builder->event_types.count;
	message->code_objects = builder->code_objects.items;
	message->n_code_objects = builder->code_objects.count;
	return message;
}

void batch_pack_plain(const Hearth__V1__Batch *message, struct bytes *out)
{
	size_t size = hearth__v1__batch__get_packed_size(message);

	if (bytes_reserve(out, size) < 0)
		abort();
	out->size += hearth__v1__batch__pack(message, out->data + out->size);
}

void batch_pack(const Hearth__V1__Batch *message, struct bytes *out)
{
	scoped(bytes_release) struct bytes plain = BYTES_INIT(MAX_MESSAGE_BYTES);

	batch_pack_plain(message, &plain);
	if (zstd_compress(bytes_view_of(&plain), 3, out) < 0)
		abort();
}

void batch_builder_finish(struct batch_builder *builder, struct bytes *out)
{
	batch_pack(batch_builder_message(builder), out);
	(void)batch_builder_free(builder);
}

struct executable_id test_build_id(uint8_t seed)
{
	uint8_t bytes[20];
	struct executable_id id;

	memset(bytes, seed, sizeof(bytes));
	if (executable_id_set(&id, EXECUTABLE_ID_GNU, bytes, sizeof(bytes)) < 0)
		abort();
	return id;
}
