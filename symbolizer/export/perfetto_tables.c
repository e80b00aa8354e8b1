/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/export/perfetto_tables.h"

#include <string.h>

#include "common/frame_kind.h"
#include "symbolizer/flame/label.h"

#define MAX_TEXT_BYTES (512 * MIB)

/* All packets are of one sequence, because interned data are valid in their sequence only. */
#define SEQUENCE 1

/* The flag of packets that need the interned data of earlier ones. */
#define NEEDS_INTERNED_DATA 2

/* Perfetto's kinds of frames. */
enum {
	KIND_NATIVE = 1,
	KIND_KERNEL = 2,
	KIND_INTERPRETED = 3,
	KIND_JIT = 4,
};

struct frame_key {
	uint32_t frame;
	uint32_t label; /* the label of a frame without a name depends on the process */
	uint32_t function;
};

/* Labels of the tree, or UINT32_MAX: none. */
struct task_key {
	string_id group;
	string_id process; /* only in the profile of whole hosts */
	string_id thread;  /* not for the main thread */
};

#define NO_LABEL UINT32_MAX

int perfetto_tables_init(struct perfetto_tables *tables, struct bytes *out, bool total)
{
	int r;

	*tables = (struct perfetto_tables){
		.out = out,
		.text = BYTES_INIT(MIB),
		.total = total,
	};
	r = string_table_new(MAX_TEXT_BYTES, &tables->functions);
	if (r == 0)
		r = string_table_new(MAX_TEXT_BYTES, &tables->sources);
	if (r == 0)
		r = hash_table_new(sizeof(uint32_t), sizeof(uint32_t), 0, &tables->mappings);
	if (r == 0)
		r = hash_table_new(sizeof(struct frame_key), sizeof(uint32_t), 0, &tables->frames);
	if (r == 0)
		r = hash_table_new(sizeof(struct task_key), sizeof(uint32_t), 0, &tables->tasks);
	return r;
}

void perfetto_tables_release(struct perfetto_tables *tables)
{
	bytes_release(&tables->text);
	string_table_free(tables->functions);
	string_table_free(tables->sources);
	hash_table_free(tables->mappings);
	hash_table_free(tables->frames);
	hash_table_free(tables->tasks);
	vec_release(&tables->stack);
	vec_release(&tables->last_stack);
}

int perfetto_write(struct perfetto_tables *tables, Perfetto__TracePacket *packet)
{
	Perfetto__Trace trace = PERFETTO__TRACE__INIT;
	size_t size;
	int r;

	packet->has_trusted_packet_sequence_id = packet->has_sequence_flags = true;
	packet->trusted_packet_sequence_id = SEQUENCE;
	packet->sequence_flags |= NEEDS_INTERNED_DATA;
	trace.n_packet = 1;
	trace.packet = &packet;
	size = perfetto__trace__get_packed_size(&trace);
	r = bytes_reserve(tables->out, size);
	if (r == 0)
		tables->out->size +=
			perfetto__trace__pack(&trace, tables->out->data + tables->out->size);
	return r;
}

static int write_interned(struct perfetto_tables *tables, Perfetto__InternedData *data)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	packet.interned_data = data;
	return perfetto_write(tables, &packet);
}

static void set_text(Perfetto__InternedString *string, uint64_t iid, struct bytes_view text)
{
	string->has_iid = string->has_str = true;
	string->iid = iid;
	string->str = (ProtobufCBinaryData){ text.size, (uint8_t *)text.data };
}

/* Cleans @text in tables->text. */
static int clean(struct perfetto_tables *tables, const char *text)
{
	bytes_clear(&tables->text);
	return label_append(&tables->text, text, strlen(text));
}

/* Numbers a text with any bytes; "" is 0, which stands for no text. Returns 1 if it is new. */
static int number_text(struct perfetto_tables *tables, struct string_table *table, const char *text,
		       uint64_t *ret_iid)
{
	const uint32_t count = string_table_count(table);
	string_id id;
	int r = clean(tables, text);

	if (r == 0)
		r = string_table_intern(table, (const char *)tables->text.data, tables->text.size,
					&id);
	if (r < 0)
		return r == -ENOSPC ? -EFBIG : r;
	*ret_iid = id;
	return id >= count ? 1 : 0;
}

static int number_function(struct perfetto_tables *tables, const char *name, uint64_t *ret_iid)
{
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__InternedString string = PERFETTO__INTERNED_STRING__INIT, *strings = &string;
	int r = number_text(tables, tables->functions, name, ret_iid);

	if (r <= 0)
		return r;
	set_text(&string, *ret_iid, bytes_view_of(&tables->text));
	data.n_function_names = 1;
	data.function_names = &strings;
	return write_interned(tables, &data);
}

static int number_source(struct perfetto_tables *tables, const char *file, uint64_t *ret_iid)
{
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__InternedString string = PERFETTO__INTERNED_STRING__INIT, *strings = &string;
	int r = number_text(tables, tables->sources, file, ret_iid);

	if (r <= 0)
		return r;
	set_text(&string, *ret_iid, bytes_view_of(&tables->text));
	data.n_source_paths = 1;
	data.source_paths = &strings;
	return write_interned(tables, &data);
}

/* The load bias is that of the segment with @elf_addr: segments without code can have another. */
static void set_load_bias(const struct store_executable *executable, uint64_t elf_addr,
			  Perfetto__Mapping *mapping)
{
	for (uint32_t i = 0; i < executable->n_segments; i++) {
		const struct load_segment *segment = &executable->segments[i];

		if (elf_addr < segment->vaddr || elf_addr - segment->vaddr >= segment->memory_size)
			continue;
		mapping->has_load_bias = true;
		mapping->load_bias = segment->vaddr - segment->file_offset;
		return;
	}
}

/* Writes a mapping, its path and its build-ID, which have the same iid. It has no range: the trace
 * has ELF addresses, which overlap between files. */
static int write_mapping(struct perfetto_tables *tables, const struct store_executable *executable,
			 uint64_t elf_addr, uint64_t iid)
{
	const struct executable_id *identity = &executable->identity;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__InternedString path = PERFETTO__INTERNED_STRING__INIT, *paths = &path;
	Perfetto__InternedString id = PERFETTO__INTERNED_STRING__INIT, *ids = &id;
	Perfetto__Mapping mapping = PERFETTO__MAPPING__INIT, *mappings = &mapping;

	set_text(&path, iid, bytes_view_of(&tables->text));
	data.n_mapping_paths = data.n_mappings = 1;
	data.mapping_paths = &paths;
	data.mappings = &mappings;
	mapping.has_iid = true;
	mapping.iid = iid;
	mapping.n_path_string_ids = 1;
	mapping.path_string_ids = &iid;
	set_load_bias(executable, elf_addr, &mapping);
	if (identity->kind == EXECUTABLE_ID_GNU) {
		set_text(&id, iid, (struct bytes_view){ identity->bytes, identity->size });
		data.n_build_ids = 1;
		data.build_ids = &ids;
		mapping.has_build_id = true;
		mapping.build_id = iid;
	}
	return write_interned(tables, &data);
}

/* *ret_iid is 0 for a frame without an executable. */
static int number_mapping(struct perfetto_tables *tables, const struct resolved_stacks *stacks,
			  const struct store_process *process, const struct resolved_frame *frame,
			  uint64_t *ret_iid)
{
	const struct store_executable *executable = resolved_executable(stacks, frame);
	char room[FRAME_TEXT_FILE_SIZE];
	const char *name;
	uint32_t number;
	int r;

	*ret_iid = 0;
	if (!executable)
		return 0;
	r = export_number_of(tables->mappings, &executable->id, &number);
	if (r < 0)
		return r;
	*ret_iid = number + 1;
	if (r == 0)
		return 0;
	r = frame_text_file(stacks, process, executable, room, &name);
	if (r == 0)
		r = clean(tables, name);
	return r < 0 ? r
		     : write_mapping(tables, executable, frame_text_address(stacks, frame),
				     *ret_iid);
}

/* 0: it has none. */
static uint32_t kind_of(const struct resolved_stacks *stacks, const struct resolved_frame *frame)
{
	const struct frame *stored = resolved_stored(stacks, frame);

	if (!stored)
		return 0;
	if (frame_kind_is_kernel(stored->stored.kind))
		return KIND_KERNEL;
	switch (stored->stored.kind) {
	case FRAME_NATIVE:
	case FRAME_NATIVE_FILE_OFFSET:
		return KIND_NATIVE;
	case FRAME_JIT:
		return KIND_JIT;
	default:
		return frame_kind_allows(stored->stored.kind, FRAME_OBJECT_CODE) &&
				       stored->stored.kind != FRAME_IMPORTED
			       ? KIND_INTERPRETED
			       : 0;
	}
}

static int write_frame(struct perfetto_tables *tables, const struct resolved_stacks *stacks,
		       const struct store_process *process, const struct resolved_frame *frame,
		       uint64_t iid)
{
	const char *source = frame_text_source(stacks, frame);
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__Frame out = PERFETTO__FRAME__INIT, *frames = &out;
	int r = number_function(tables, frame_text_name(stacks, frame), &out.function_name_id);

	if (r == 0)
		r = number_mapping(tables, stacks, process, frame, &out.mapping_id);
	if (r == 0 && source[0])
		r = number_source(tables, source, &out.source_path_iid);
	if (r < 0)
		return r;
	out.iid = iid;
	out.rel_pc = frame_text_address(stacks, frame);
	out.line_number = frame_text_line(stacks, frame);
	out.kind = kind_of(stacks, frame);
	out.has_iid = true;
	out.has_function_name_id = out.function_name_id > 0;
	out.has_mapping_id = out.has_rel_pc = out.mapping_id > 0;
	out.has_source_path_iid = out.source_path_iid > 0;
	out.has_line_number = out.line_number > 0;
	out.has_kind = out.kind > 0;
	data.n_frames = 1;
	data.frames = &frames;
	return write_interned(tables, &data);
}

/* Adds a frame to tables->stack. */
static int add_frame(struct perfetto_tables *tables, const struct resolved_stacks *stacks,
		     const struct resolved_stack *stack, const struct resolved_frame *frame)
{
	const struct frame_key key = { frame->frame, frame->label, frame->function };
	uint32_t number;
	int r = export_number_of(tables->frames, &key, &number);

	if (r > 0)
		r = write_frame(tables, stacks, stack->group->process, frame, number + 1);
	return r < 0 ? r : vec_push(&tables->stack, number + 1);
}

/* Fills tables->stack, outermost first. The levels stand for a stack without frames. */
static int add_frames(struct perfetto_tables *tables, const struct resolved_stacks *stacks,
		      const struct resolved_stack *stack)
{
	const bool levels = stack->n_frames == 0;
	const uint32_t n = levels ? stack->group->n_levels : stack->n_frames;
	int r = 0;

	vec_clear(&tables->stack);
	for (uint32_t i = 0; i < n && r == 0; i++) {
		const struct resolved_frame frame =
			levels ? frame_text_level(stacks, stack, i) : stack->frames[n - 1 - i];

		r = add_frame(tables, stacks, stack, &frame);
	}
	return r;
}

int perfetto_number_stack(struct perfetto_tables *tables, const struct resolved_stacks *stacks,
			  const struct resolved_stack *stack, uint64_t *ret_iid)
{
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__Callstack callstack = PERFETTO__CALLSTACK__INIT, *callstacks = &callstack;
	const struct perfetto_iid_vec last = tables->last_stack;
	int r = add_frames(tables, stacks, stack);

	*ret_iid = 0;
	if (r < 0 || tables->stack.count == 0)
		return r;
	*ret_iid = tables->n_stacks;
	if (last.count == tables->stack.count &&
	    memcmp(last.items, tables->stack.items, last.count * sizeof(*last.items)) == 0)
		return 0;
	*ret_iid = ++tables->n_stacks;
	tables->last_stack = tables->stack;
	tables->stack = last;
	callstack.has_iid = true;
	callstack.iid = *ret_iid;
	callstack.n_frame_ids = tables->last_stack.count;
	callstack.frame_ids = tables->last_stack.items;
	data.n_callstacks = 1;
	data.callstacks = &callstacks;
	return write_interned(tables, &data);
}

static struct task_key task_of(const struct perfetto_tables *tables,
			       const struct resolved_stacks *stacks,
			       const struct resolved_stack *stack)
{
	struct task_key key = { NO_LABEL, NO_LABEL, NO_LABEL };

	for (uint32_t i = 0; i < stack->group->n_levels; i++) {
		const string_id label = stack->group->levels[i];

		switch (tree_label_text(stacks->tree, label)[1]) {
		case 'g':
			key.group = label;
			break;
		case 'p':
			key.process = tables->total ? label : NO_LABEL;
			break;
		case 't':
			key.thread = label;
			break;
		default:
			break;
		}
	}
	return key;
}

/* Writes the names of a process or thread, and the context of its samples with the same number. */
static int write_task(struct perfetto_tables *tables, uint32_t pid, uint32_t tid,
		      Perfetto__ProcessTree *tree)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__TaskContext context = PERFETTO__TASK_CONTEXT__INIT, *contexts = &context;

	context.has_iid = context.has_pid = context.has_tid = true;
	context.iid = context.tid = tid;
	context.pid = pid;
	data.n_stack_sample_task_contexts = 1;
	data.stack_sample_task_contexts = &contexts;
	packet.interned_data = &data;
	packet.process_tree = tree;
	return perfetto_write(tables, &packet);
}

/* Appends the text of a level without its prefix, after a blank. */
static int append_level(struct perfetto_tables *tables, const struct resolved_stacks *stacks,
			string_id label)
{
	if (label == NO_LABEL)
		return 0;
	return bytes_append_format(&tables->text, "%s%s", tables->text.size > 0 ? " " : "",
				   tree_label_text(stacks->tree, label) + strlen("[p] "));
}

/* Writes the process "nginx host=web-1" and its main thread. Perfetto cuts the name of a process
 * with one argument at the first blank, so there is a second one. */
static int write_process(struct perfetto_tables *tables, const struct resolved_stacks *stacks,
			 const struct task_key *key, uint32_t pid)
{
	Perfetto__ProcessTree tree = PERFETTO__PROCESS_TREE__INIT;
	Perfetto__Process process = PERFETTO__PROCESS__INIT, *processes = &process;
	Perfetto__Thread thread = PERFETTO__THREAD__INIT, *threads = &thread;
	char empty[] = "";
	char *arguments[] = { empty, empty };
	int r = 0;

	bytes_clear(&tables->text);
	if (key->process == NO_LABEL)
		r = bytes_append_text(&tables->text, tree_label(stacks->tree, 0));
	if (r == 0)
		r = append_level(tables, stacks, key->process);
	if (r == 0)
		r = append_level(tables, stacks, key->group);
	if (r == 0)
		r = bytes_append_byte(&tables->text, 0);
	if (r < 0)
		return r;
	process.has_pid = thread.has_tid = thread.has_tgid = true;
	process.pid = thread.tid = thread.tgid = (int32_t)pid;
	thread.name = arguments[0] = (char *)tables->text.data;
	process.n_cmdline = ARRAY_SIZE(arguments);
	process.cmdline = arguments;
	tree.n_processes = tree.n_threads = 1;
	tree.processes = &processes;
	tree.threads = &threads;
	return write_task(tables, pid, pid, &tree);
}

static int write_thread(struct perfetto_tables *tables, const struct resolved_stacks *stacks,
			string_id label, uint32_t pid, uint32_t tid)
{
	Perfetto__ProcessTree tree = PERFETTO__PROCESS_TREE__INIT;
	Perfetto__Thread thread = PERFETTO__THREAD__INIT, *threads = &thread;

	thread.has_tid = thread.has_tgid = true;
	thread.tid = (int32_t)tid;
	thread.tgid = (int32_t)pid;
	thread.name = (char *)tree_label_text(stacks->tree, label) + strlen("[t] ");
	tree.n_threads = 1;
	tree.threads = &threads;
	return write_task(tables, pid, tid, &tree);
}

int perfetto_number_task(struct perfetto_tables *tables, const struct resolved_stacks *stacks,
			 const struct resolved_stack *stack, uint64_t *ret_iid)
{
	const struct task_key key = task_of(tables, stacks, stack);
	const struct task_key main_thread = { key.group, key.process, NO_LABEL };
	uint32_t pid, tid;
	int r = export_number_of(tables->tasks, &main_thread, &pid);

	if (r > 0)
		r = write_process(tables, stacks, &key, pid + 1);
	if (r == 0)
		r = export_number_of(tables->tasks, &key, &tid);
	if (r < 0)
		return r;
	*ret_iid = tid + 1;
	return r == 0 ? 0 : write_thread(tables, stacks, key.thread, pid + 1, tid + 1);
}
