/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof: proto/profile.proto, compressed with gzip. A location is a frame with the functions
 * inlined at its address. Its address is the ELF address: the mapping of an executable begins at
 * its lowest one, as if it were loaded there.
 */

#include <stdlib.h>
#include <string.h>

#include "symbolizer/export/pprof_tables.h"

/* A sample has a label for the thread, one of group_by, and one for the service. */
#define MAX_LABELS 4

VEC_DEFINE(id_vec, uint64_t);

struct pprof_writer {
	const struct export_selection *selection;
	struct pprof_tables tables;
	struct id_vec locations_of_stack;
};

/* The type of values in pprof, which its tools know by these names. */
static const char *type_name(const struct event_type_info *event)
{
	switch (event->type) {
	case EVENT_ON_CPU:
		return "cpu";
	case EVENT_MEM_ALLOC:
		return "alloc_space";
	case EVENT_MEM_INUSE:
		return "inuse_space";
	default:
		return event->name;
	}
}

static int number_type(struct pprof_writer *writer, Pprof__ValueType *type)
{
	const struct event_type_info *event = writer->selection->event;
	int r;

	r = pprof_number_any_text(&writer->tables, type_name(event), &type->type);
	return r < 0 ? r
		     : pprof_number_any_text(&writer->tables, export_unit_name(event), &type->unit);
}

static int write_head(struct pprof_writer *writer)
{
	const struct export_selection *selection = writer->selection;
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	Pprof__ValueType type = PPROF__VALUE_TYPE__INIT;
	Pprof__ValueType *types[] = { &type };
	char empty[] = "";
	char *table[] = { empty };
	int r;

	piece.n_string_table = 1;
	piece.string_table = table;
	r = pprof_write_piece(&writer->tables, &piece);
	if (r == 0)
		r = number_type(writer, &type);
	if (r < 0)
		return r;
	piece = (Pprof__Profile)PPROF__PROFILE__INIT;
	piece.n_sample_type = 1;
	piece.sample_type = types;
	piece.time_nanos = (int64_t)selection->since_wall_ns;
	piece.duration_nanos = (int64_t)(selection->until_wall_ns - selection->since_wall_ns);
	return pprof_write_piece(&writer->tables, &piece);
}

static void pprof_free(void *arg)
{
	struct pprof_writer *writer = arg;

	if (!writer)
		return;
	pprof_tables_release(&writer->tables);
	vec_release(&writer->locations_of_stack);
	free(writer);
}

static int pprof_begin(const struct export_selection *selection, struct bytes *out,
		       void **ret_writer)
{
	struct pprof_writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return -ENOMEM;
	writer->selection = selection;
	r = pprof_tables_init(&writer->tables, out);
	if (r == 0)
		r = write_head(writer);
	if (r < 0)
		pprof_free(writer);
	else
		*ret_writer = writer;
	return r;
}

/* Returns the number of functions that are inlined at the address of the frame, and itself. */
static uint32_t count_lines(const struct resolved_frame *frames, uint32_t n_frames)
{
	uint32_t count = 1;

	while (count < n_frames && frames[count - 1].inlined)
		count++;
	return count;
}

/* Adds the location of a frame to the stack. frames[0] is its innermost function. */
static int add_location(struct pprof_writer *writer, const struct resolved_stacks *stacks,
			const struct resolved_stack *stack, const struct resolved_frame *frames,
			uint32_t n_functions)
{
	const struct pprof_frame frame = { frames, n_functions };
	uint64_t id;
	int r;

	r = pprof_number_location(&writer->tables, stacks, stack->group->process, &frame, &id);
	return r < 0 ? r : vec_push(&writer->locations_of_stack, id);
}

/* A stack without frames is the time of a thread: its levels are shown instead. */
static int add_levels(struct pprof_writer *writer, const struct resolved_stacks *stacks,
		      const struct resolved_stack *stack)
{
	for (uint32_t i = stack->group->n_levels; i-- > 0;) {
		const struct resolved_frame frame = frame_text_level(stacks, stack, i);
		int r = add_location(writer, stacks, stack, &frame, 1);

		if (r < 0)
			return r;
	}
	return 0;
}

static int add_locations(struct pprof_writer *writer, const struct resolved_stacks *stacks,
			 const struct resolved_stack *stack)
{
	vec_clear(&writer->locations_of_stack);
	if (stack->n_frames == 0)
		return add_levels(writer, stacks, stack);
	for (uint32_t i = 0; i < stack->n_frames;) {
		uint32_t n_lines = count_lines(stack->frames + i, stack->n_frames - i);
		int r = add_location(writer, stacks, stack, stack->frames + i, n_lines);

		if (r < 0)
			return r;
		i += n_lines;
	}
	return 0;
}

/* The labels of a sample. */
struct sample_labels {
	Pprof__Label items[MAX_LABELS];
	Pprof__Label *pointers[MAX_LABELS];
	size_t count;
};

static int add_label(struct pprof_writer *writer, struct sample_labels *labels, const char *name,
		     size_t name_length, const char *value)
{
	Pprof__Label *label = &labels->items[labels->count];
	int r;

	assert(labels->count < MAX_LABELS);
	pprof__label__init(label);
	r = pprof_number_text(&writer->tables, name, name_length, &label->key);
	if (r == 0)
		r = pprof_number_any_text(&writer->tables, value, &label->str);
	labels->pointers[labels->count++] = label;
	return r;
}

/* Adds a label for a level of the tree: "[t] worker" or "[g] host=web-1". */
static int add_level_label(struct pprof_writer *writer, struct sample_labels *labels,
			   const char *level)
{
	const char *text = level + strlen("[t] ");
	const char *equals = strchr(text, '=');

	if (level[1] == 't' || level[1] == 'p')
		return add_label(writer, labels, "thread", strlen("thread"), text);
	if (level[1] != 'g' || !equals)
		return 0;
	return add_label(writer, labels, text, (size_t)(equals - text), equals + 1);
}

static int make_labels(struct pprof_writer *writer, const struct resolved_stacks *stacks,
		       const struct resolved_stack *stack, struct sample_labels *labels)
{
	const char *service = writer->selection->service;
	int r = 0;

	/* Stacks of whole hosts have no frames, and their levels are shown instead. */
	for (uint32_t i = 0; i < stack->group->n_levels && stack->n_frames > 0 && r == 0; i++)
		r = add_level_label(writer, labels,
				    tree_label_text(stacks->tree, stack->group->levels[i]));
	if (r == 0 && service)
		r = add_label(writer, labels, "service", strlen("service"), service);
	return r;
}

static int pprof_add(void *arg, const struct resolved_stacks *stacks,
		     const struct resolved_stack *stack)
{
	struct pprof_writer *writer = arg;
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	Pprof__Sample sample = PPROF__SAMPLE__INIT;
	Pprof__Sample *samples[] = { &sample };
	int64_t value = (int64_t)MIN(stack->value, (uint64_t)INT64_MAX);
	struct sample_labels labels = {};
	int r;

	r = add_locations(writer, stacks, stack);
	if (r == 0)
		r = make_labels(writer, stacks, stack, &labels);
	if (r < 0)
		return r;
	sample.n_location_id = writer->locations_of_stack.count;
	sample.location_id = writer->locations_of_stack.items;
	sample.n_value = 1;
	sample.value = &value;
	sample.n_label = labels.count;
	sample.label = labels.pointers;
	piece.n_sample = 1;
	piece.sample = samples;
	return pprof_write_piece(&writer->tables, &piece);
}

/* Writes a comment, unless it is empty. */
static int write_comment(struct pprof_writer *writer, const char *text)
{
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	int64_t comment;
	int r;

	if (!text || !text[0])
		return 0;
	r = pprof_number_any_text(&writer->tables, text, &comment);
	if (r < 0)
		return r;
	piece.n_comment = 1;
	piece.comment = &comment;
	return pprof_write_piece(&writer->tables, &piece);
}

static int pprof_end(void *arg, const struct export_result *result)
{
	struct pprof_writer *writer = arg;
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	Pprof__ValueType type = PPROF__VALUE_TYPE__INIT;
	int r;

	r = write_comment(writer, writer->selection->filter);
	if (r == 0)
		r = write_comment(writer, result->message);
	if (r == 0)
		r = number_type(writer, &type);
	if (r < 0)
		return r;
	if (result->period_ns > 0) {
		piece.period_type = &type;
		piece.period = (int64_t)MIN(result->period_ns, (uint64_t)INT64_MAX);
	}
	r = pprof_write_piece(&writer->tables, &piece);
	return r < 0 ? r : pprof_tables_finish(&writer->tables);
}

static const struct export_stack_operations operations = {
	.begin = pprof_begin,
	.add = pprof_add,
	.end = pprof_end,
	.free = pprof_free,
};

const struct export_writer export_pprof = { .stacks = &operations };
