/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A definition is added to a segment with all that it refers to. The rows of definitions that
 * agents number are remembered, so that each is added once for each agent. The builder recognizes
 * equal definitions of different agents.
 */

#include <string.h>

#include "common/scoped.h"
#include "symbolizer/store/head/head_private.h"

/*
 * Finds the row of a number. Returns 1 if found. Returns 0 if not: then the caller sets **ret_row.
 */
static int find_row(struct lane *lane, const struct lane_key *key, uint64_t **ret_row)
{
	int r = hash_table_insert(lane->rows, key, (void **)ret_row);

	return r < 0 ? r : **ret_row > 0;
}

/* A row is only remembered once it exists. */
static int remember(struct lane *lane, const struct lane_key *key, uint64_t row, uint64_t *ret_row)
{
	uint64_t *slot;
	int r = hash_table_insert(lane->rows, key, (void **)&slot);

	if (r < 0)
		return r;
	*slot = row;
	*ret_row = row;
	return 0;
}

static int add_text(struct lane *lane, const char *text, uint64_t *ret_row)
{
	return segment_builder_text(lane->builder, text, strlen(text), ret_row);
}

/* *ret_list is 0 for none, else the row + 1. */
static int add_labels(struct lane *lane, const struct label *labels, uint32_t count,
		      uint64_t *ret_list)
{
	uint64_t list = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t values[] = { list, 0, 0 };
		int r = add_text(lane, labels[i].name, &values[1]);

		if (r == 0)
			r = add_text(lane, labels[i].value, &values[2]);
		if (r == 0)
			r = segment_builder_add(lane->builder, SEGMENT_LABEL, values, &list);
		if (r < 0)
			return r;
		list++;
	}
	*ret_list = list;
	return 0;
}

static int add_executable(struct lane *lane, const struct batch_executable *executable,
			  uint64_t *ret_row)
{
	scoped(bytes_release) struct bytes segments = BYTES_INIT(4 * KIB);
	uint64_t values[] = { executable->id.kind, 0, 0, executable->role, 0 };
	int r;

	for (uint32_t i = 0; i < executable->n_segments; i++) {
		(void)bytes_append_varint(&segments, executable->segments[i].file_offset);
		(void)bytes_append_varint(&segments, executable->segments[i].vaddr);
		(void)bytes_append_varint(&segments, executable->segments[i].file_size);
	}
	r = bytes_error(&segments);
	if (r == 0)
		r = segment_builder_text(lane->builder, executable->id.bytes, executable->id.size,
					 &values[1]);
	if (r == 0)
		r = add_text(lane, executable->name, &values[2]);
	if (r == 0)
		r = segment_builder_text(lane->builder, segments.data, segments.size, &values[4]);
	return r < 0 ? r : segment_builder_add(lane->builder, SEGMENT_OBJECT, values, ret_row);
}

static void append_text(struct bytes *bytes, const char *text)
{
	(void)bytes_append_varint(bytes, strlen(text));
	(void)bytes_append_text(bytes, text);
}

/* ATTRIBUTES: language, qualified name, file (length and bytes each), first line, line table. */
static int add_code_object(struct lane *lane, const struct batch_code_object *code,
			   uint64_t *ret_row)
{
	scoped(bytes_release) struct bytes attributes = BYTES_INIT(SEGMENT_MAX_TEXT_BYTES);
	uint64_t values[] = { SEGMENT_CODE_OBJECT, 0, 0, 0, 0 };
	int r;

	append_text(&attributes, code->language);
	append_text(&attributes, code->qualified_name);
	append_text(&attributes, code->file);
	(void)bytes_append_varint(&attributes, code->first_line);
	(void)bytes_append(&attributes, code->line_table.data, code->line_table.size);
	r = bytes_error(&attributes);
	if (r == 0)
		r = segment_builder_text(lane->builder, &code->hash, sizeof(code->hash),
					 &values[1]);
	if (r == 0)
		r = add_text(lane, code->function, &values[2]);
	if (r == 0)
		r = segment_builder_text(lane->builder, attributes.data, attributes.size,
					 &values[4]);
	return r < 0 ? r : segment_builder_add(lane->builder, SEGMENT_OBJECT, values, ret_row);
}

static int add_known_object(struct lane *lane, const struct lane_key *key,
			    const struct numbers_object *object, uint64_t *ret_row)
{
	uint64_t *known;
	uint64_t row;
	int r;

	r = find_row(lane, key, &known);
	if (r > 0)
		*ret_row = *known;
	if (r != 0)
		return MIN(r, 0);
	r = key->number & FRAME_CODE_OBJECT ? add_code_object(lane, &object->code, &row)
					    : add_executable(lane, &object->executable, &row);
	return r < 0 ? r : remember(lane, key, row + 1, ret_row);
}

/* *ret_row is 0 for none, else the row of OBJECT + 1. */
static int add_object(struct lane *lane, const struct lane_agent *agent, uint32_t number,
		      uint64_t *ret_row)
{
	struct lane_key key = { .epoch = agent->epoch, .table = SEGMENT_OBJECT, .number = number };
	const struct numbers_object *object;
	int r;

	*ret_row = 0;
	if (number == 0)
		return 0;
	if (lane->last_object_row && lane->last_object.number == number &&
	    lane->last_object.epoch == agent->epoch) {
		*ret_row = lane->last_object_row;
		return 0;
	}
	object = numbers_object(agent->numbers, number);
	if (!object)
		return 0;
	r = add_known_object(lane, &key, object, ret_row);
	if (r == 0) {
		lane->last_object = key;
		lane->last_object_row = *ret_row;
	}
	return r;
}

static int add_paths(struct lane *lane, const struct lane_agent *agent,
		     const struct batch_process *process, uint64_t *ret_list)
{
	uint64_t list = 0;

	for (uint32_t i = 0; i < process->n_paths; i++) {
		uint64_t values[] = { list, 0, 0 };
		int r = add_object(lane, agent, process->paths[i].executable, &values[1]);

		if (r == 0 && values[1] == 0)
			continue;
		values[1]--;
		if (r == 0)
			r = add_text(lane, process->paths[i].path, &values[2]);
		if (r == 0)
			r = segment_builder_add(lane->builder, SEGMENT_PATH, values, &list);
		if (r < 0)
			return r;
		list++;
	}
	*ret_list = list;
	return 0;
}

static int add_host(struct lane *lane, const struct lane_agent *agent, uint64_t *ret_row)
{
	const struct batch_host *host = &agent->numbers->host;
	uint64_t values[3];
	int r;

	r = segment_builder_text(lane->builder, &agent->id, sizeof(agent->id), &values[0]);
	if (r == 0)
		r = add_text(lane, host->name, &values[1]);
	if (r == 0)
		r = add_labels(lane, host->labels, host->n_labels, &values[2]);
	return r < 0 ? r : segment_builder_add(lane->builder, SEGMENT_HOST, values, ret_row);
}

/* Bits of PROCESS.FLAGS. */
static uint64_t process_flags(const struct batch_process *process)
{
	return (process->kernel_thread ? SEGMENT_KERNEL_THREAD : 0) |
	       (process->without_stacks ? SEGMENT_WITHOUT_STACKS : 0);
}

static int add_new_process(struct lane *lane, const struct lane_agent *agent,
			   const struct batch_process *process, uint64_t *ret_row)
{
	uint64_t values[] = { 0,
			      process->start_time_ns,
			      process->pid,
			      process->parent_pid,
			      0,
			      0,
			      0,
			      process_flags(process),
			      0,
			      0 };
	int r;

	r = add_host(lane, agent, &values[0]);
	if (r == 0)
		r = add_text(lane, process->name, &values[4]);
	if (r == 0)
		r = add_text(lane, process->executable_path, &values[5]);
	if (r == 0)
		r = add_object(lane, agent, process->main_executable, &values[6]);
	if (r == 0)
		r = add_paths(lane, agent, process, &values[8]);
	if (r == 0)
		r = add_labels(lane, process->labels, process->n_labels, &values[9]);
	return r < 0 ? r : segment_builder_add(lane->builder, SEGMENT_PROCESS, values, ret_row);
}

static int add_process(struct lane *lane, const struct lane_agent *agent, uint32_t number,
		       const struct numbers_process *process, uint64_t *ret_row)
{
	const struct lane_key key = { .epoch = agent->epoch,
				      .table = SEGMENT_PROCESS,
				      .number = number,
				      .version = process->version };
	uint64_t *known;
	int r;

	lane->has_stacks |= !process->process.without_stacks;
	r = find_row(lane, &key, &known);
	if (r > 0)
		*ret_row = *known - 1;
	if (r != 0)
		return MIN(r, 0);
	r = add_new_process(lane, agent, &process->process, ret_row);
	if (r < 0)
		return r;
	r = remember(lane, &key, *ret_row + 1, ret_row);
	--*ret_row;
	return r;
}

int lane_add_series(struct lane *lane, const struct lane_agent *agent, uint32_t number,
		    uint64_t *ret_row)
{
	const struct batch_series *series = numbers_series(agent->numbers, number);
	const struct numbers_process *process = numbers_process(agent->numbers, series->process);
	const struct lane_key key = { .epoch = agent->epoch,
				      .table = SEGMENT_SERIES,
				      .number = number,
				      .version = process->version };
	const uint32_t cpu_plus_one = (uint32_t)(series->cpu + 1);
	uint64_t values[] = { 0, series->tid, 0, cpu_plus_one, series->period_ns, 0 };
	uint64_t *known;
	uint64_t row;
	int r;

	r = find_row(lane, &key, &known);
	if (r > 0)
		*ret_row = *known;
	if (r != 0)
		return MIN(r, 0);
	r = add_process(lane, agent, series->process, process, &values[0]);
	if (r == 0)
		r = add_text(lane, series->thread_name, &values[2]);
	if (r == 0)
		r = add_labels(lane, series->labels, series->n_labels, &values[5]);
	if (r == 0)
		r = segment_builder_add(lane->builder, SEGMENT_SERIES, values, &row);
	return r < 0 ? r : remember(lane, &key, row + 1, ret_row);
}

/*
 * Adds a frame of format 1, which has a name instead of an object. *ret_object is 0 for none, else
 * the row + 1.
 */
static int add_named(struct lane *lane, const struct lane_agent *agent, uint64_t key,
		     uint64_t *ret_object)
{
	const char *name = numbers_name(agent->numbers, key);
	uint64_t values[] = { SEGMENT_NAMED_FRAME, 0, 0, 0, 0 };
	int r;

	if (!name)
		return 0;
	r = segment_builder_text(lane->builder, &key, sizeof(key), &values[1]);
	if (r == 0)
		r = add_text(lane, name, &values[2]);
	if (r == 0)
		r = segment_builder_add(lane->builder, SEGMENT_OBJECT, values, ret_object);
	if (r == 0)
		++*ret_object;
	return r;
}

static int add_node(struct lane *lane, const struct lane_agent *agent, uint32_t node,
		    uint64_t parent_row, uint64_t *ret_row)
{
	const struct numbers_node *frame = &agent->numbers->nodes.items[node - 1];
	uint64_t values[] = { frame->kind, 0, frame->address };
	uint64_t node_values[] = { parent_row, 0 };
	int r;

	r = add_object(lane, agent, frame->object, &values[1]);
	if (r == 0 && frame->object == 0 && frame->kind == FRAME_KERNEL_NAMED)
		r = add_named(lane, agent, frame->address, &values[1]);
	if (r == 0)
		r = segment_builder_add(lane->builder, SEGMENT_FRAME, values, &node_values[1]);
	return r < 0 ? r : segment_builder_add(lane->builder, SEGMENT_NODE, node_values, ret_row);
}

/* A head has fewer than 2^32 epochs. */
static uint64_t node_key(const struct lane_agent *agent, uint32_t node)
{
	return agent->epoch << 32 | node;
}

/* Adds the nodes from the last one that the segment has to @leaf. *ret_row: row + 1, or 0. */
static int add_nodes(struct lane *lane, const struct lane_agent *agent, uint32_t leaf,
		     uint64_t *ret_row)
{
	uint32_t missing[STACK_MAX_FRAMES];
	uint32_t n_missing = 0;
	uint64_t row = 0;

	for (uint32_t node = leaf; node; node = agent->numbers->nodes.items[node - 1].parent) {
		const uint32_t *known = id_map_find(&lane->nodes, node_key(agent, node));

		if (known) {
			row = *known;
			break;
		}
		missing[n_missing++] = node;
	}
	for (; n_missing > 0; n_missing--) {
		const uint32_t node = missing[n_missing - 1];
		int r = add_node(lane, agent, node, row, &row);

		row++;
		if (r == 0)
			r = id_map_set(&lane->nodes, node_key(agent, node), (uint32_t)row);
		if (r < 0)
			return r;
	}
	*ret_row = row;
	return 0;
}

static int add_new_stack(struct lane *lane, const struct lane_agent *agent,
			 const struct numbers_stack *stack, uint64_t *ret_row)
{
	uint64_t values[] = { 0, stack->cut };
	int r = add_nodes(lane, agent, stack->leaf, &values[0]);

	return r < 0 ? r : segment_builder_add(lane->builder, SEGMENT_STACK, values, ret_row);
}

int lane_add_stack(struct lane *lane, const struct lane_agent *agent, uint32_t number,
		   uint64_t *ret_row)
{
	struct numbers_stack *stack = numbers_stack(agent->numbers, number);
	uint32_t *row;
	int r = hash_table_insert(lane->stacks, stack_content(agent->numbers, agent->seeds, stack),
				  (void **)&row);

	if (r < 0)
		return r;
	/* 0 also after an error. */
	if (*row == 0) {
		r = add_new_stack(lane, agent, stack, ret_row);
		if (r < 0)
			return r;
		*row = (uint32_t)*ret_row + 1;
	}
	*ret_row = *row;
	return 0;
}
