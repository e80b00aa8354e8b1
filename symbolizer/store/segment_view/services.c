/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts with the numbers of processes and hosts only: a fleet has a million series a day, so their
 * labels and paths are not read. A part that lies within the range needs none of its rows, and its
 * list of processes may be in the cache. When the lists of all parts are there, the processes of
 * each host are counted.
 */

#include "symbolizer/store/segment_view/part_rows.h"
#include "symbolizer/store/segment_view/process_cache.h"
#include "symbolizer/store/segment_view/segment_view_private.h"

#define PROCESS_COLUMNS                                                                            \
	(SEGMENT_COLUMN_SET(TEXT_END) | SEGMENT_COLUMN_SET(HOST_ID) |                              \
	 SEGMENT_COLUMN_SET(PROCESS_HOST) | SEGMENT_COLUMN_SET(PROCESS_START_TIME_NS) |            \
	 SEGMENT_COLUMN_SET(PROCESS_PID) | SEGMENT_COLUMN_SET(PROCESS_FLAGS) |                     \
	 SEGMENT_COLUMN_SET(SERIES_PROCESS))

/* Of a run: struct host_run, struct service_host with its tuple, and room to grow. */
#define BYTES_PER_RUN 96

/* Processes of a part. */
struct part_list {
	uint32_t head;
	struct process_list *list;
};

/* A run of processes of a host. next: of the same host, index + 1; 0: the last one. */
struct host_run {
	struct process_run run;
	uint32_t next;
};

/* A host of a service and event type. */
struct service_host {
	uint32_t head, first_run, n_runs;
};

VEC_DEFINE(service_list, struct store_active_service);
VEC_DEFINE(part_lists, struct part_list);
VEC_DEFINE(host_runs, struct host_run);
VEC_DEFINE(service_hosts, struct service_host);
VEC_DEFINE(process_runs, struct process_run);

struct counting {
	struct segment_view *view;
	uint64_t from_slot, to_slot;
	struct service_list services; /* by ID of the head */
	struct part_lists lists;
	struct tuple_table host_ids; /* head, agent */
	struct service_hosts hosts;  /* by ID */
	struct host_runs runs;
	struct process_runs of_host; /* those of the host that is counted */
	uint64_t taken_bytes;        /* of the budget, for lists */
};

static void counting_release(struct counting *counting)
{
	for (size_t i = 0; i < counting->lists.count; i++)
		(void)process_list_free(counting->lists.items[i].list);
	vec_release(&counting->services);
	vec_release(&counting->lists);
	tuple_table_release(&counting->host_ids);
	vec_release(&counting->hosts);
	vec_release(&counting->runs);
	vec_release(&counting->of_host);
	memory_budget_give(counting->view->options.store.memory, counting->taken_bytes);
}

/* The segment at hand. */
struct counted_part {
	const struct view_part *part;
	const struct segment *segment;
	bool *is_active; /* [processes] */
	uint64_t first_slot, last_slot;
};

static void add_slots(struct counted_part *counted, uint64_t first_slot, uint64_t last_slot,
		      uint64_t series)
{
	const uint64_t *processes = counted->segment->column[SERIES_PROCESS];

	counted->is_active[processes[series]] = true;
	counted->first_slot = MIN(counted->first_slot, first_slot);
	counted->last_slot = MAX(counted->last_slot, last_slot);
}

/* Finds the processes with rows in the range. */
static void find_active_rows(const struct counting *counting, struct counted_part *counted)
{
	const struct segment *segment = counted->segment;
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
	const struct segment *segment = counted->segment;
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
	const uint64_t *const *column = counted->segment->column;

	for (size_t i = 0; i < counted->segment->count[SEGMENT_TOTAL]; i++)
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
	const struct segment *segment = counted->segment;

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

/* Takes the memory of a list from the budget, also if the cache has it: it may leave the cache. */
static int take_memory(struct counting *counting, const struct process_list *list)
{
	const uint64_t bytes = list->bytes + list->n_runs * BYTES_PER_RUN;

	if (counting->taken_bytes + bytes > counting->view->options.max_bytes ||
	    !memory_budget_take(counting->view->options.store.memory, bytes))
		return -ENOMEM;
	counting->taken_bytes += bytes;
	return 0;
}

/* Takes the reference to @list. */
static int add_list_take(struct counting *counting, const struct view_part *part,
			 struct process_list *list)
{
	struct store_active_service *service;
	int r = take_memory(counting, list);

	if (r == 0)
		r = vec_push(&counting->lists,
			     (struct part_list){ .head = part->head, .list = list });
	if (r < 0) {
		(void)process_list_free(list);
		return r;
	}
	r = describe_services(counting);
	if (r < 0)
		return r;
	service = &counting->services.items[part->head - 1];
	service->first_slot = MIN(service->first_slot, list->first_slot);
	service->last_slot = MAX(service->last_slot, list->last_slot);
	return 0;
}

static int make_list(const struct counting *counting, struct counted_part *counted,
		     struct process_list **ret_list)
{
	const struct segment *segment = counted->segment;
	struct arena *scratch = counting->view->scratch;
	int r;

	counted->first_slot = UINT64_MAX;
	counted->is_active = arena_alloc_array(scratch, segment->count[SEGMENT_PROCESS], 1);
	if (!counted->is_active)
		return -ENOMEM;
	find_active(counting, counted);
	r = process_list_new(segment, counted->is_active, scratch, ret_list);
	if (r < 0)
		return r;
	(*ret_list)->first_slot = counted->first_slot;
	(*ret_list)->last_slot = counted->last_slot;
	return 0;
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

/* Whether all processes of a part count, for each range that includes it. */
static bool is_cached(const struct counting *counting, const struct view_part *part)
{
	return counting->view->options.processes && part->source.key.n_rows > 0 &&
	       (part->is_rollup || is_within(counting, part));
}

/* 1; 0: the part is damaged; -ENOMEM, -ECANCELED. */
static int find_list(const struct counting *counting, struct view_part *part,
		     struct process_list **ret_list)
{
	struct segment_view *view = counting->view;
	const bool cached = is_cached(counting, part);
	struct counted_part counted = { .part = part };
	struct process_list *list = NULL;
	struct segment segment;
	int r;

	if (cached)
		list = process_cache_find(view->options.processes, &part->source.key);
	if (!list) {
		r = load_part(counting, part, &segment);
		if (r <= 0)
			return r;
		counted.segment = &segment;
		r = make_list(counting, &counted, &list);
		if (r < 0)
			return r;
		if (cached)
			process_cache_add(view->options.processes, &part->source.key, list);
	}
	*ret_list = list;
	return 1;
}

static int list_part(struct counting *counting, struct view_part *part)
{
	struct segment_view *view = counting->view;
	struct process_list *list;
	int r;

	r = view_read_head(view, part);
	if (r <= 0 || view_rollup_is_useless(part, counting->from_slot, counting->to_slot))
		return MIN(r, 0);
	r = view_is_covered(view, part, counting->from_slot, counting->to_slot);
	if (r != 0)
		return MIN(r, 0);
	r = find_list(counting, part, &list);
	return r <= 0 ? r : add_list_take(counting, part, list);
}

/* Adds the runs of a list to their hosts. */
static int add_runs(struct counting *counting, const struct part_list *part)
{
	int r = vec_reserve(&counting->runs, part->list->n_runs);

	for (size_t i = 0; i < part->list->n_runs && r >= 0; i++) {
		const struct bytes_view agent = process_list_host(part->list, i);
		uint32_t words[2] = { part->head }, id;
		struct service_host *host;

		if (string_table_intern(counting->view->texts, (const char *)agent.data, agent.size,
					&words[1]) < 0)
			return -ENOMEM;
		r = tuple_table_add(&counting->host_ids, words, &id);
		if (r > 0)
			r = vec_push(&counting->hosts, (struct service_host){ .head = part->head });
		if (r < 0)
			return r;
		host = &counting->hosts.items[id - 1];
		counting->runs.items[counting->runs.count++] =
			(struct host_run){ .run = process_list_run(part->list, i),
					   .next = host->first_run };
		host->first_run = (uint32_t)counting->runs.count;
		host->n_runs++;
	}
	return MIN(r, 0);
}

static int count_host(struct counting *counting, const struct service_host *host)
{
	struct store_active_service *service = &counting->services.items[host->head - 1];
	int r;

	vec_clear(&counting->of_host);
	r = vec_reserve(&counting->of_host, host->n_runs);
	if (r < 0)
		return r;
	for (uint32_t i = host->first_run; i; i = counting->runs.items[i - 1].next)
		counting->of_host.items[counting->of_host.count++] =
			counting->runs.items[i - 1].run;
	service->n_hosts++;
	service->n_processes +=
		(uint32_t)process_runs_count(counting->of_host.items, counting->of_host.count);
	return 0;
}

static int count_all(struct counting *counting)
{
	int r = 0;

	for (size_t i = 0; i < counting->lists.count && r == 0; i++)
		r = add_runs(counting, &counting->lists.items[i]);
	for (size_t i = 0; i < counting->hosts.count && r == 0; i++)
		r = count_host(counting, &counting->hosts.items[i]);
	return r == 0 ? view_account(counting->view) : r;
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

	tuple_table_init(&counting.host_ids, 2);
	/* Roll-ups first, because samples are read in place of those that are damaged. */
	for (int rollups = 1; rollups >= 0; rollups--) {
		for (size_t i = 0; i < view->parts.count && r >= 0; i++) {
			struct view_part *part = &view->parts.items[i];

			if (!view_part_overlaps(part, counting.from_slot, counting.to_slot))
				continue;
			r = view_read_head(view, part);
			if (r > 0 && part->is_rollup == rollups)
				r = list_part(&counting, part);
		}
	}
	if (r >= 0)
		r = count_all(&counting);
	return r < 0 ? r : return_services(&counting, arena, ret_services, ret_count);
}
