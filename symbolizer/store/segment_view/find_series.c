/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First all parts give their series, so that the number of IDs is known. Then the series found are
 * described, each process, host and list of labels once.
 */

#include "symbolizer/store/segment_view/segment_view_private.h"

#include <string.h>

#include "common/hash.h"

/* Arrays have an item for each ID of the view, in the caller's arena. */
struct search {
	struct segment_view *view;
	const struct store_series_query *query;
	uint64_t to_slot;
	struct arena *arena;
	uint64_t *first_slots, *end_slots; /* by series; end slot 0: not found */
	struct store_host **hosts;         /* NULL: not described yet */
	struct store_process **processes;
	struct label **labels;
};

static bool is_asked_for(const struct search *search, const struct view_part *part)
{
	const struct segment_view *view = search->view;
	const struct view_head *head = &view->heads.items[part->head - 1];
	const struct store_series_query *query = search->query;

	if (query->type != EVENT_NONE && view->events.items[head->event]->type != query->type)
		return false;
	return !query->service || strcmp(view_text(view, head->service), query->service) == 0;
}

/* 1: the series of the part are read; 0: it has none for the query that other parts lack. */
static int read_part(struct search *search, struct view_part *part)
{
	const uint64_t from_slot = search->query->from_slot;
	int r;

	if (!view_part_overlaps(part, from_slot, search->to_slot))
		return 0;
	r = view_read_head(search->view, part);
	if (r <= 0 || !is_asked_for(search, part))
		return MIN(r, 0);
	search->view->heads.items[part->head - 1].is_asked_for = true;
	if (view_rollup_is_useless(part, from_slot, search->to_slot))
		return 0;
	r = view_is_covered(search->view, part, from_slot, search->to_slot);
	if (r != 0)
		return MIN(r, 0);
	return view_read_series(search->view, part);
}

/* Roll-ups are read first, because samples are read in place of those that are damaged. */
static int read_parts(struct search *search)
{
	struct segment_view *view = search->view;
	int r = 0;

	for (int rollups = 1; rollups >= 0; rollups--) {
		for (size_t i = 0; i < view->parts.count && r >= 0; i++) {
			struct view_part *part = &view->parts.items[i];

			r = view_read_head(view, part);
			if (r > 0 && part->is_rollup == rollups)
				r = read_part(search, part);
		}
	}
	return MIN(r, 0);
}

static int make_arrays(struct search *search)
{
	const struct segment_view *view = search->view;
	struct arena *arena = search->arena;

	search->first_slots = arena_alloc_array(arena, view->series.count, sizeof(uint64_t));
	search->end_slots = arena_alloc_array(arena, view->series.count, sizeof(uint64_t));
	search->hosts = arena_alloc_array(arena, view->hosts.count, sizeof(void *));
	search->processes = arena_alloc_array(arena, view->processes.count, sizeof(void *));
	search->labels = arena_alloc_array(arena, view->labels.count, sizeof(void *));
	return search->first_slots && search->end_slots && search->hosts && search->processes &&
			       search->labels
		       ? 0
		       : -ENOMEM;
}

/* Adds the series of a part to those found. Returns their number. */
static size_t add_part(struct search *search, const struct view_part *part)
{
	const bool whole = part->is_rollup && part->source.samples_removed;
	size_t n_added = 0;

	for (size_t i = 0; i < part->n_series; i++) {
		const struct part_series *series = &part->series[i];
		uint64_t *first = &search->first_slots[series->id - 1];
		uint64_t *end = &search->end_slots[series->id - 1];

		if (!has_samples(series) ||
		    (!whole && (series->first_slot >= search->to_slot ||
				series->last_slot < search->query->from_slot)))
			continue;
		n_added += *end == 0;
		*first = *end ? MIN(*first, series->first_slot) : series->first_slot;
		*end = MAX(*end, series->last_slot + (series->last_slot < UINT64_MAX));
	}
	return n_added;
}

/* The list starts with its last label. */
static int describe_labels(struct search *search, uint32_t list, struct label **ret_labels,
			   uint32_t *ret_count)
{
	const struct segment_view *view = search->view;
	uint32_t count = list ? tuple_table_words(&view->labels, list)[3] : 0;
	struct label *labels;

	*ret_count = count;
	*ret_labels = list ? search->labels[list - 1] : NULL;
	if (!list || *ret_labels)
		return 0;
	labels = arena_alloc_array(search->arena, count, sizeof(*labels));
	if (!labels)
		return -ENOMEM;
	search->labels[list - 1] = labels;
	*ret_labels = labels;
	for (; list; list = tuple_table_words(&view->labels, list)[0]) {
		const uint32_t *words = tuple_table_words(&view->labels, list);

		labels[words[3] - 1] = (struct label){ .name = view_text(view, words[1]),
						       .value = view_text(view, words[2]) };
	}
	return 0;
}

static int describe_host(struct search *search, uint32_t id, const struct store_host **ret_host)
{
	const struct segment_view *view = search->view;
	const struct view_host *from = &view->hosts.items[id - 1];
	size_t id_bytes = string_table_length(view->texts, from->agent);
	struct store_host *host = search->hosts[id - 1];
	char *agent;

	*ret_host = host;
	if (host)
		return 0;
	host = arena_alloc(search->arena, sizeof(*host));
	agent = arena_alloc(search->arena, 2 * id_bytes + 1);
	if (!host || !agent)
		return -ENOMEM;
	hex_encode(view_text(view, from->agent), id_bytes, agent);
	*host = (struct store_host){ .id = id,
				     .name = view_text(view, from->name),
				     .agent_id = agent,
				     .kernel_release = "",
				     .architecture = "",
				     .agent_version = "",
				     .boot_id = "" };
	search->hosts[id - 1] = host;
	*ret_host = host;
	return describe_labels(search, from->labels, &host->labels, &host->n_labels);
}

/* Lists with equal sums have equal paths. */
static int path_set_of(struct segment_view *view, uint32_t list, uint64_t *ret_set)
{
	const struct path_sum *sum;
	uint32_t set = 0;
	int r = 0;

	if (list) {
		sum = &view->path_sums.items[list - 1];
		r = tuple_table_add(
			&view->path_sets,
			(uint32_t[]){ (uint32_t)sum->sums[0], (uint32_t)(sum->sums[0] >> 32),
				      (uint32_t)sum->sums[1], (uint32_t)(sum->sums[1] >> 32),
				      tuple_table_words(&view->paths, list)[3] },
			&set);
	}
	*ret_set = set;
	return MIN(r, 0);
}

/* Objects that are code, or only a name, are no executables. */
static uint32_t executable_of(const struct segment_view *view, uint32_t object)
{
	return object && view->objects.items[object - 1].class < SEGMENT_CODE_OBJECT ? object : 0;
}

static int describe_process(struct search *search, uint32_t id,
			    const struct store_process **ret_process)
{
	struct segment_view *view = search->view;
	const struct view_process *from = &view->processes.items[id - 1];
	struct store_process *process = search->processes[id - 1];
	int r;

	*ret_process = process;
	if (process)
		return 0;
	process = arena_alloc(search->arena, sizeof(*process));
	if (!process)
		return -ENOMEM;
	*process = (struct store_process){
		.id = id,
		.name = view_text(view, from->name),
		.executable_path = view_text(view, from->executable_path),
		.pid = from->pid,
		.start_time_ns = from->start_time_ns,
		.main_executable = executable_of(view, from->main_object),
		.kernel_thread = from->flags & SEGMENT_KERNEL_THREAD,
		.without_stacks = from->flags & SEGMENT_WITHOUT_STACKS,
	};
	search->processes[id - 1] = process;
	*ret_process = process;
	r = describe_host(search, from->host, &process->host);
	if (r == 0)
		r = path_set_of(view, from->paths, &process->path_set);
	if (r == 0)
		r = describe_labels(search, from->labels, &process->labels, &process->n_labels);
	return r;
}

static int describe_series(struct search *search, uint32_t id, struct store_series *ret_series)
{
	const struct segment_view *view = search->view;
	const uint32_t *words = tuple_table_words(&view->series, id);
	const struct event_type_info *event = view->events.items[words[7]];
	int r;

	*ret_series = (struct store_series){
		.id = id,
		.tenant = view->options.store.tenant,
		.tid = words[1],
		.thread_name = view_text(view, words[2]),
		.type = event->type,
		.cpu = (int)words[3] - 1,
		.period_ns = words_u64(words + 4),
		.event = event,
		.first_slot = search->first_slots[id - 1],
		.last_slot = search->end_slots[id - 1] - 1,
	};
	r = describe_process(search, words[0], &ret_series->process);
	return r < 0 ? r
		     : describe_labels(search, words[6], &ret_series->labels,
				       &ret_series->n_labels);
}

int segment_view_find_series(struct segment_view *view, const struct store_series_query *query,
			     struct arena *arena, struct store_series **ret_series,
			     size_t *ret_count)
{
	struct search search = { .view = view,
				 .query = query,
				 .to_slot = query->to_slot ? query->to_slot : UINT64_MAX,
				 .arena = arena };
	struct store_series *series;
	size_t n_found = 0, n = 0;
	int r;

	r = read_parts(&search);
	if (r == 0)
		r = make_arrays(&search);
	for (size_t i = 0; i < view->parts.count && r >= 0; i++) {
		r = read_part(&search, &view->parts.items[i]);
		if (r > 0)
			n_found += add_part(&search, &view->parts.items[i]);
	}
	if (r < 0)
		return r;
	series = arena_alloc_array(arena, n_found, sizeof(*series));
	if (!series)
		return -ENOMEM;
	for (uint32_t id = 1; id <= view->series.count && n < n_found; id++) {
		if (search.end_slots[id - 1] == 0)
			continue;
		r = describe_series(&search, id, &series[n++]);
		if (r < 0)
			return r;
	}
	*ret_series = series;
	*ret_count = n_found;
	return 0;
}

const char *segment_view_event_name(const struct segment_view *view, enum event_type type)
{
	for (size_t i = 0; i < view->events.count; i++)
		if (view->events.items[i]->type == type)
			return view->events.items[i]->name;
	return NULL;
}

int segment_view_find_event_type(const struct segment_view *view, const char *name,
				 struct event_type_info *ret_info)
{
	for (size_t i = 0; i < view->events.count; i++) {
		if (strcmp(view->events.items[i]->name, name) == 0) {
			*ret_info = *view->events.items[i];
			return 1;
		}
	}
	return 0;
}
