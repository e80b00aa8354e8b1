/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Series are sorted by group, then by host, process and thread: a group is a run of them, and its
 * hosts, processes and threads count themselves.
 */

#include "symbolizer/query/group_sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/query/filter/tags.h"
#include "symbolizer/query/no_data_message.h"
#include "symbolizer/query/selection.h"

/* A series in its group, and what it sampled. */
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

/* *ret_text NULL: the series has no such tag. */
static int join_values(const struct store_series *series, const char *name, struct arena *arena,
		       const char **ret_text)
{
	struct series_tags tags = { .series = series };
	const char *const *values = NULL;
	size_t n_values = series_tag_values(&tags, name, &values);
	const char *text = NULL;

	for (size_t i = 0; i < n_values; i++) {
		text = arena_format(arena, "%s%s%s", text ? text : "", text ? "," : "", values[i]);
		if (!text)
			return -ENOMEM;
	}
	*ret_text = text;
	return 0;
}

static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static int add_sample(void *arg, uint32_t series_index, uint64_t stack, uint64_t slot,
		      uint64_t value)
{
	struct member *member = &((struct member *)arg)[series_index];
	uint64_t period_ns = member->series->period_ns;

	(void)stack;
	if (period_ns != 0 && __builtin_mul_overflow(value, period_ns, &value))
		value = UINT64_MAX;
	member->value = add(member->value, value);
	member->last_slot = MAX(member->last_slot, slot);
	return 0;
}

/* All series of the selection, with their values; returns how many damaged blocks were left out. */
static int scan_members(struct store *store, const struct profile_request *request,
			const struct selection *selection, struct arena *arena,
			struct member **ret_members)
{
	struct member *members = arena_alloc_array(arena, selection->n_series, sizeof(*members));
	uint32_t *ids = arena_alloc_array(arena, selection->n_series, sizeof(*ids));
	int r;

	if (!members || !ids)
		return -ENOMEM;
	for (size_t i = 0; i < selection->n_series; i++) {
		members[i] = (struct member){ .series = &selection->series[i] };
		ids[i] = selection->series[i].id;
	}
	r = store_scan(store, ids, selection->n_series, request->from_slot, request->to_slot,
		       add_sample, members);
	*ret_members = members;
	return r;
}

/* Keeps those with samples in the range, sorted by group. */
static int group_members(struct member *members, size_t count, const char *group_by,
			 struct arena *arena, size_t *ret_kept)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		int r = 0;

		if (members[i].value == 0)
			continue;
		if (group_by)
			r = join_values(members[i].series, group_by, arena, &members[i].tag);
		if (r < 0)
			return r;
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

/* @previous: of the same group, or NULL. */
static void add_member(struct group_sum *row, const struct member *member,
		       const struct member *previous)
{
	const struct store_series *series = member->series;
	const struct store_series *before = previous ? previous->series : NULL;
	bool new_host = !before || before->process->host->id != series->process->host->id;
	bool new_process = !before || before->process->id != series->process->id;

	row->value = add(row->value, member->value);
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
		sums->total = add(sums->total, members[i].value);
		previous = &members[i];
	}
	qsort(sums->rows, sums->count, sizeof(*sums->rows), compare_rows);
}

static int sum_selection(struct store *store, const struct profile_request *request,
			 const struct selection *selection, struct arena *arena,
			 struct group_sums *ret_sums)
{
	const char *group_by = request->group_by && request->group_by[0] ? request->group_by : NULL;
	struct group_sums sums = {};
	struct member *members;
	size_t count;
	int r;

	r = scan_members(store, request, selection, arena, &members);
	if (r >= 0)
		ret_sums->n_damaged_blocks = (uint64_t)r;
	if (r >= 0)
		r = group_members(members, selection->n_series, group_by, arena, &count);
	if (r < 0 || count == 0)
		return r;
	sums.n_damaged_blocks = ret_sums->n_damaged_blocks;
	sums.rows = arena_alloc_array(arena, count, sizeof(*sums.rows));
	if (!sums.rows)
		return -ENOMEM;
	make_rows(members, count, group_by, &sums);
	*ret_sums = sums;
	return 1;
}

static void say_what_is_damaged(uint64_t n_damaged, char message[PROFILE_MESSAGE_SIZE])
{
	size_t used = strlen(message);

	if (n_damaged > 0)
		(void)snprintf(message + used, PROFILE_MESSAGE_SIZE - used,
			       "%s%llu damaged blocks of samples are left out",
			       used > 0 ? "; " : "", (unsigned long long)n_damaged);
}

int group_sums_query(struct store *store, const struct profile_request *request,
		     struct arena *arena, struct group_sums *ret_sums,
		     char ret_message[PROFILE_MESSAGE_SIZE])
{
	struct profile_request asked = *request;
	struct selection selection;
	int r;

	*ret_sums = (struct group_sums){};
	ret_message[0] = '\0';
	if (!asked.service || !asked.service[0])
		asked.service = TOTAL_SERVICE;
	if (is_state_type(asked.type)) {
		(void)snprintf(ret_message, PROFILE_MESSAGE_SIZE,
			       "values of %s are states, of which the last one counts: there is no "
			       "sum of them",
			       event_type_name(asked.type));
		return -EINVAL;
	}
	r = selection_make(store, &asked, arena, &selection, ret_message);
	if (r > 0)
		r = sum_selection(store, &asked, &selection, arena, ret_sums);
	if (r == 0)
		r = no_data_message(store, &asked, &selection, arena, ret_message);
	if (r >= 0)
		say_what_is_damaged(ret_sums->n_damaged_blocks, ret_message);
	return r;
}
