/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series are sorted by their tags to number the groups. The engine sums (group, step). Coverage is
 * read once for each host and joined for the hosts of each group.
 */

#include "symbolizer/query/timeline.h"

#include <stdio.h>
#include <string.h>

#include "common/limits.h"
#include "symbolizer/flame/saturating_add.h"
#include "symbolizer/query/coverage.h"
#include "symbolizer/query/filter/tags.h"
#include "symbolizer/query/loss_message.h"
#include "symbolizer/query/profile_message.h"
#include "symbolizer/query/selection.h"

/* A series with the values of the tags. */
struct member {
	size_t series; /* index in the selection */
	const char **names;
	size_t n_names;
	uint32_t group;
};

struct query {
	struct store_view *view;
	const struct timeline_request *request;
	struct arena *arena;
	struct selection selection;
	struct member *members;    /* [selection.n_series] by group */
	struct timeline_row *rows; /* [n_groups] by group */
	size_t n_groups;
	struct timeline *timeline;
	char *message;
};

static int compare_texts(const char *a, const char *b)
{
	if (!a || !b)
		return !a - !b;
	return strcmp(a, b);
}

static int compare_names(const struct member *a, const struct member *b)
{
	int order = 0;

	for (size_t i = 0; i < a->n_names && order == 0; i++)
		order = compare_texts(a->names[i], b->names[i]);
	return order;
}

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;
	int order = compare_names(a, b);

	return order ? order : (a->series > b->series) - (a->series < b->series);
}

static int name_members(struct query *query)
{
	const struct timeline_request *request = query->request;
	const struct selection *selection = &query->selection;
	const size_t n_tags = request->n_tags;

	query->members =
		arena_alloc_array(query->arena, selection->n_series, sizeof(*query->members));
	if (!query->members)
		return -ENOMEM;
	for (size_t i = 0; i < selection->n_series; i++) {
		struct member *member = &query->members[i];

		*member = (struct member){ .series = i, .n_names = n_tags };
		member->names = arena_alloc_array(query->arena, n_tags + 1, sizeof(char *));
		if (!member->names)
			return -ENOMEM;
		for (size_t k = 0; k < n_tags; k++) {
			int r = series_tag_join(&selection->series[i], request->tags[k],
						query->arena, &member->names[k]);

			if (r < 0)
				return r;
		}
	}
	qsort(query->members, selection->n_series, sizeof(*query->members), compare_members);
	return 0;
}

static int number_groups(struct query *query)
{
	const size_t n_series = query->selection.n_series;
	int r;

	r = name_members(query);
	if (r < 0)
		return r;
	query->rows = arena_alloc_array(query->arena, n_series, sizeof(*query->rows));
	if (!query->rows)
		return -ENOMEM;
	for (size_t i = 0; i < n_series; i++) {
		struct member *member = &query->members[i];

		if (i == 0 || compare_names(member, &query->members[i - 1]) != 0)
			query->rows[query->n_groups++].names = member->names;
		member->group = (uint32_t)query->n_groups - 1;
	}
	if (query->n_groups > TIMELINE_MAX_VALUES / query->timeline->n_steps) {
		(void)snprintf(query->message, PROFILE_MESSAGE_SIZE,
			       "%zu groups in %zu steps are more than %u values: ask for a longer "
			       "step, a shorter range, or fewer groups",
			       query->n_groups, query->timeline->n_steps, TIMELINE_MAX_VALUES);
		return -EINVAL;
	}
	return 0;
}

static int sum_steps(struct query *query, struct store_sums *ret_sums)
{
	const struct selection *selection = &query->selection;
	const struct profile_request *profile = query->request->profile;
	struct store_sum_series *series =
		arena_alloc_array(query->arena, selection->n_series, sizeof(*series));
	const struct store_sum_query sum = {
		.series = series,
		.n_series = selection->n_series,
		.from_slot = profile->from_slot,
		.to_slot = profile->to_slot,
		.without_stacks = true,
		.step_slots = query->request->step_slots,
	};

	if (!series)
		return -ENOMEM;
	for (size_t i = 0; i < selection->n_series; i++) {
		const struct member *member = &query->members[i];

		series[member->series] = (struct store_sum_series){
			.id = selection->series[member->series].id,
			.factor = series_factor(&selection->series[member->series]),
			.group = member->group,
		};
	}
	return store_sum(query->view, &sum, ret_sums);
}

static int compare_rows(const void *left, const void *right)
{
	const struct timeline_row *a = *(struct timeline_row *const *)left;
	const struct timeline_row *b = *(struct timeline_row *const *)right;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return (a > b) - (a < b);
}

static int row_init(struct query *query, struct timeline_row *row)
{
	const size_t n_steps = query->timeline->n_steps;

	row->values = arena_alloc_array(query->arena, n_steps, sizeof(*row->values));
	row->has_value = arena_alloc_array(query->arena, n_steps, sizeof(*row->has_value));
	return row->values && row->has_value ? 0 : -ENOMEM;
}

/* Gives arrays to the groups with the largest totals, and to the row of all. */
static int choose_rows(struct query *query, struct timeline_row ***ret_order)
{
	struct timeline *timeline = query->timeline;
	struct timeline_row **order =
		arena_alloc_array(query->arena, query->n_groups, sizeof(*order));
	int r = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < query->n_groups; i++) {
		if (query->rows[i].total > 0)
			order[timeline->n_all_groups++] = &query->rows[i];
	}
	if (timeline->n_all_groups > 0)
		qsort(order, timeline->n_all_groups, sizeof(*order), compare_rows);
	timeline->n_groups = MIN(timeline->n_all_groups, query->request->max_groups);
	for (size_t i = 0; i < timeline->n_groups && r == 0; i++)
		r = row_init(query, order[i]);
	*ret_order = order;
	return r;
}

static void add_items(struct query *query, const struct store_sums *sums)
{
	struct timeline_row *all = &query->timeline->all;

	for (size_t i = 0; i < sums->count; i++) {
		const struct store_sum *item = &sums->items[i];
		struct timeline_row *row = &query->rows[item->group];

		assert(item->stack < query->timeline->n_steps);
		all->values[item->stack] = saturating_add(all->values[item->stack], item->value);
		all->has_value[item->stack] |= item->value > 0;
		if (!row->values)
			continue;
		row->values[item->stack] = saturating_add(row->values[item->stack], item->value);
		row->has_value[item->stack] |= item->value > 0;
	}
}

static int fill_rows(struct query *query, const struct store_sums *sums)
{
	struct timeline *timeline = query->timeline;
	struct timeline_row **order;
	int r;

	for (size_t i = 0; i < sums->count; i++) {
		struct timeline_row *row = &query->rows[sums->items[i].group];

		row->total = saturating_add(row->total, sums->items[i].value);
		timeline->all.total = saturating_add(timeline->all.total, sums->items[i].value);
	}
	r = choose_rows(query, &order);
	if (r < 0)
		return r;
	add_items(query, sums);
	timeline->n_damaged_blocks = sums->n_damaged_blocks;
	timeline->groups =
		arena_alloc_array(query->arena, timeline->n_groups + 1, sizeof(*timeline->groups));
	if (!timeline->groups)
		return -ENOMEM;
	for (size_t i = 0; i < timeline->n_groups; i++)
		timeline->groups[i] = *order[i];
	return 0;
}

/* The steps in which the agent of one host ran. */
struct host_steps {
	uint32_t host;
	uint8_t *ran; /* [n_steps] */
};

struct covered {
	const struct timeline *timeline;
	struct host_steps *hosts; /* [n_hosts] by ID */
	uint32_t *ids;            /* [n_hosts] the same IDs */
	size_t n_hosts;
	size_t n_batches;
};

static int compare_ids(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static struct host_steps *find_host(const struct covered *covered, uint32_t id)
{
	return bsearch(&id, covered->hosts, covered->n_hosts, sizeof(*covered->hosts), compare_ids);
}

static int mark_steps(void *arg, uint32_t host, uint64_t first_slot, uint64_t last_slot)
{
	struct covered *covered = arg;
	const struct timeline *timeline = covered->timeline;
	const struct host_steps *steps = find_host(covered, host);
	uint64_t end_slot = timeline->from_slot + timeline->n_steps * timeline->step_slots;

	if (++covered->n_batches > COVERAGE_MAX_BATCHES)
		return -E2BIG;
	if (!steps || last_slot < timeline->from_slot || first_slot >= end_slot)
		return 0;
	first_slot = MAX(first_slot, timeline->from_slot) - timeline->from_slot;
	last_slot = MIN(last_slot, end_slot - 1) - timeline->from_slot;
	for (uint64_t i = first_slot / timeline->step_slots; i <= last_slot / timeline->step_slots;
	     i++)
		steps->ran[i] = 1;
	return 0;
}

static int list_hosts(struct query *query, struct covered *covered)
{
	const struct selection *selection = &query->selection;
	uint32_t *ids = arena_alloc_array(query->arena, selection->n_series, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < selection->n_series; i++)
		ids[i] = selection->series[i].process->host->id;
	qsort(ids, selection->n_series, sizeof(*ids), compare_ids);
	for (size_t i = 0; i < selection->n_series; i++) {
		if (i == 0 || ids[i] != ids[covered->n_hosts - 1])
			ids[covered->n_hosts++] = ids[i];
	}
	covered->ids = ids;
	covered->hosts = arena_alloc_array(query->arena, covered->n_hosts, sizeof(*covered->hosts));
	for (size_t i = 0; covered->hosts && i < covered->n_hosts; i++) {
		covered->hosts[i].host = ids[i];
		covered->hosts[i].ran = arena_alloc(query->arena, covered->timeline->n_steps);
		if (!covered->hosts[i].ran)
			return -ENOMEM;
	}
	return covered->hosts ? 0 : -ENOMEM;
}

static void join_steps(struct timeline_row *row, const uint8_t *ran, size_t n_steps)
{
	for (size_t i = 0; i < n_steps && row->has_value; i++)
		row->has_value[i] |= ran[i];
}

/* Adds the steps in which agents ran to the rows of the groups that have series of their hosts. */
static int read_coverage(struct query *query)
{
	struct timeline *timeline = query->timeline;
	struct covered covered = { .timeline = timeline };
	const struct profile_request *profile = query->request->profile;
	uint32_t previous = 0;
	int r;

	r = list_hosts(query, &covered);
	if (r == 0)
		r = store_scan_coverage(query->view, covered.ids, covered.n_hosts,
					profile->from_slot, profile->to_slot, mark_steps, &covered);
	if (r < 0 && r != -EOPNOTSUPP && r != -E2BIG)
		return r;
	for (size_t i = 0; i < covered.n_hosts; i++) {
		if (r < 0)
			memset(covered.hosts[i].ran, 1, timeline->n_steps);
		join_steps(&timeline->all, covered.hosts[i].ran, timeline->n_steps);
	}
	for (size_t i = 0; i < query->selection.n_series; i++) {
		const struct member *member = &query->members[i];
		uint32_t host = query->selection.series[member->series].process->host->id;

		/* Series of one group and host are usually adjacent. */
		if (i > 0 && host == previous && member->group == query->members[i - 1].group)
			continue;
		join_steps(&query->rows[member->group], find_host(&covered, host)->ran,
			   timeline->n_steps);
		previous = host;
	}
	if (r == -E2BIG)
		profile_message_append(query->message,
				       "more than %d batches: gaps of agents are not shown",
				       COVERAGE_MAX_BATCHES);
	return 0;
}

static int read_losses(struct query *query)
{
	const struct profile_request *profile = query->request->profile;
	const struct losses_range range = {
		.from_slot = profile->from_slot,
		.to_slot = profile->to_slot,
		.now_ns = profile->now_ns,
	};
	struct host_losses *hosts = NULL;
	int r;

	r = losses_of_series(query->view, &range, query->selection.series,
			     query->selection.n_series, query->arena, &hosts,
			     &query->timeline->losses);
	if (r == 0)
		loss_message_append(query->message, profile, hosts, &query->timeline->losses);
	return r;
}

/* Fills the timeline of a selection with series. */
static int fill(struct query *query)
{
	struct store_sums sums = {};
	int r;

	r = number_groups(query);
	if (r == 0)
		r = sum_steps(query, &sums);
	if (r == 0)
		r = fill_rows(query, &sums);
	store_sums_release(&sums);
	if (r == 0)
		r = read_coverage(query);
	if (r < 0)
		return r;
	profile_message_append_damaged(query->message, query->timeline->n_damaged_blocks);
	profile_message_append_removed(query->message, query->view, query->request->profile);
	r = read_losses(query);
	return r < 0 ? r : query->timeline->all.total > 0;
}

static int check_tags(struct query *query, struct profile_request *profile)
{
	struct selection ignored;
	int r = 0;

	/* The selection checks one tag at a time. The last one is checked with the selection. */
	for (size_t i = 0; i < query->request->n_tags && r >= 0; i++) {
		profile->group_by = query->request->tags[i];
		if (i + 1 < query->request->n_tags)
			r = selection_make(query->view, profile, query->arena, &ignored,
					   query->message);
	}
	return MIN(r, 0);
}

int timeline_query(struct store_view *view, const struct timeline_request *request,
		   struct arena *arena, struct timeline *ret_timeline,
		   char ret_message[PROFILE_MESSAGE_SIZE])
{
	struct profile_request profile = *request->profile;
	struct timeline timeline = {
		.from_slot = profile.from_slot,
		.step_slots = request->step_slots,
		.n_steps = (profile.to_slot - profile.from_slot + request->step_slots - 1) /
			   request->step_slots,
	};
	struct query query = { .view = view,
			       .request = request,
			       .arena = arena,
			       .timeline = &timeline,
			       .message = ret_message };
	int r;

	assert(timeline.n_steps > 0 && timeline.n_steps <= STORE_MAX_STEPS);
	ret_message[0] = '\0';
	if ((!profile.service || !profile.service[0]) && !profile.any_services)
		profile.service = TOTAL_SERVICE;
	profile.group_by = NULL;
	if (has_states(&profile)) {
		(void)snprintf(ret_message, PROFILE_MESSAGE_SIZE,
			       "values of %s are states, of which only the last counts: they have "
			       "no sum",
			       profile_event(&profile)->name);
		return -EINVAL;
	}
	r = check_tags(&query, &profile);
	if (r == 0)
		r = row_init(&query, &timeline.all);
	if (r == 0)
		r = selection_make(view, &profile, arena, &query.selection, ret_message);
	if (r > 0)
		r = fill(&query);
	if (r == 0)
		r = no_data_message(view, &profile, &query.selection, arena, ret_message);
	if (r >= 0)
		*ret_timeline = timeline;
	return r;
}
