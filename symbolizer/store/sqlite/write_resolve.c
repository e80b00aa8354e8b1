/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each number that a batch mentions gets one entry in a table: defined in the batch, known from
 * earlier batches, or missing. The rows are read once. Runs (one per series) and ordinals of the
 * distinct stacks describe them afterwards, so that no later step looks up a number per row.
 */

#include "symbolizer/store/sqlite/write.h"

struct batch_number {
	uint32_t kind;
	uint32_t number;
};

void write_release(struct write *write)
{
	(void)hash_table_free(write->numbers);
	for (size_t i = 0; i < ARRAY_SIZE(write->missing); i++)
		vec_release(&write->missing[i]);
	vec_release(&write->runs);
	vec_release(&write->stack_numbers);
	vec_release(&write->learned);
}

struct number_entry *write_number(const struct write *write, enum number_kind kind, uint32_t number)
{
	struct batch_number key = { .kind = kind, .number = number };

	return hash_table_find(write->numbers, &key);
}

/* Returns 1 if added, 0 if the table has it already. */
static int add_number(struct write *write, enum number_kind kind, uint32_t number,
		      struct number_entry **ret_entry)
{
	struct batch_number key = { .kind = kind, .number = number };

	return hash_table_insert(write->numbers, &key, (void **)ret_entry);
}

static int look_up(struct write *write, enum number_kind kind, uint32_t number, uint64_t *ret_id)
{
	return agent_number(write->writer->agents, write->hearth, write->agent, kind, number,
			    ret_id);
}

static int define_number(struct write *write, enum number_kind kind, uint32_t number)
{
	struct number_entry *entry;
	int r;

	r = add_number(write, kind, number, &entry);
	if (r <= 0)
		return r;
	r = look_up(write, kind, number, &entry->id);
	entry->known = r > 0;
	return r < 0 ? r : 0;
}

/* Looks up a reference. A number that is neither known nor defined here is missing. */
static int use_number(struct write *write, enum number_kind kind, uint32_t number,
		      struct number_entry **ret_entry)
{
	struct number_entry *entry;
	int r;

	r = add_number(write, kind, number, &entry);
	if (r < 0)
		return r;
	*ret_entry = entry;
	if (r == 0)
		return 0;
	r = look_up(write, kind, number, &entry->id);
	if (r < 0)
		return r;
	entry->known = r > 0;
	return entry->known ? 0 : vec_push(&write->missing[kind], number);
}

static int use_executable(struct write *write, uint32_t number)
{
	struct number_entry *entry;

	return number == 0 ? 0 : use_number(write, NUMBER_EXECUTABLE, number, &entry);
}

static int use_object(struct write *write, uint32_t object)
{
	struct number_entry *entry;

	if (object & FRAME_CODE_OBJECT)
		return use_number(write, NUMBER_CODE_OBJECT, object & ~FRAME_CODE_OBJECT, &entry);
	return use_executable(write, object);
}

static int collect_definitions(struct write *write)
{
	const struct batch *batch = write->batch;
	int r = 0;

	for (uint32_t i = 0; i < batch->n_executables && r == 0; i++)
		r = define_number(write, NUMBER_EXECUTABLE, batch->executables[i].number);
	for (uint32_t i = 0; i < batch->n_processes && r == 0; i++)
		r = define_number(write, NUMBER_PROCESS, batch->processes[i].number);
	for (uint32_t i = 0; i < batch->n_series && r == 0; i++)
		r = define_number(write, NUMBER_SERIES, batch->series[i].number);
	for (uint32_t i = 0; i < batch->n_code_objects && r == 0; i++)
		r = define_number(write, NUMBER_CODE_OBJECT, batch->code_objects[i].number);
	for (uint32_t i = 0; i < batch->n_stacks && r == 0; i++)
		r = define_number(write, NUMBER_STACK, batch->stacks[i].number);
	return r;
}

static int use_numbers_of_definitions(struct write *write)
{
	const struct batch *batch = write->batch;
	struct number_entry *entry;
	uint32_t last = 0;
	int r = 0;

	for (uint32_t i = 0; i < batch->n_processes && r == 0; i++) {
		r = use_executable(write, batch->processes[i].main_executable);
		for (uint32_t k = 0; k < batch->processes[i].n_paths && r == 0; k++)
			r = use_executable(write, batch->processes[i].paths[k].executable);
	}
	for (uint32_t i = 0; i < batch->n_series && r == 0; i++)
		if (batch->series[i].process != 0)
			r = use_number(write, NUMBER_PROCESS, batch->series[i].process, &entry);
	for (uint32_t i = 0; i < batch->n_stacks && r == 0; i++)
		for (uint32_t k = 0; k < batch->stacks[i].n_frames && r == 0; k++) {
			uint32_t object = batch->stacks[i].frames[k].object;

			/* Most frames have the same executable as their neighbour. */
			if (object != last)
				r = use_object(write, object);
			last = object;
		}
	return r;
}

static int use_stack(struct write *write, uint32_t number, uint32_t *ret_ordinal)
{
	struct number_entry *entry;
	int r;

	r = number ? use_number(write, NUMBER_STACK, number, &entry)
		   : add_number(write, NUMBER_STACK, 0, &entry);
	if (r < 0)
		return r;
	if (entry->ordinal_plus_one == 0) {
		r = vec_push(&write->stack_numbers, number);
		if (r < 0)
			return r;
		entry->ordinal_plus_one = (uint32_t)write->stack_numbers.count;
	}
	*ret_ordinal = entry->ordinal_plus_one - 1;
	return 0;
}

static int start_run(struct write *write, uint32_t first)
{
	uint32_t number = write->batch->rows[first].series;
	struct number_entry *entry;
	int r;

	r = use_number(write, NUMBER_SERIES, number, &entry);
	if (r < 0)
		return r;
	return vec_push(&write->runs, (struct row_run){ .number = number, .first = first });
}

static int use_numbers_of_rows(struct write *write)
{
	const struct batch *batch = write->batch;
	int r;

	write->row_stack =
		arena_alloc_array(write->scratch, batch->n_rows, sizeof(*write->row_stack));
	if (!write->row_stack)
		return -ENOMEM;
	for (uint32_t i = 0; i < batch->n_rows; i++) {
		const struct batch_row *row = &batch->rows[i];

		if (i == 0 || row->series != row[-1].series) {
			r = start_run(write, i);
			if (r < 0)
				return r;
		}
		write->runs.items[write->runs.count - 1].count++;
		r = use_stack(write, row->stack, &write->row_stack[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int write_resolve(struct write *write)
{
	int r;

	r = hash_table_new(sizeof(struct batch_number), sizeof(struct number_entry), 0,
			   &write->numbers);
	if (r == 0)
		r = collect_definitions(write);
	if (r == 0)
		r = use_numbers_of_definitions(write);
	if (r == 0)
		r = use_numbers_of_rows(write);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(write->missing); i++)
		if (write->missing[i].count > 0)
			return 0;
	return 1;
}

static int compare_runs(const void *a, const void *b)
{
	const struct row_run *left = a;
	const struct row_run *right = b;

	if (left->series != right->series)
		return left->series < right->series ? -1 : 1;
	return left->first < right->first ? -1 : left->first > right->first;
}

void write_update_cache(const struct write *write)
{
	struct agent *agent = write->agent;

	agent->epoch_id = write->epoch_id;
	agent->host = write->host;
	agent->host_attributes = write->host_attributes;
	agent->host_saved_ns = write->host_saved_ns;
	agent->epoch_saved_ns = write->epoch_saved_ns;
	for (size_t i = 0; i < write->learned.count; i++)
		agent_remember(write->writer->agents, agent, write->learned.items[i].kind,
			       write->learned.items[i].number, write->learned.items[i].id);
}

int write_apply(struct write *write)
{
	for (size_t i = 0; i < write->runs.count; i++)
		write->runs.items[i].series =
			(uint32_t)write_number(write, NUMBER_SERIES, write->runs.items[i].number)
				->id;
	if (write->runs.count > 0)
		qsort(write->runs.items, write->runs.count, sizeof(struct row_run), compare_runs);

	write->stack_ids =
		arena_alloc_array(write->scratch, write->stack_numbers.count, sizeof(uint64_t));
	if (!write->stack_ids)
		return -ENOMEM;
	for (size_t i = 0; i < write->stack_numbers.count; i++)
		write->stack_ids[i] =
			write_number(write, NUMBER_STACK, write->stack_numbers.items[i])->id;
	return 0;
}
