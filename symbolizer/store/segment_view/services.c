/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts with the numbers of processes and hosts only: a fleet has a million series a day, so their
 * labels and paths are not read. A part that lies within the range needs none of its rows.
 */

#include "symbolizer/store/segment_view/part_rows.h"
#include "symbolizer/store/segment_view/segment_view_private.h"

#define PROCESS_COLUMNS                                                                            \
	(SEGMENT_COLUMN_SET(TEXT_END) | SEGMENT_COLUMN_SET(HOST_ID) |                              \
	 SEGMENT_COLUMN_SET(PROCESS_HOST) | SEGMENT_COLUMN_SET(PROCESS_START_TIME_NS) |            \
	 SEGMENT_COLUMN_SET(PROCESS_PID) | SEGMENT_COLUMN_SET(PROCESS_FLAGS) |                     \
	 SEGMENT_COLUMN_SET(SERIES_PROCESS))

VEC_DEFINE(service_list, struct store_active_service);

struct counting {
	struct segment_view *view;
	uint64_t from_slot, to_slot;
	struct service_list services; /* by ID of the head */
	struct tuple_table hosts;     /* head, agent */
	struct tuple_table processes; /* head, agent, PID, start time */
};

static void counting_release(struct counting *counting)
{
	vec_release(&counting->services);
	tuple_table_release(&counting->hosts);
	tuple_table_release(&counting->processes);
}

/* The segment at hand. */
struct counted_part {
	const struct view_part *part;
	struct translation translation;
	bool *is_active; /* [processes] */
	uint64_t first_slot, last_slot;
};

static void add_slots(struct counted_part *counted, uint64_t first_slot, uint64_t last_slot,
		      uint64_t series)
{
	const uint64_t *processes = counted->translation.segment->column[SERIES_PROCESS];

	counted->is_active[processes[series]] = true;
	counted->first_slot = MIN(counted->first_slot, first_slot);
	counted->last_slot = MAX(counted->last_slot, last_slot);
}

/* Finds the processes with rows in the range. */
static void find_active_rows(const struct counting *counting, struct counted_part *counted)
{
	const struct segment *segment = counted->translation.segment;
	const uint64_t *of_row = segment->column[ROW_SERIES], *slots = segment->column[ROW_SLOT];
	size_t n_rows = segment->count[SEGMENT_ROW];
	size_t row = rows_lower_bound(of_row, 0, n_rows, 1);

	for (size_t i = 0; i < segment->count[SEGMENT_SERIES] && row < n_rows; i++) {
		size_t end = rows_lower_bound(of_row, row, n_rows, i + 2);
		size_t from = rows_lower_bound(slots, row, end, counting->from_slot);

		if (from < end && slots[from] < counting->to_slot)
			add_slots(counted, slots[row], slots[end - 1], i);
		row = end;
	}
}

/* The same by the ranges of time of the series, see has_enough_ranges(). */
static void find_active_ranges(const struct counting *counting, struct counted_part *counted)
{
	const struct segment *segment = counted->translation.segment;
	const uint64_t *const *column = segment->column;

	for (size_t i = 0; i < segment->count[SEGMENT_TOTAL]; i++) {
		const uint64_t first = column[TOTAL_FIRST_SLOT][i];
		const uint64_t last = column[TOTAL_LAST_SLOT][i];

		if (last < counting->from_slot || first >= counting->to_slot)
			continue;
		add_slots(counted, first, last, column[TOTAL_SERIES][i]);
	}
}

static void find_active_totals(struct counted_part *counted)
{
	const uint64_t *const *column = counted->translation.segment->column;

	for (size_t i = 0; i < counted->translation.segment->count[SEGMENT_TOTAL]; i++)
		add_slots(counted, column[TOTAL_FIRST_SLOT][i], column[TOTAL_LAST_SLOT][i],
			  column[TOTAL_SERIES][i]);
}

/* The times of a decoded part may be those of its hour, and its rows cost no decoding. */
static bool is_within(const struct counting *counting, const struct view_part *part)
{
	return !part->source.decoded && part->source.first_slot >= counting->from_slot &&
	       part->source.end_slot <= counting->to_slot;
}

static void find_active(const struct counting *counting, struct counted_part *counted)
{
	const struct segment_part *source = &counted->part->source;
	const struct segment *segment = counted->translation.segment;

	if (counted->part->is_rollup) {
		find_active_totals(counted);
	} else if (!is_within(counting, counted->part)) {
		if (segment->column[ROW_SERIES])
			find_active_rows(counting, counted);
		else
			find_active_ranges(counting, counted);
	} else {
		for (size_t i = 0; i < segment->count[SEGMENT_SERIES]; i++)
			add_slots(counted, source->first_slot, source->end_slot - 1, i);
	}
}

/* Counts a process, and its host, unless an earlier part had them. */
static int count_process(struct counting *counting, struct counted_part *counted, uint64_t row)
{
	const uint64_t *const *column = counted->translation.segment->column;
	struct store_active_service *service = &counting->services.items[counted->part->head - 1];
	uint64_t start = column[PROCESS_START_TIME_NS][row];
	uint32_t words[5] = { counted->part->head, 0, (uint32_t)column[PROCESS_PID][row],
			      (uint32_t)start, (uint32_t)(start >> 32) };
	uint32_t id;
	int r;

	if (column[PROCESS_FLAGS][row] & SEGMENT_WITHOUT_STACKS)
		return 0;
	r = translate_text(&counted->translation, column[HOST_ID][column[PROCESS_HOST][row]],
			   &words[1]);
	if (r == 0)
		r = tuple_table_add(&counting->processes, words, &id);
	if (r < 0)
		return r;
	service->n_processes += (uint32_t)r;
	r = tuple_table_add(&counting->hosts, words, &id);
	service->n_hosts += r > 0;
	return MIN(r, 0);
}

/* Describes the heads that were read since the last call. */
static int describe_services(struct counting *counting)
{
	const struct segment_view *view = counting->view;

	while (counting->services.count < view->heads.count) {
		const struct view_head *head = &view->heads.items[counting->services.count];
		const struct event_type_info *event = view->events.items[head->event];
		int r = vec_push(
			&counting->services,
			(struct store_active_service){ .name = view_text(view, head->service),
						       .type = event->type,
						       .event = event,
						       .first_slot = UINT64_MAX });

		if (r < 0)
			return r;
	}
	return 0;
}

static int count_processes(struct counting *counting, struct counted_part *counted)
{
	const struct segment *segment = counted->translation.segment;
	struct store_active_service *service;
	int r;

	counted->first_slot = UINT64_MAX;
	counted->is_active =
		arena_alloc_array(counting->view->scratch, segment->count[SEGMENT_PROCESS], 1);
	if (!counted->is_active)
		return -ENOMEM;
	r = describe_services(counting);
	if (r < 0)
		return r;
	find_active(counting, counted);
	for (size_t i = 0; i < segment->count[SEGMENT_PROCESS] && r == 0; i++) {
		if (counted->is_active[i])
			r = count_process(counting, counted, i);
	}
	service = &counting->services.items[counted->part->head - 1];
	service->first_slot = MIN(service->first_slot, counted->first_slot);
	service->last_slot = MAX(service->last_slot, counted->last_slot);
	return r;
}

/*
 * Whether the ranges of time of the series are enough for find_active(). Of a series that begins
 * before the range of the query and ends after it, only the rows show whether it has some in it.
 */
static bool has_enough_ranges(const struct counting *counting, const struct view_part *part,
			      const struct segment *segment)
{
	const uint64_t *const *column = segment->column;

	if (view_lacks_ranges(part, segment))
		return false;
	for (size_t i = 0; i < segment->count[SEGMENT_TOTAL]; i++)
		if (column[TOTAL_FIRST_SLOT][i] < counting->from_slot &&
		    column[TOTAL_LAST_SLOT][i] >= counting->to_slot)
			return false;
	return true;
}

/* Loads what find_active() needs. Results as those of view_load(). */
static int load_part(const struct counting *counting, struct view_part *part,
		     struct segment *ret_segment)
{
	const bool needs_ranges = part->is_rollup || !is_within(counting, part);
	uint64_t columns = PROCESS_COLUMNS;
	int r;

	if (needs_ranges)
		columns |= VIEW_TOTAL_RANGE_COLUMNS;
	r = view_load(counting->view, part, columns, ret_segment);
	if (r <= 0 || part->is_rollup || !needs_ranges ||
	    has_enough_ranges(counting, part, ret_segment))
		return r;
	return view_load(counting->view, part, columns | VIEW_RANGE_COLUMNS, ret_segment);
}

static int count_part(struct counting *counting, struct view_part *part)
{
	struct segment_view *view = counting->view;
	struct counted_part counted = { .part = part };
	struct segment segment;
	int r;

	r = view_read_head(view, part);
	if (r <= 0 || view_rollup_is_useless(part, counting->from_slot, counting->to_slot))
		return MIN(r, 0);
	r = view_is_covered(view, part, counting->from_slot, counting->to_slot);
	if (r != 0)
		return MIN(r, 0);
	r = load_part(counting, part, &segment);
	if (r <= 0)
		return r;
	r = translation_init(&counted.translation, view, part, &segment, SEGMENT_SET(SEGMENT_TEXT));
	if (r == 0)
		r = count_processes(counting, &counted);
	if (r == 0)
		r = view_account(view);
	return r;
}

static int return_services(const struct counting *counting, struct arena *arena,
			   struct store_active_service **ret_services, size_t *ret_count)
{
	struct store_active_service *services =
		arena_alloc_array(arena, counting->services.count, sizeof(*services));
	size_t count = 0;

	if (!services)
		return -ENOMEM;
	for (size_t i = 0; i < counting->services.count; i++) {
		if (counting->services.items[i].n_processes > 0)
			services[count++] = counting->services.items[i];
	}
	*ret_services = services;
	*ret_count = count;
	return 0;
}

int segment_view_active_services(struct segment_view *view, const struct store_series_query *query,
				 struct arena *arena, struct store_active_service **ret_services,
				 size_t *ret_count)
{
	scoped(counting_release) struct counting counting = {
		.view = view,
		.from_slot = query->from_slot,
		.to_slot = query->to_slot ? query->to_slot : UINT64_MAX,
	};
	int r = 0;

	tuple_table_init(&counting.hosts, 2);
	tuple_table_init(&counting.processes, 5);
	/* Roll-ups first, because samples are read in place of those that are damaged. */
	for (int rollups = 1; rollups >= 0; rollups--) {
		for (size_t i = 0; i < view->parts.count && r >= 0; i++) {
			struct view_part *part = &view->parts.items[i];

			if (!view_part_overlaps(part, counting.from_slot, counting.to_slot))
				continue;
			r = view_read_head(view, part);
			if (r > 0 && part->is_rollup == rollups)
				r = count_part(&counting, part);
		}
	}
	return r < 0 ? r : return_services(&counting, arena, ret_services, ret_count);
}
