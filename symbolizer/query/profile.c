/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a query: select series, sum their rows per (group, stack), name the frames of the
 * stacks, add the stacks to the tree. Total needs no stacks: the value of a row is added to the
 * node of its thread.
 */

#include "symbolizer/query/profile.h"

#include <stdio.h>
#include <string.h>

#include "common/hash_table.h"
#include "common/limits.h"
#include "symbolizer/flame/prune.h"
#include "symbolizer/query/coverage.h"
#include "symbolizer/query/loss_message.h"
#include "symbolizer/query/profile_message.h"
#include "symbolizer/query/reduced_sampling.h"
#include "symbolizer/query/selection.h"
#include "symbolizer/query/series_groups.h"
#include "symbolizer/query/stack_tree.h"
#include "symbolizer/query/stack_values.h"
#include "symbolizer/query/unresolved.h"

/* Memory of a query without its tree. A stack of 50 frames takes 1 KiB with its names. */
#define QUERY_ARENA_MAX_BYTES GIB

/*
 * An agent reports all memory in use every 10 s. Memory that is missing in the last report of its
 * process was freed. Rows up to half that interval before the last one count as the last report,
 * because several batches can carry it.
 */
#define STATE_STALE_SLOTS (5 * NSEC_PER_SEC / SLOT_NS)

struct query {
	struct store *store;
	struct resolver *resolver;
	const struct clock *clock;
	const struct profile_request *request;
	struct arena *arena;
	struct selection selection;
	bool *reduced;             /* [selection.n_series] */
	struct host_losses *hosts; /* [stats->losses.n_hosts] */
	struct tree *tree;
	struct series_groups groups;
	struct stack_values *values;
	struct profile_stats *stats;
	struct unresolved_files *unresolved; /* the result instead of a tree; NULL: a tree */
	char *message;                       /* [PROFILE_MESSAGE_SIZE] */
};

static int add_row(void *arg, uint32_t series_index, uint64_t stack, uint64_t slot, uint64_t value)
{
	struct query *query = arg;
	uint32_t group = query->groups.group_of_series[series_index];

	query->stats->n_rows++;
	value = series_value(&query->selection.series[series_index], value);
	if (query->reduced[series_index])
		query->stats->value_reduced += value;
	if (query->selection.total)
		stack = 0;
	if (is_state_type(query->request->type))
		return stack_values_replace(query->values, group, stack, slot, value);
	return stack_values_add(query->values, group, stack, slot, value);
}

static int scan(struct query *query)
{
	const struct selection *selection = &query->selection;
	uint32_t *ids = arena_alloc_array(query->arena, selection->n_series, sizeof(*ids));
	const struct store_range range = {
		.series_ids = ids,
		.n_series = selection->n_series,
		.from_slot = query->request->from_slot,
		.to_slot = query->request->to_slot,
		.cancel = query->request->cancel,
	};
	uint64_t start_ns = clock_monotonic_ns(query->clock);
	int r;

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < selection->n_series; i++)
		ids[i] = selection->series[i].id;
	query->stats->n_series = selection->n_series;
	r = store_scan(query->store, &range, add_row, query);
	query->stats->scan_ns += clock_monotonic_ns(query->clock) - start_ns;
	query->stats->n_damaged_blocks += (uint64_t)MAX(r, 0);
	if (r == -ENOSPC) {
		(void)snprintf(query->message, PROFILE_MESSAGE_SIZE,
			       "more than %u different stacks: choose a shorter time range, a "
			       "service or a tag_filter",
			       STACK_VALUES_MAX);
		return -EINVAL;
	}
	return MIN(r, 0);
}

static int find_losses(struct query *query)
{
	const struct losses_range range = {
		.from_slot = query->request->from_slot,
		.to_slot = query->request->to_slot,
		.now_ns = query->request->now_ns,
	};
	struct losses *losses = &query->stats->losses;
	int r;

	r = losses_of_series(query->store, &range, query->selection.series,
			     query->selection.n_series, query->arena, &query->hosts, losses);
	query->stats->covered_s = coverage_seconds(losses->covered_slots);
	return r;
}

/* Maps the store ID of each process to its last slot with a row. */
static int last_reports(const struct query *query, const struct stack_value *items, size_t count,
			struct hash_table **ret_last_slots)
{
	scoped(hash_table_freep) struct hash_table *last_slots = NULL;
	int r;

	r = hash_table_new(sizeof(uint32_t), sizeof(uint64_t), 0, &last_slots);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		const uint32_t *process = &query->groups.groups[items[i].group].process->id;
		void *value;

		r = hash_table_insert(last_slots, process, &value);
		if (r < 0)
			return r;
		*(uint64_t *)value = MAX(*(uint64_t *)value, items[i].last_slot);
	}
	*ret_last_slots = take_ptr(last_slots);
	return 0;
}

/* Sets the values that are missing in the last report of their process to 0. */
static int forget_freed(const struct query *query, struct stack_value *items, size_t count)
{
	scoped(hash_table_freep) struct hash_table *last_slots = NULL;
	int r;

	r = last_reports(query, items, count, &last_slots);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		const uint32_t *process = &query->groups.groups[items[i].group].process->id;
		const uint64_t *last_slot = hash_table_find(last_slots, process);

		if (last_slot && items[i].last_slot + STATE_STALE_SLOTS < *last_slot)
			items[i].value = 0;
	}
	return 0;
}

/* Moves the items with a value to the front. */
static int live_items(const struct query *query, struct stack_value **ret_items, size_t *ret_count)
{
	size_t count;
	struct stack_value *items = stack_values_items(query->values, &count);
	size_t kept = 0;
	int r;

	if (is_state_type(query->request->type)) {
		r = forget_freed(query, items, count);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < count; i++) {
		if (items[i].value > 0)
			items[kept++] = items[i];
	}
	*ret_items = items;
	*ret_count = kept;
	return 0;
}

static int add_totals(struct query *query, const struct stack_value *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t node;
		int r;

		r = series_group_node(&query->groups.groups[items[i].group], query->tree, &node);
		if (r < 0)
			return r;
		tree_add_self(query->tree, node, items[i].value);
		query->stats->value_total += items[i].value;
	}
	return 0;
}

static int add_stacks(struct query *query, struct stack_value *items, size_t count)
{
	const struct stack_tree build = {
		.store = query->store,
		.resolver = query->resolver,
		.clock = query->clock,
		.arena = query->arena,
		.tree = query->tree,
		.groups = &query->groups,
		.max_kernel_stack_depth = query->request->max_kernel_stack_depth,
		.no_inlines = query->request->no_inlines,
		.function_starts = query->request->function_starts,
		.cancel = query->request->cancel,
		.stats = query->stats,
	};

	return stack_tree_add(&build, items, count);
}

static int add_unresolved(struct query *query, struct stack_value *items, size_t count)
{
	const struct unresolved_input input = {
		.store = query->store,
		.resolver = query->resolver,
		.clock = query->clock,
		.arena = query->arena,
		.groups = &query->groups,
		.items = items,
		.n_items = count,
		.cancel = query->request->cancel,
		.stats = query->stats,
	};

	return unresolved_count(&input, query->unresolved);
}

static int finish(struct query *query)
{
	uint64_t n_pruned = 0;
	uint32_t n_nodes;
	int r;

	r = tree_finish_rounded(query->tree, query->request->value_unit);
	if (r < 0)
		return r;
	if (query->request->max_nodes > 0) {
		r = tree_prune(query->tree, query->request->max_nodes, &n_pruned);
		if (r < 0)
			return r;
	}
	(void)tree_nodes(query->tree, &n_nodes);
	query->stats->n_nodes = n_nodes;
	query->stats->n_nodes_pruned = n_pruned;
	return 0;
}

static int make_groups(struct query *query)
{
	const struct profile_request *request = query->request;
	const struct series_group_options options = {
		.total = query->selection.total,
		.fold_threads = request->fold_threads || query->unresolved,
		.group_by = request->group_by && request->group_by[0] ? request->group_by : NULL,
	};

	return series_groups_make(query->selection.series, query->selection.n_series, &options,
				  query->tree, query->arena, &query->groups);
}

/* Scans the selected series and sums their rows in query->values. */
static int sum_rows(struct query *query)
{
	int r;

	r = make_groups(query);
	if (r < 0)
		return r;
	r = reduced_sampling_find(query->selection.series, query->selection.n_series, query->arena,
				  &query->reduced);
	if (r < 0)
		return r;
	r = stack_values_new(&query->values);
	if (r < 0)
		return r;
	r = scan(query);
	if (r < 0)
		return r;
	return find_losses(query);
}

/* Builds the tree, or the list of unresolved files. Returns 0 if there are no values, else 1. */
static int build(struct query *query)
{
	struct stack_value *items = NULL;
	size_t count = 0;
	int r;

	r = tree_new(query->selection.label ? query->selection.label : "",
		     query->selection.total ? 'H' : 'P', PROFILE_MAX_NODES, &query->tree);
	if (r < 0)
		return r;
	r = sum_rows(query);
	if (r < 0)
		return r;
	r = live_items(query, &items, &count);
	if (r < 0 || count == 0)
		return r;

	if (query->unresolved) {
		r = add_unresolved(query, items, count);
		return r < 0 ? r : 1;
	}
	r = query->selection.total ? add_totals(query, items, count)
				   : add_stacks(query, items, count);
	if (r < 0)
		return r;
	r = finish(query);
	return r < 0 ? r : 1;
}

/* Appends the share of reduced sampling, and the hosts that reduce it now. */
static void append_reduced(struct query *query)
{
	const struct profile_stats *stats = query->stats;
	char hosts[PROFILE_MESSAGE_SIZE];

	if (stats->value_reduced > 0)
		profile_message_append(
			query->message,
			"%.3g %% was sampled at a lower frequency, to keep the agent within its "
			"budget: values are right, but rest on fewer samples",
			100.0 * (double)stats->value_reduced / (double)stats->value_total);
	if (reduced_sampling_describe_hosts(query->selection.series, query->selection.n_series,
					    hosts, sizeof(hosts)) == 0 &&
	    hosts[0])
		profile_message_append(query->message, "%s", hosts);
}

static void append_incomplete(struct query *query)
{
	const struct profile_stats *stats = query->stats;

	profile_message_append_damaged(query->message, stats->n_damaged_blocks);
	if (stats->n_tables_pending > 0)
		profile_message_append(
			query->message,
			"the symbol tables of %llu executables are being made: ask again in a "
			"moment for the names of their functions",
			(unsigned long long)stats->n_tables_pending);
	append_reduced(query);
	loss_message_append(query->message, query->request->type, query->hosts, &stats->losses);
	loss_message_append_cut(query->message, stats);
}

static int run(struct query *query)
{
	int r;

	r = selection_make(query->store, query->request, query->arena, &query->selection,
			   query->message);
	if (r > 0 && query->selection.total && !is_time_type(query->request->type)) {
		(void)snprintf(query->message, PROFILE_MESSAGE_SIZE, "'%s' sums time: it has no %s",
			       TOTAL_SERVICE, event_type_name(query->request->type));
		return 0;
	}
	if (r > 0)
		r = build(query);
	if (r == 0)
		r = no_data_message(query->store, query->request, &query->selection, query->arena,
				    query->message);
	if (r >= 0)
		append_incomplete(query);
	return r;
}

int profile_query(struct store *store, struct resolver *resolver, const struct clock *clock,
		  const struct profile_request *request, struct tree **ret_tree,
		  struct profile_stats *ret_stats, char ret_message[PROFILE_MESSAGE_SIZE])
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct query query = {
		.store = store,
		.resolver = resolver,
		.clock = clock,
		.request = request,
		.stats = ret_stats,
		.message = ret_message,
	};
	int r;

	*ret_stats = (struct profile_stats){};
	ret_message[0] = '\0';
	r = arena_new(QUERY_ARENA_MAX_BYTES, &arena);
	if (r < 0)
		return r;

	query.arena = arena;
	r = run(&query);
	stack_values_free(query.values);
	if (r > 0)
		*ret_tree = take_ptr(query.tree);
	tree_free(query.tree);
	return r;
}

int profile_unresolved(struct store *store, struct resolver *resolver, const struct clock *clock,
		       const struct profile_request *request, struct arena *arena,
		       struct unresolved_files *ret_files, struct profile_stats *ret_stats,
		       char ret_message[PROFILE_MESSAGE_SIZE])
{
	struct query query = {
		.store = store,
		.resolver = resolver,
		.clock = clock,
		.request = request,
		.arena = arena,
		.stats = ret_stats,
		.unresolved = ret_files,
		.message = ret_message,
	};
	int r;

	*ret_files = (struct unresolved_files){};
	*ret_stats = (struct profile_stats){};
	ret_message[0] = '\0';
	r = run(&query);
	stack_values_free(query.values);
	tree_free(query.tree);
	return r;
}
