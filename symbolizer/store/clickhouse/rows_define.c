/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions. An ID is computed before its row, because a row is only made if it was not written
 * on this day: most definitions of a batch are known.
 */

#include "symbolizer/store/clickhouse/rows_private.h"

/*
 * Hosts and processes are written again each hour, so that attributes which change and change back
 * are newest again.
 */
#define REPEAT_NS (3600 * NSEC_PER_SEC)

/* What a frame refers to. */
struct object_reference {
	uint8_t type; /* enum clickhouse_object_type */
	struct hash128 id;
	struct executable_id identity; /* in the identity of a stack */
};

static void add_labels(struct bytes *row, const struct label *labels, uint32_t count)
{
	row_add_count(row, count);
	for (uint32_t i = 0; i < count; i++)
		row_add_text(row, labels[i].name);
	row_add_count(row, count);
	for (uint32_t i = 0; i < count; i++)
		row_add_text(row, labels[i].value);
}

static void add_host_columns(struct bytes *row, const struct batch_host *host)
{
	row_add_text(row, host->name);
	row_add_text(row, host->machine_id);
	row_add_text(row, host->boot_id);
	row_add_text(row, host->kernel_release);
	row_add_text(row, host->architecture);
	row_add_text(row, host->agent_version);
	row_add_u32(row, host->n_cpus);
	row_add_count(row, host->n_ips);
	for (uint32_t i = 0; i < host->n_ips; i++)
		row_add_text(row, host->ips[i]);
	add_labels(row, host->labels, host->n_labels);
}

/* The row with the highest version stays. */
static void add_host_row(struct rows_batch *of, bool is_first)
{
	const struct batch *batch = of->batch;
	const uint64_t seen_ns = is_first ? batch->opened_wall_ns : batch->closed_wall_ns;
	struct bytes *row = &of->rows->row;

	row_add_text(row, of->tenant);
	row_add_hash(row, &of->batch->agent_id);
	row_add_u8(row, is_first);
	row_add_u64(row, is_first ? UINT64_MAX - seen_ns : seen_ns);
	row_add_u64(row, seen_ns);
	add_host_columns(row, &of->batch->host);
}

/* seen_ns is at most REPEAT_NS old; the table batches has the last time. */
static void add_host(struct rows_batch *of)
{
	struct hash128 content;

	rows_begin_id(of, ROWS_HOSTS);
	row_add_hash(&of->rows->row, &of->batch->agent_id);
	row_add_u64(&of->rows->row, of->batch->closed_wall_ns / REPEAT_NS);
	add_host_columns(&of->rows->row, &of->batch->host);
	content = rows_end_id(of);
	if (!rows_begin(of, ROWS_HOSTS, &content))
		return;
	/* rows_begin() has added the day of the first of two rows. */
	add_host_row(of, false);
	row_add_u16(&of->rows->row, (uint16_t)of->day);
	add_host_row(of, true);
	rows_end(of, ROWS_HOSTS);
}

static struct hash128 executable_id_hash(struct rows_batch *of, const struct executable_id *id)
{
	bytes_clear(&of->rows->row);
	rows_add_executable_identity(&of->rows->row, of->tenant, id);
	return rows_end_id(of);
}

static void add_segments(struct bytes *row, const struct batch_executable *executable)
{
	row_add_u32(row, executable->n_segments);
	row_add_count(row, executable->n_segments);
	for (uint32_t i = 0; i < executable->n_segments; i++)
		row_add_u64(row, executable->segments[i].file_offset);
	row_add_count(row, executable->n_segments);
	for (uint32_t i = 0; i < executable->n_segments; i++)
		row_add_u64(row, executable->segments[i].vaddr);
	row_add_count(row, executable->n_segments);
	for (uint32_t i = 0; i < executable->n_segments; i++)
		row_add_u64(row, executable->segments[i].file_size);
}

/* Later definitions may add the name, the role or the segments: each variant is a row. */
static void add_executable(struct rows_batch *of, const struct batch_executable *executable,
			   const struct hash128 *id)
{
	struct bytes *row = &of->rows->row;
	struct hash128 content;

	bytes_clear(row);
	row_add_hash(row, id);
	row_add_text(row, executable->name);
	row_add_u8(row, (uint8_t)executable->role);
	add_segments(row, executable);
	content = rows_end_id(of);
	if (!rows_begin(of, ROWS_EXECUTABLES, &content))
		return;
	row_add_hash(row, id);
	row_add_text(row, of->tenant);
	row_add_u8(row, executable->id.kind);
	row_add_string(row, executable->id.bytes, executable->id.size);
	row_add_text(row, executable->name);
	row_add_u8(row, (uint8_t)executable->role);
	add_segments(row, executable);
	rows_end(of, ROWS_EXECUTABLES);
}

/* The agent no longer has the code object. */
static bool is_empty(const struct batch_code_object *code)
{
	return code->language[0] == '\0' && code->function[0] == '\0' &&
	       code->qualified_name[0] == '\0' && code->file[0] == '\0' && code->first_line == 0 &&
	       code->line_table.size == 0;
}

static void add_code_object(struct rows_batch *of, const struct batch_code_object *code,
			    const struct hash128 *id)
{
	struct bytes *row = &of->rows->row;

	if (!rows_begin(of, ROWS_CODE_OBJECTS, id))
		return;
	row_add_hash(row, id);
	row_add_text(row, code->language);
	row_add_text(row, code->function);
	row_add_text(row, code->qualified_name);
	row_add_text(row, code->file);
	row_add_u32(row, code->first_line);
	row_add_string(row, code->line_table.data, code->line_table.size);
	rows_end(of, ROWS_CODE_OBJECTS);
}

static void refer_to_code_object(struct rows_batch *of, const struct batch_code_object *code,
				 struct object_reference *reference)
{
	if (is_empty(code))
		return;
	rows_begin_id(of, ROWS_CODE_OBJECTS);
	row_add_hash(&of->rows->row, &code->hash);
	reference->id = rows_end_id(of);
	reference->type = CLICKHOUSE_CODE_OBJECT;
	reference->identity.kind = STORE_CODE_OBJECT_ID;
	reference->identity.size = sizeof(code->hash);
	memcpy(reference->identity.bytes, code->hash.bytes, sizeof(code->hash));
	add_code_object(of, code, &reference->id);
}

/* Adds the object of this number. Number 0 and empty definitions are no object. */
static struct object_reference refer_to(struct rows_batch *of, uint32_t number)
{
	const struct numbers_object *object = number ? numbers_object(of->numbers, number) : NULL;
	struct object_reference reference = {};

	if (!object)
		return reference;
	if (number & FRAME_CODE_OBJECT) {
		refer_to_code_object(of, &object->code, &reference);
		return reference;
	}
	if (object->executable.id.kind == EXECUTABLE_ID_NONE)
		return reference;
	reference.id = executable_id_hash(of, &object->executable.id);
	reference.type = CLICKHOUSE_EXECUTABLE;
	reference.identity = object->executable.id;
	add_executable(of, &object->executable, &reference.id);
	return reference;
}

struct path {
	struct hash128 executable;
	const char *path;
};

static int compare_paths(const void *a, const void *b)
{
	const struct path *left = a, *right = b;
	int order = memcmp(&left->executable, &right->executable, sizeof(left->executable));

	return order ? order : strcmp(left->path, right->path);
}

static void add_paths(struct bytes *row, const struct path *paths, size_t count)
{
	row_add_count(row, count);
	for (size_t i = 0; i < count; i++)
		row_add_hash(row, &paths[i].executable);
	row_add_count(row, count);
	for (size_t i = 0; i < count; i++)
		row_add_text(row, paths[i].path);
}

/* Sorted, so that equal sets have equal IDs. No paths: ID zero. */
static struct hash128 add_path_set(struct rows_batch *of, const struct batch_process *process)
{
	scoped_free struct path *paths = calloc((size_t)process->n_paths + 1, sizeof(*paths));
	struct hash128 id = {};
	size_t count = 0;

	if (!paths) {
		of->rows->tables[ROWS_PATH_SETS].error = -ENOMEM;
		return id;
	}
	for (uint32_t i = 0; i < process->n_paths; i++) {
		struct object_reference object = refer_to(of, process->paths[i].executable);

		if (object.type != CLICKHOUSE_NO_OBJECT)
			paths[count++] = (struct path){ .executable = object.id,
							.path = process->paths[i].path };
	}
	if (count == 0)
		return id;
	qsort(paths, count, sizeof(*paths), compare_paths);
	rows_begin_id(of, ROWS_PATH_SETS);
	add_paths(&of->rows->row, paths, count);
	id = rows_end_id(of);
	if (rows_begin(of, ROWS_PATH_SETS, &id)) {
		row_add_hash(&of->rows->row, &id);
		add_paths(&of->rows->row, paths, count);
		rows_end(of, ROWS_PATH_SETS);
	}
	return id;
}

struct process_row {
	const struct batch_process *process;
	struct hash128 id, main_executable, path_set;
};

/* The columns that may change while the ID stays. */
static void add_attributes(struct bytes *row, const struct process_row *of)
{
	const struct batch_process *process = of->process;

	row_add_u32(row, process->parent_pid);
	row_add_u64(row, process->start_time_ns);
	row_add_text(row, process->name);
	row_add_text(row, process->executable_path);
	row_add_hash(row, &of->main_executable);
	row_add_u8(row, (process->kernel_thread ? CLICKHOUSE_KERNEL_THREAD : 0) |
				(process->without_stacks ? CLICKHOUSE_WITHOUT_STACKS : 0));
	row_add_hash(row, &of->path_set);
	add_labels(row, process->labels, process->n_labels);
}

/* The content that is remembered as written has all attributes: a change is another row. */
static void add_process_row(struct rows_batch *of, const struct process_row *process)
{
	struct bytes *row = &of->rows->row;
	struct hash128 content;

	bytes_clear(row);
	row_add_hash(row, &process->id);
	row_add_u64(row, of->batch->closed_wall_ns / REPEAT_NS);
	add_attributes(row, process);
	content = rows_end_id(of);
	if (!rows_begin(of, ROWS_PROCESSES, &content))
		return;
	row_add_hash(row, &process->id);
	row_add_text(row, of->tenant);
	row_add_hash(row, &of->batch->agent_id);
	row_add_u64(row, of->batch->closed_wall_ns);
	row_add_u32(row, process->process->pid);
	add_attributes(row, process);
	rows_end(of, ROWS_PROCESSES);
}

/* Host, pid, start time, name and main executable identify a process: an exec makes a new one. */
static struct hash128 add_process(struct rows_batch *of, const struct batch_process *process)
{
	struct process_row row = { .process = process };

	row.main_executable = refer_to(of, process->main_executable).id;
	row.path_set = add_path_set(of, process);
	rows_begin_id(of, ROWS_PROCESSES);
	row_add_hash(&of->rows->row, &of->batch->agent_id);
	row_add_u32(&of->rows->row, process->pid);
	row_add_u64(&of->rows->row, process->start_time_ns);
	row_add_text(&of->rows->row, process->name);
	row_add_hash(&of->rows->row, &row.main_executable);
	row.id = rows_end_id(of);
	add_process_row(of, &row);
	return row.id;
}

/* The columns after the process. */
static void add_series_columns(struct bytes *row, const struct batch_series *series)
{
	row_add_u32(row, series->tid);
	row_add_text(row, series->thread_name);
	row_add_u32(row, (uint32_t)(series->cpu + 1));
	row_add_u64(row, series->period_ns);
	add_labels(row, series->labels, series->n_labels);
}

bool rows_add_series(struct rows_batch *of, uint32_t number, struct hash128 *ret_id,
		     uint64_t *ret_lane)
{
	const struct batch_series *series = numbers_series(of->numbers, number);
	const struct numbers_process *process = numbers_process(of->numbers, series->process);
	const struct event_type_info *known = event_type_info(series->type);
	const struct batch_event_type *described = series->described;
	struct bytes *row = &of->rows->row;
	struct hash128 process_id;
	const char *event;

	if (!process || (!described && !known))
		return false;
	event = described ? described->name : known->name;
	process_id = add_process(of, &process->process);
	*ret_lane = rows_lane(of->tenant, process->process.name, event);
	rows_begin_id(of, ROWS_SERIES);
	row_add_hash(row, &process_id);
	row_add_text(row, event);
	add_series_columns(row, series);
	*ret_id = rows_end_id(of);
	if (!rows_begin(of, ROWS_SERIES, ret_id))
		return true;
	row_add_u64(row, *ret_lane);
	row_add_hash(row, ret_id);
	row_add_text(row, of->tenant);
	row_add_text(row, process->process.name);
	row_add_text(row, event);
	row_add_text(row, described ? described->unit : known->unit);
	row_add_u8(row, (uint8_t)(described ? described->kind : known->kind));
	row_add_hash(row, &process_id);
	add_series_columns(row, series);
	rows_end(of, ROWS_SERIES);
	return true;
}

static void add_named_frame(struct rows_batch *of, uint64_t key, const char *name)
{
	struct bytes *row = &of->rows->row;
	struct hash128 content;

	rows_begin_id(of, ROWS_NAMED_FRAMES);
	row_add_u64(row, key);
	content = rows_end_id(of);
	if (!rows_begin(of, ROWS_NAMED_FRAMES, &content))
		return;
	row_add_text(row, of->tenant);
	row_add_u64(row, key);
	row_add_text(row, name);
	rows_end(of, ROWS_NAMED_FRAMES);
}

struct path_frame {
	const struct numbers_node *node;
	struct object_reference object;
};

/* The frames of a stack with their objects, leaf first. */
static uint32_t list_frames(struct rows_batch *of, const struct numbers_stack *stack,
			    struct path_frame *frames)
{
	uint32_t count = 0;

	for (uint32_t node = stack->leaf; node && count < STACK_MAX_FRAMES; count++) {
		const struct numbers_node *frame = &of->numbers->nodes.items[node - 1];
		const char *name = NULL;

		frames[count].node = frame;
		frames[count].object = refer_to(of, frame->object);
		if (frame->kind == FRAME_KERNEL_NAMED)
			name = numbers_name(of->numbers, frame->address);
		if (name)
			add_named_frame(of, frame->address, name);
		node = frame->parent;
	}
	return count;
}

/* The input of an identity, see store.h. */
static void hash_frames(struct bytes *input, const struct path_frame *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct executable_id *identity = &frames[i].object.identity;

		row_add_u8(input, (uint8_t)frames[i].node->kind);
		row_add_u8(input, identity->kind);
		row_add_u8(input, identity->size);
		(void)bytes_append(input, identity->bytes, identity->size);
		row_add_u64(input, frames[i].node->address);
	}
}

static struct hash128 add_callers(struct rows_batch *of, const struct path_frame *frames,
				  uint32_t count)
{
	struct bytes *row = &of->rows->row;
	struct hash128 id = {};

	if (count == 0)
		return id;
	rows_begin_id(of, ROWS_CALLERS);
	hash_frames(row, frames, count);
	id = rows_end_id(of);
	if (!rows_begin(of, ROWS_CALLERS, &id))
		return id;
	row_add_hash(row, &id);
	row_add_count(row, count);
	for (uint32_t i = 0; i < count; i++)
		row_add_u8(row, (uint8_t)frames[i].node->kind);
	row_add_count(row, count);
	for (uint32_t i = 0; i < count; i++)
		row_add_u8(row, frames[i].object.type);
	row_add_count(row, count);
	for (uint32_t i = 0; i < count; i++)
		row_add_hash(row, &frames[i].object.id);
	row_add_count(row, count);
	for (uint32_t i = 0; i < count; i++)
		row_add_u64(row, frames[i].node->address);
	rows_end(of, ROWS_CALLERS);
	return id;
}

struct hash128 rows_add_stack(struct rows_batch *of, uint32_t number)
{
	static const struct numbers_node no_node;
	const struct numbers_stack *stack = number ? numbers_stack(of->numbers, number) : NULL;
	struct path_frame frames[STACK_MAX_FRAMES];
	struct bytes *row = &of->rows->row;
	struct hash128 id = {}, callers;
	uint32_t count;

	if (!stack)
		return id;
	count = list_frames(of, stack, frames);
	rows_begin_id(of, ROWS_STACKS);
	hash_frames(row, frames, count);
	row_add_u8(row, (uint8_t)stack->cut);
	id = rows_end_id(of);
	if (count == 0)
		frames[0] = (struct path_frame){ .node = &no_node };
	callers = add_callers(of, frames + 1, count > 1 ? count - 1 : 0);
	if (!rows_begin(of, ROWS_STACKS, &id))
		return id;
	row_add_hash(row, &id);
	row_add_u8(row, (uint8_t)stack->cut);
	row_add_u8(row, (uint8_t)frames[0].node->kind);
	row_add_u8(row, frames[0].object.type);
	row_add_hash(row, &frames[0].object.id);
	row_add_u64(row, frames[0].node->address);
	row_add_hash(row, &callers);
	rows_end(of, ROWS_STACKS);
	return id;
}

void rows_add_definitions(struct rows_batch *of)
{
	const struct batch *batch = of->batch;
	struct hash128 id;
	uint64_t lane;

	add_host(of);
	for (uint32_t i = 0; i < batch->n_executables; i++)
		(void)refer_to(of, batch->executables[i].number);
	for (uint32_t i = 0; i < batch->n_code_objects; i++)
		(void)refer_to(of, FRAME_CODE_OBJECT | batch->code_objects[i].number);
	for (uint32_t i = 0; i < batch->n_processes; i++)
		(void)add_process(of, &batch->processes[i]);
	for (uint32_t i = 0; i < batch->n_series; i++)
		(void)rows_add_series(of, batch->series[i].number, &id, &lane);
	for (uint32_t i = 0; i < batch->n_named_frames; i++)
		add_named_frame(of, batch->named_frames[i].key, batch->named_frames[i].name);
	for (uint32_t i = 0; i < batch->n_stacks; i++)
		(void)rows_add_stack(of, batch->stacks[i].number);
}
