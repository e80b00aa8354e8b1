/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series are sorted by group, then by host, process and thread, so that one pass sums each group
 * and counts its hosts, processes and threads.
 */

#include "symbolizer/query/group_sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/flame/saturating_add.h"
#include "symbolizer/query/filter/tags.h"
#include "symbolizer/query/loss_message.h"
#include "symbolizer/query/profile_message.h"
#include "symbolizer/query/selection.h"

/* A series, the value of its tag, and the sum of its samples. */
struct member {
	const struct store_series *series;
	const char *tag;
	uint64_t value;
	uint64_t last_slot;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_tags(const char *a, const char *b)
{
	if (!a || !b)
		return !a - !b;
	return strcmp(a, b);
}

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left;
	const struct member *b = right;
	const struct store_process *p = a->series->process;
	const struct store_process *q = b->series->process;
	int order = compare_tags(a->tag, b->tag);

	if (order == 0)
		order = compare_numbers(p->host->id, q->host->id);
	if (order == 0)
		order = compare_numbers(p->id, q->id);
	return order ? order : compare_numbers(a->series->tid, b->series->tid);
}

static int compare_rows(const void *left, const void *right)
{
	const struct group_sum *a = left;
	const struct group_sum *b = right;
	int order = compare_numbers(b->value, a->value);

	if (order == 0)
		order = compare_tags(a->tag, b->tag);
	return order ? order : compare_numbers(a->process->id, b->process->id);
}

/* Sums the samples of each selected series. */
static int sum_members(struct store_view *view, const struct profile_request *request,
		       const struct selection *selection, struct arena *arena,
		       struct member **ret_members, uint64_t *ret_n_damaged_blocks)
{
	struct member *members = arena_alloc_array(arena, selection->n_series, sizeof(*members));
	struct store_sum_series *series =
		arena_alloc_array(arena, selection->n_series, sizeof(*series));
	const struct store_sum_query query = {
		.series = series,
		.n_series = selection->n_series,
		.from_slot = request->from_slot,
		.to_slot = request->to_slot,
		.without_stacks = true,
		.last_slots = true,
	};
	struct store_sums sums = {};
	int r;

	if (!members || !series)
		return -ENOMEM;
	for (size_t i = 0; i < selection->n_series; i++) {
		members[i] = (struct member){ .series = &selection->series[i] };
		series[i] = (struct store_sum_series){
			.id = selection->series[i].id,
			.factor = series_factor(&selection->series[i]),
			.group = (uint32_t)i,
		};
	}
	r = store_sum(view, &query, &sums);
	if (r < 0)
		return r;
	for (size_t i = 0; i < sums.count; i++) {
		members[sums.items[i].group].value = sums.items[i].value;
		members[sums.items[i].group].last_slot = sums.items[i].last_slot;
	}
	*ret_members = members;
	*ret_n_damaged_blocks = sums.n_damaged_blocks;
	store_sums_release(&sums);
	return 0;
}

/* Keeps the members with samples in the range, and sorts them by group. */
static int group_members(struct member *members, size_t count, const char *group_by,
			 struct arena *arena, size_t *ret_kept)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (members[i].value == 0)
			continue;
		if (group_by) {
			int r = series_tag_join(members[i].series, group_by, arena,
						&members[i].tag);

			if (r < 0)
				return r;
		}
		members[kept++] = members[i];
	}
	qsort(members, kept, sizeof(*members), compare_members);
	*ret_kept = kept;
	return 0;
}

static bool begins_group(const struct member *member, const struct member *previous, bool by_tag)
{
	if (!previous)
		return true;
	return by_tag ? compare_tags(member->tag, previous->tag) != 0
		      : member->series->process->id != previous->series->process->id;
}

/* @previous: the member before, if it is in the same group; else NULL. */
static void add_member(struct group_sum *row, const struct member *member,
		       const struct member *previous)
{
	const struct store_series *series = member->series;
	const struct store_series *before = previous ? previous->series : NULL;
	bool new_host = !before || before->process->host->id != series->process->host->id;
	bool new_process = !before || before->process->id != series->process->id;

	row->value = saturating_add(row->value, member->value);
	row->last_slot = MAX(row->last_slot, member->last_slot);
	row->n_hosts += new_host;
	row->n_processes += new_process;
	row->n_threads += new_process || before->tid != series->tid;
}

static void make_rows(const struct member *members, size_t n_members, bool by_tag,
		      struct group_sums *sums)
{
	const struct member *previous = NULL;

	for (size_t i = 0; i < n_members; i++) {
		if (begins_group(&members[i], previous, by_tag)) {
			sums->rows[sums->count++] = (struct group_sum){
				.process = members[i].series->process,
				.tag = members[i].tag,
			};
			previous = NULL;
		}
		add_member(&sums->rows[sums->count - 1], &members[i], previous);
		sums->total = saturating_add(sums->total, members[i].value);
		previous = &members[i];
	}
	qsort(sums->rows, sums->count, sizeof(*sums->rows), compare_rows);
}

static int sum_selection(struct store_view *view, const struct profile_request *request,
			 const struct selection *selection, struct arena *arena,
			 struct group_sums *ret_sums)
{
	const char *group_by = request->group_by && request->group_by[0] ? request->group_by : NULL;
	struct member *members;
	size_t count;
	int r;

	r = sum_members(view, request, selection, arena, &members, &ret_sums->n_damaged_blocks);
	if (r < 0)
		return r;
	r = group_members(members, selection->n_series, group_by, arena, &count);
	if (r < 0 || count == 0)
		return r;
	ret_sums->rows = arena_alloc_array(arena, count, sizeof(*ret_sums->rows));
	if (!ret_sums->rows)
		return -ENOMEM;
	make_rows(members, count, group_by, ret_sums);
	return 1;
}

/* Returns 1 or a negative errno. */
static int read_losses(struct store_view *view, const struct profile_request *request,
		       const struct selection *selection, struct arena *arena,
		       struct losses *ret_losses, struct host_losses **ret_hosts)
{
	const struct losses_range range = {
		.from_slot = request->from_slot,
		.to_slot = request->to_slot,
		.now_ns = request->now_ns,
	};
	int r;

	r = losses_of_series(view, &range, selection->series, selection->n_series, arena, ret_hosts,
			     ret_losses);
	return r < 0 ? r : 1;
}

int group_sums_query(struct store_view *view, const struct profile_request *request,
		     struct arena *arena, struct group_sums *ret_sums,
		     char ret_message[PROFILE_MESSAGE_SIZE])
{
	struct profile_request query = *request;
	struct selection selection;
	struct host_losses *hosts = NULL;
	int r;

	*ret_sums = (struct group_sums){};
	ret_message[0] = '\0';
	if (!query.service || !query.service[0])
		query.service = TOTAL_SERVICE;
	if (has_states(&query)) {
		(void)snprintf(ret_message, PROFILE_MESSAGE_SIZE,
			       "values of %s are states, of which only the last counts: they have "
			       "no sum",
			       profile_event(&query)->name);
		return -EINVAL;
	}
	r = selection_make(view, &query, arena, &selection, ret_message);
	if (r > 0)
		r = sum_selection(view, &query, &selection, arena, ret_sums);
	if (r > 0)
		r = read_losses(view, &query, &selection, arena, &ret_sums->losses, &hosts);
	if (r == 0)
		r = no_data_message(view, &query, &selection, arena, ret_message);
	if (r < 0)
		return r;
	profile_message_append_damaged(ret_message, ret_sums->n_damaged_blocks);
	loss_message_append(ret_message, &query, hosts, &ret_sums->losses);
	return r;
}
