/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each segment of the head takes some KiB, however few rows it has. A batch with rows in many hours
 * and processes could make a segment of each row.
 */

#include <string.h>

#include "common/scoped.h"
#include "symbolizer/store/head/head_private.h"

/* What makes a segment, within one tenant. */
struct lane_name {
	struct hash128 service, event, unit;
	uint64_t range;
	uint64_t event_kind;
};

struct lane_count {
	const struct numbers *numbers;
	uint64_t slots_per_segment;
	struct hash_table *names; /* set of struct lane_name */
};

/* Whether rows[@i] begins a run of rows of one series and range. */
static bool begins_run(const struct batch *batch, uint32_t i, uint64_t slots_per_segment)
{
	const struct batch_row *row = &batch->rows[i];

	return i == 0 || row->series != row[-1].series ||
	       row->slot / slots_per_segment != row[-1].slot / slots_per_segment;
}

static size_t count_runs(const struct batch *batch, uint64_t slots_per_segment)
{
	size_t n = 0;

	for (uint32_t i = 0; i < batch->n_rows; i++)
		n += begins_run(batch, i, slots_per_segment);
	return n;
}

static struct hash128 hash_text(const char *text)
{
	return hash128_of(text, strlen(text));
}

static int add_name(struct lane_count *count, const struct batch_row *row)
{
	const struct batch_series *series = numbers_series(count->numbers, row->series);
	const struct numbers_process *process = numbers_process(count->numbers, series->process);
	const struct event_type_info *known = event_type_info(series->type);
	const struct batch_event_type *described = series->described;
	struct lane_name name = { .range = row->slot / count->slots_per_segment };

	/* An empty definition, whose rows are skipped. */
	if (!process || (!described && !known))
		return 0;
	name.service = hash_text(process->process.name);
	name.event = hash_text(described ? described->name : known->name);
	name.unit = hash_text(described ? described->unit : known->unit);
	name.event_kind = described ? described->kind : known->kind;
	return MIN(hash_table_insert(count->names, &name, NULL), 0);
}

int lanes_exceed(const struct numbers *numbers, const struct batch *batch,
		 uint64_t slots_per_segment)
{
	scoped(hash_table_freep) struct hash_table *names = NULL;
	struct lane_count count = { .numbers = numbers, .slots_per_segment = slots_per_segment };
	int r;

	/* Those of an agent with few processes, as almost all are. */
	if (count_runs(batch, slots_per_segment) <= MAX_BATCH_LANES)
		return 0;
	r = hash_table_new(sizeof(struct lane_name), 0, MAX_BATCH_LANES, &names);
	count.names = names;
	for (uint32_t i = 0; i < batch->n_rows && r == 0; i++)
		if (begins_run(batch, i, slots_per_segment))
			r = add_name(&count, &batch->rows[i]);
	return r == -ENOSPC ? 1 : r;
}
