/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All numbers of a batch are checked before the first row is added, so that a batch with unknown
 * numbers changes nothing. Rows are sorted by series, so the segment and the series are looked up
 * once for each run of rows.
 */

#include "symbolizer/store/head/head.h"

#include <string.h>

#include "common/scoped.h"
#include "common/string_table.h"
#include "symbolizer/store/head/agents.h"
#include "symbolizer/store/head/head_private.h"

/* One segment. Names are IDs of head->names. */
struct segment_key {
	uint64_t range; /* slot / slots_per_segment */
	string_id tenant, service, event, unit;
	uint32_t event_kind, zero;
};

struct head {
	struct head_options options;
	struct agents *agents;
	struct hash_table *lanes; /* struct segment_key -> struct lane */
	struct string_table *names;
	uint64_t n_lanes;
	struct stack_seeds seeds;
};

/*
 * Texts of tenants, services and event types. The head is full at half of it: one batch adds at
 * most the texts of its epoch's definitions. They are dropped when the last segment is taken.
 */
#define MAX_NAME_BYTES  (64 * MIB)
#define FULL_NAME_BYTES (MAX_NAME_BYTES / 2)

/*
 * A segment that is half full makes the head full. One batch adds at most MAX_BATCH_ROWS rows and
 * the definitions of its epoch, so no table gets full in the middle of a batch.
 */
#define FULL_SEGMENT_ROWS       (SEGMENT_MAX_ROWS / 2)
#define FULL_SEGMENT_TEXT_BYTES (SEGMENT_MAX_TEXT_BYTES / 2)

/* The samples of 256 CPUs at 99 Hz for 5 s are 130 000. */
#define MAX_BATCH_ROWS (SEGMENT_MAX_ROWS / 2)

int head_new(const struct head_options *options, struct head **ret_head)
{
	const struct agents_options agents = {
		.max_numbers_bytes = options->max_numbers_bytes,
		.max_agents = options->max_agents,
		.max_all_numbers_bytes = options->max_all_numbers_bytes,
		.seed = options->seed,
	};
	scoped(head_freep) struct head *head = calloc(1, sizeof(*head));

	if (!head)
		return -ENOMEM;
	head->options = *options;
	head->seeds = (struct stack_seeds){ { hash_seed(), hash_seed() } };
	if (agents_new(&agents, &head->agents) < 0 ||
	    hash_table_new(sizeof(struct segment_key), sizeof(struct lane), 0, &head->lanes) < 0 ||
	    string_table_new(MAX_NAME_BYTES, &head->names) < 0)
		return -ENOMEM;
	*ret_head = take_ptr(head);
	return 0;
}

static void lane_release(struct lane *lane)
{
	lane->builder = segment_builder_free(lane->builder);
	lane->rows = hash_table_free(lane->rows);
	lane->stacks = hash_table_free(lane->stacks);
	id_map_release(&lane->nodes);
}

struct head *head_free(struct head *head)
{
	struct lane *lane;
	size_t cursor = 0;

	if (!head)
		return NULL;
	while (head->lanes && hash_table_next(head->lanes, &cursor, NULL, (void **)&lane))
		lane_release(lane);
	(void)agents_free(head->agents);
	(void)hash_table_free(head->lanes);
	(void)string_table_free(head->names);
	free(head);
	return NULL;
}

const struct numbers *head_numbers(const struct head *head, const char *tenant,
				   const struct batch *batch)
{
	const struct agent *agent = agents_find(head->agents, tenant, batch);

	return agent ? agent->numbers : NULL;
}

bool head_knows(const struct head *head, const char *tenant, const struct batch *batch)
{
	return agents_find(head->agents, tenant, batch) != NULL;
}

int head_set_numbers_take(struct head *head, const char *tenant, const struct batch *batch,
			  struct numbers *numbers)
{
	return agents_set_numbers_take(head->agents, tenant, batch, numbers);
}

void head_forget(struct head *head, const char *tenant, const struct batch *batch)
{
	agents_forget(head->agents, tenant, batch);
}

void head_trim_numbers(struct head *head)
{
	agents_trim(head->agents);
}

size_t head_numbers_bytes(const struct head *head)
{
	return agents_bytes(head->agents);
}

int head_learn(struct head *head, const char *tenant, const struct batch *batch,
	       struct arena *arena, struct store_missing *ret_missing)
{
	int exceeds, r;

	if (batch->n_rows > MAX_BATCH_ROWS)
		return -EFBIG;
	r = agents_try_learn(head->agents, tenant, batch, arena, ret_missing);
	if (r != STORE_STORED)
		return r;
	exceeds = lanes_exceed(agents_find(head->agents, tenant, batch)->numbers, batch,
			       head->options.slots_per_segment);
	if (exceeds != 0)
		return exceeds < 0 ? exceeds : -EFBIG;
	return STORE_STORED;
}

static int intern(struct head *head, const char *text, string_id *ret_id)
{
	return string_table_intern(head->names, text, strlen(text), ret_id);
}

static int add_head_row(struct head *head, const struct segment_key *key, struct lane *lane)
{
	const string_id names[] = { key->tenant, key->service, key->event, key->unit };
	uint64_t values[] = { SEGMENT_SAMPLES, 0, 0, 0, 0, key->event_kind };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int r = segment_builder_text(
			lane->builder, string_table_text(head->names, names[i]),
			string_table_length(head->names, names[i]), &values[1 + i]);

		if (r < 0)
			return r;
	}
	return segment_builder_add(lane->builder, SEGMENT_HEAD, values, NULL);
}

static int find_lane(struct head *head, const struct segment_key *key, struct lane **ret_lane)
{
	struct lane lane = { .end_slot = (key->range + 1) * head->options.slots_per_segment,
			     .id = head->n_lanes + 1 };
	struct lane *found = hash_table_find(head->lanes, key);
	int r;

	if (found) {
		*ret_lane = found;
		return 0;
	}
	id_map_init(&lane.nodes);
	r = segment_builder_new(&lane.builder);
	if (r == 0)
		r = hash_table_new(sizeof(struct lane_key), sizeof(uint64_t), 0, &lane.rows);
	if (r == 0)
		r = hash_table_new(sizeof(struct content), sizeof(uint32_t), 0, &lane.stacks);
	if (r == 0)
		r = add_head_row(head, key, &lane);
	if (r == 0)
		r = hash_table_insert(head->lanes, key, (void **)&found);
	if (r < 0) {
		lane_release(&lane);
		return r;
	}
	*found = lane;
	head->n_lanes++;
	*ret_lane = found;
	return 0;
}

/*
 * Finds the segment of a series, without the range of time. Returns 1, or 0 for an empty
 * definition.
 */
static int segment_of(struct head *head, const struct numbers *numbers, const char *tenant,
		      uint32_t number, struct segment_key *ret_key)
{
	const struct batch_series *series = numbers_series(numbers, number);
	const struct numbers_process *process = numbers_process(numbers, series->process);
	const struct event_type_info *known = event_type_info(series->type);
	const struct batch_event_type *described = series->described;
	struct segment_key key = {};
	int r;

	if (!process || (!described && !known))
		return 0;
	key.event_kind = described ? described->kind : known->kind;
	r = intern(head, tenant, &key.tenant);
	if (r == 0)
		r = intern(head, process->process.name, &key.service);
	if (r == 0)
		r = intern(head, described ? described->name : known->name, &key.event);
	if (r == 0)
		r = intern(head, described ? described->unit : known->unit, &key.unit);
	if (r < 0)
		return r;
	*ret_key = key;
	return 1;
}

/* A run: rows of one series in one segment. */
struct run {
	struct lane *lane;
	uint64_t series_row;
	uint32_t series;
	uint64_t end_slot; /* rows before it, and not before the range, belong to the segment */
	uint64_t first_slot;
	bool skipped; /* the series has an empty definition */
};

static int begin_run(struct head *head, const struct lane_agent *agent, const char *tenant,
		     const struct batch_row *row, struct run *run)
{
	struct segment_key key;
	int r = segment_of(head, agent->numbers, tenant, row->series, &key);

	*run = (struct run){ .series = row->series, .skipped = r == 0, .end_slot = UINT64_MAX };
	if (r <= 0)
		return r;
	key.range = row->slot / head->options.slots_per_segment;
	r = find_lane(head, &key, &run->lane);
	if (r == 0)
		r = lane_add_series(run->lane, agent, row->series, &run->series_row);
	run->first_slot = key.range * head->options.slots_per_segment;
	run->end_slot = run->first_slot + head->options.slots_per_segment;
	return r;
}

static int add_rows(struct head *head, const struct lane_agent *agent, const char *tenant,
		    const struct batch *batch)
{
	struct run run = {};

	for (uint32_t i = 0; i < batch->n_rows; i++) {
		const struct batch_row *row = &batch->rows[i];
		uint64_t values[] = { 0, row->slot, 0, row->value };
		int r = 0;

		if (i == 0 || row->series != run.series || row->slot >= run.end_slot ||
		    row->slot < run.first_slot)
			r = begin_run(head, agent, tenant, row, &run);
		if (r == 0 && run.skipped)
			continue;
		values[0] = run.series_row;
		if (r == 0 && row->stack)
			r = lane_add_stack(run.lane, agent, row->stack, &values[2]);
		if (r == 0)
			r = segment_builder_add(run.lane->builder, SEGMENT_ROW, values, NULL);
		if (r < 0)
			return r;
		run.lane->last_slot = MAX(run.lane->last_slot, row->slot);
	}
	return 0;
}

int head_add_rows(struct head *head, const char *tenant, const struct batch *batch)
{
	const struct agent *agent = agents_find(head->agents, tenant, batch);
	struct lane_agent lane_agent;

	assert(agent);
	lane_agent = (struct lane_agent){ .id = batch->agent_id,
					  .epoch = agent->order,
					  .numbers = agent->numbers,
					  .seeds = &head->seeds };
	agents_note_stored(head->agents, tenant, batch);
	return add_rows(head, &lane_agent, tenant, batch);
}

int head_add(struct head *head, const char *tenant, const struct batch *batch, struct arena *arena,
	     struct store_missing *ret_missing)
{
	int r;

	if (head_is_full(head))
		return -ENOSPC;
	r = head_learn(head, tenant, batch, arena, ret_missing);
	if (r == -ENOSPC) {
		/* The agent defines again those numbers that it still uses. */
		head_forget(head, tenant, batch);
		r = head_learn(head, tenant, batch, arena, ret_missing);
	}
	if (r != STORE_STORED)
		return r;
	r = head_add_rows(head, tenant, batch);
	return r < 0 ? r : STORE_STORED;
}

/* Names are not needed without segments. If there is no memory, they stay. */
static void drop_names(struct head *head)
{
	struct string_table *names;

	if (string_table_new(MAX_NAME_BYTES, &names) == 0)
		string_table_replace_take(head->names, names);
}

static struct head_segment segment_of_lane(const struct head *head, const struct segment_key *key,
					   const struct lane *lane)
{
	return (struct head_segment){ .id = lane->id,
				      .first_slot = key->range * head->options.slots_per_segment,
				      .end_slot = lane->end_slot,
				      .last_slot = lane->last_slot,
				      .without_stacks = !lane->has_stacks,
				      .builder = lane->builder };
}

int head_take(struct head *head, uint64_t before_slot, struct head_segment *ret_segment)
{
	const struct segment_key *key;
	struct lane *lane;
	size_t cursor = 0;

	while (hash_table_next(head->lanes, &cursor, (const void **)&key, (void **)&lane)) {
		if (lane->end_slot > before_slot)
			continue;
		*ret_segment = segment_of_lane(head, key, lane);
		lane->builder = NULL;
		lane_release(lane);
		hash_table_remove_at_cursor(head->lanes, &cursor);
		if (hash_table_count(head->lanes) == 0)
			drop_names(head);
		return 1;
	}
	return 0;
}

size_t head_bytes(const struct head *head)
{
	size_t bytes =
		string_table_memory_bytes(head->names) + hash_table_memory_bytes(head->lanes);
	struct lane *lane;
	size_t cursor = 0;

	/* An empty head takes a batch, whatever the limit is. */
	if (hash_table_count(head->lanes) == 0)
		return 0;
	while (hash_table_next(head->lanes, &cursor, NULL, (void **)&lane))
		bytes += segment_builder_bytes(lane->builder) +
			 hash_table_memory_bytes(lane->rows) +
			 hash_table_memory_bytes(lane->stacks) + id_map_bytes(&lane->nodes);
	return bytes;
}

static bool lane_is_above(const struct lane *lane, size_t part)
{
	for (unsigned int i = 0; i < SEGMENT_TABLE_COUNT; i++)
		if (segment_builder_count(lane->builder, i) > FULL_SEGMENT_ROWS / part)
			return true;
	return segment_builder_text_bytes(lane->builder) > FULL_SEGMENT_TEXT_BYTES / part;
}

/* Whether there are more than 1 / @part of the rows, texts or segments that make the head full. */
static bool has_table_above(const struct head *head, size_t part)
{
	struct lane *lane;
	size_t cursor = 0;

	if (string_table_bytes(head->names) > FULL_NAME_BYTES / part ||
	    hash_table_count(head->lanes) > MAX_BATCH_LANES / part)
		return true;
	while (hash_table_next(head->lanes, &cursor, NULL, (void **)&lane))
		if (lane_is_above(lane, part))
			return true;
	return false;
}

bool head_has_full_table(const struct head *head)
{
	return has_table_above(head, 1);
}

bool head_is_full(const struct head *head)
{
	return head_bytes(head) >= head->options.max_bytes || head_has_full_table(head);
}

bool head_is_half_full(const struct head *head)
{
	return head_bytes(head) >= head->options.max_bytes / 2 || has_table_above(head, 2);
}

bool head_next(const struct head *head, size_t *cursor, struct head_segment *ret_segment)
{
	const struct segment_key *key;
	struct lane *lane;

	if (!hash_table_next(head->lanes, cursor, (const void **)&key, (void **)&lane))
		return false;
	*ret_segment = segment_of_lane(head, key, lane);
	return true;
}

const struct segment_builder *head_find(const struct head *head, uint64_t id)
{
	struct lane *lane;
	size_t cursor = 0;

	while (hash_table_next(head->lanes, &cursor, NULL, (void **)&lane)) {
		if (lane->id == id)
			return lane->builder;
	}
	return NULL;
}
