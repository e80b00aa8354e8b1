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
#include "symbolizer/query/block_sums.h"
#include "symbolizer/query/coverage.h"
#include "symbolizer/query/loss_message.h"
#include "symbolizer/query/profile_message.h"
#include "symbolizer/query/profile_side.h"
#include "symbolizer/query/reduced_sampling.h"
#include "symbolizer/query/selection.h"
#include "symbolizer/query/series_groups.h"
#include "symbolizer/query/stack_tree.h"
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
	struct store_view *view;
	struct resolver *resolver;
	const struct clock *clock;
	const struct profile_request *request;
	struct arena *arena;
	struct selection selection;
	struct host_losses *hosts; /* [stats->losses.n_hosts] */
	struct tree *tree;
	struct series_groups groups;
	struct store_sums sums;
	struct profile_stats *stats;
	struct unresolved_files *unresolved; /* the result instead of a tree; NULL: a tree */
	/* Receives the stacks instead of the tree, which has labels only then; NULL: a tree. */
	const struct stack_visitor *visitor;
	bool lacks_function; /* of which callers or callees are requested */
	char *message;       /* [PROFILE_MESSAGE_SIZE] */
};

static int sum_by_blocks(struct query *query, const struct store_sum_query *sum)
{
	const struct block_sums_query blocks = {
		.sum = *sum,
		.n_groups = query->groups.n_groups,
		.n_blocks = query->request->n_blocks,
	};
	uint32_t n_blocks;
	int r;

	r = block_sums(query->view, &blocks, &query->sums, &n_blocks);
	if (r < 0)
		return r;
	query->stats->n_blocks = n_blocks;
	return series_groups_repeat(&query->groups, n_blocks, query->arena);
}

/* Sums the rows of the selected series in query->sums. */
static int sum_series(struct query *query, const struct store_sum_series *series)
{
	const struct store_sum_query sum = {
		.series = series,
		.n_series = query->selection.n_series,
		.from_slot = query->request->from_slot,
		.to_slot = query->request->to_slot,
		.policy = has_states(query->request) ? STORE_SUM_LAST : STORE_SUM_ADD,
		.without_stacks = query->selection.total,
	};
	uint64_t start_ns = clock_monotonic_ns(query->clock);
	int r;

	query->stats->n_series = sum.n_series;
	query->stats->period_ns = selection_period(&query->selection);
	query->stats->longest_period_ns = selection_longest_period(&query->selection);
	r = query->request->n_blocks > 0 ? sum_by_blocks(query, &sum)
					 : store_sum(query->view, &sum, &query->sums);
	query->stats->scan_ns += clock_monotonic_ns(query->clock) - start_ns;
	if (r < 0)
		return r;
	query->stats->n_rows += query->sums.n_rows;
	query->stats->value_reduced += query->sums.marked_value;
	query->stats->n_damaged_blocks += query->sums.n_damaged_blocks;
	return 0;
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

	r = losses_of_series(query->view, &range, query->selection.series,
			     query->selection.n_series, query->arena, &query->hosts, losses);
	query->stats->covered_s = coverage_seconds(losses->covered_slots);
	return r;
}

/* Maps the store ID of each process to its last slot with a row. */
static int last_reports(const struct query *query, const struct store_sum *items, size_t count,
			struct hash_table **ret_last_slots)
{
	scoped(hash_table_freep) struct hash_table *last_slots = NULL;
	int r;

	r = hash_table_new(sizeof(uint64_t), sizeof(uint64_t), 0, &last_slots);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		const uint64_t *process = &query->groups.groups[items[i].group].process->id;
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
static int forget_freed(const struct query *query, struct store_sum *items, size_t count)
{
	scoped(hash_table_freep) struct hash_table *last_slots = NULL;
	int r;

	r = last_reports(query, items, count, &last_slots);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		const uint64_t *process = &query->groups.groups[items[i].group].process->id;
		const uint64_t *last_slot = hash_table_find(last_slots, process);

		if (last_slot && items[i].last_slot + STATE_STALE_SLOTS < *last_slot)
			items[i].value = 0;
	}
	return 0;
}

/* Moves the items with a value to the front. */
static int live_items(const struct query *query, struct store_sum **ret_items, size_t *ret_count)
{
	struct store_sum *items = query->sums.items;
	const size_t count = query->sums.count;
	size_t kept = 0;
	int r;

	if (has_states(query->request)) {
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

static int add_totals(struct query *query, const struct store_sum *items, size_t count)
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

/* Passes the values of threads to the visitor, as stacks without frames. */
static int visit_totals(struct query *query, const struct store_sum *items, size_t count)
{
	const struct resolved_stacks stacks = {
		.view = query->view,
		.tree = query->tree,
		.groups = &query->groups,
		.stats = query->stats,
	};
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		const struct resolved_stack stack = {
			.value = items[i].value,
			.group = &query->groups.groups[items[i].group],
		};

		query->stats->value_total += stack.value;
		r = query->visitor->visit(query->visitor->arg, &stacks, &stack);
	}
	return MIN(r, 0);
}

static int count_and_visit(void *arg, const struct resolved_stacks *stacks,
			   const struct resolved_stack *stack)
{
	const struct stack_visitor *visitor = arg;

	resolved_stacks_count(stacks, stack, stack->n_frames > 0 ? &stack->frames[0] : NULL);
	return visitor->visit(visitor->arg, stacks, stack);
}

static int add_stacks(struct query *query, struct store_sum *items, size_t count)
{
	const struct stack_visitor counting = {
		.visit = count_and_visit,
		.arg = (void *)query->visitor,
	};
	struct resolved_stacks stacks = {
		.view = query->view,
		.resolver = query->resolver,
		.clock = query->clock,
		.arena = query->arena,
		.tree = query->tree,
		.groups = &query->groups,
		.max_kernel_stack_depth = query->request->max_kernel_stack_depth,
		.no_inlines = query->request->no_inlines,
		.function_starts = query->request->function_starts,
		.stats = query->stats,
	};
	int r;

	r = resolved_stacks_load(&stacks, items, count);
	if (r == 0)
		r = query->visitor ? resolved_stacks_visit(&stacks, items, count, &counting)
				   : stack_tree_add(&stacks, items, count);
	resolved_stacks_release(&stacks);
	return r;
}

static int add_unresolved(struct query *query, struct store_sum *items, size_t count)
{
	const struct unresolved_input input = {
		.view = query->view,
		.resolver = query->resolver,
		.clock = query->clock,
		.arena = query->arena,
		.groups = &query->groups,
		.items = items,
		.n_items = count,
		.stats = query->stats,
	};

	return unresolved_count(&input, query->unresolved);
}

/* Returns 1, or 0 if the tree is to have one side of a function that no stack has. */
static int finish(struct query *query)
{
	uint64_t n_pruned = 0;
	uint32_t n_nodes;
	int r;

	r = profile_side_take(query->request, &query->tree, query->stats);
	query->lacks_function = r == 0;
	if (r <= 0)
		return r;
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
	return 1;
}

static int make_groups(struct query *query)
{
	const struct profile_request *request = query->request;
	const struct series_group_options options = {
		.total = query->selection.total,
		.fold_threads = request->fold_threads || query->unresolved,
		/* Paths of files are those of one process, and a state ends with its process. */
		.per_process = query->unresolved || has_states(request) || request->per_process,
		.group_by = request->group_by && request->group_by[0] ? request->group_by : NULL,
	};

	return series_groups_make(query->selection.series, query->selection.n_series, &options,
				  query->tree, query->arena, &query->groups);
}

static int sum_rows(struct query *query)
{
	const struct selection *selection = &query->selection;
	struct store_sum_series *series;
	bool *reduced;
	int r;

	r = make_groups(query);
	if (r < 0)
		return r;
	r = reduced_sampling_find(selection->series, selection->n_series, query->arena, &reduced);
	if (r < 0)
		return r;
	series = arena_alloc_array(query->arena, selection->n_series, sizeof(*series));
	if (!series)
		return -ENOMEM;
	for (size_t i = 0; i < selection->n_series; i++)
		series[i] = (struct store_sum_series){
			.id = selection->series[i].id,
			.factor = series_factor(&selection->series[i]),
			.group = query->groups.group_of_series[i],
			.marked = reduced[i],
		};
	r = sum_series(query, series);
	if (r < 0)
		return r;
	return query->request->without_losses ? 0 : find_losses(query);
}

/* Builds the tree, or the list of unresolved files. Returns 0 if there are no values, else 1. */
static int build(struct query *query)
{
	struct store_sum *items = NULL;
	size_t count = 0;
	int r;

	r = tree_new(query->selection.label ? query->selection.label : "",
		     query->selection.total ? 'H' : 'P', PROFILE_MAX_NODES, &query->tree);
	if (r < 0)
		return r;
	tree_set_budget(query->tree, query->view->memory);
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
	if (!query->selection.total)
		r = add_stacks(query, items, count);
	else if (query->visitor)
		r = visit_totals(query, items, count);
	else
		r = add_totals(query, items, count);
	if (r < 0)
		return r;
	return query->visitor ? 1 : finish(query);
}

static void append_incomplete(struct query *query)
{
	const struct profile_stats *stats = query->stats;

	profile_message_append_wider(query->message, &query->sums, query->request);
	profile_message_append_removed(query->message, query->view, query->request);
	profile_message_append_damaged(query->message, stats->n_damaged_blocks);
	if (stats->n_tables_pending > 0)
		profile_message_append(
			query->message,
			"the symbol tables of %llu executables are being made: ask again in a "
			"moment for the names of their functions",
			(unsigned long long)stats->n_tables_pending);
	if (stats->value_other > 0)
		profile_message_append(
			query->message,
			"more than %u different stacks, or a part of an hour of which only the "
			"sums are left: %.3g %% of the value is in \"%s\"; choose a shorter or "
			"later time range, a service or a tag_filter for them",
			STORE_SUM_MAX_ITEMS,
			100.0 * (double)stats->value_other / (double)stats->value_total,
			OTHER_STACKS_LABEL);
	profile_message_append_reduced(query->message, stats, query->selection.series,
				       query->selection.n_series);
	loss_message_append(query->message, query->request, query->hosts, &stats->losses);
	loss_message_append_cut(query->message, stats);
}

static int run(struct query *query)
{
	int r;

	r = selection_make(query->view, query->request, query->arena, &query->selection,
			   query->message);
	if (r > 0 && query->selection.total && !has_times(query->request)) {
		(void)snprintf(query->message, PROFILE_MESSAGE_SIZE, "'%s' sums time: it has no %s",
			       TOTAL_SERVICE, profile_event(query->request)->name);
		return 0;
	}
	if (r > 0)
		r = build(query);
	if (r == 0 && query->lacks_function)
		profile_side_describe_missing(query->request, query->message);
	else if (r == 0)
		r = no_data_message(query->view, query->request, &query->selection, query->arena,
				    query->message);
	if (r >= 0)
		append_incomplete(query);
	return r;
}

/* A query without results so far. */
static struct query query_of(struct store_view *view, struct resolver *resolver,
			     const struct clock *clock, const struct profile_request *request,
			     struct profile_stats *stats, char message[PROFILE_MESSAGE_SIZE])
{
	*stats = (struct profile_stats){};
	message[0] = '\0';
	return (struct query){
		.view = view,
		.resolver = resolver,
		.clock = clock,
		.request = request,
		.stats = stats,
		.message = message,
	};
}

static int run_in_arena(struct query *query, struct tree **ret_tree)
{
	scoped(arena_freep) struct arena *arena = NULL;
	int r;

	r = arena_new_in(QUERY_ARENA_MAX_BYTES, query->view->memory, &arena);
	if (r < 0)
		return r;

	query->arena = arena;
	r = run(query);
	store_sums_release(&query->sums);
	if (r > 0 && ret_tree)
		*ret_tree = take_ptr(query->tree);
	tree_free(query->tree);
	return r;
}

int profile_query(struct store_view *view, struct resolver *resolver, const struct clock *clock,
		  const struct profile_request *request, struct tree **ret_tree,
		  struct profile_stats *ret_stats, char ret_message[PROFILE_MESSAGE_SIZE])
{
	struct query query = query_of(view, resolver, clock, request, ret_stats, ret_message);

	return run_in_arena(&query, ret_tree);
}

int profile_visit_stacks(struct store_view *view, struct resolver *resolver,
			 const struct clock *clock, const struct profile_request *request,
			 const struct stack_visitor *visitor, struct profile_stats *ret_stats,
			 char ret_message[PROFILE_MESSAGE_SIZE])
{
	struct query query = query_of(view, resolver, clock, request, ret_stats, ret_message);

	query.visitor = visitor;
	return run_in_arena(&query, NULL);
}

int profile_unresolved(struct store_view *view, struct resolver *resolver,
		       const struct clock *clock, const struct profile_request *request,
		       struct arena *arena, struct unresolved_files *ret_files,
		       struct profile_stats *ret_stats, char ret_message[PROFILE_MESSAGE_SIZE])
{
	struct query query = query_of(view, resolver, clock, request, ret_stats, ret_message);
	int r;

	*ret_files = (struct unresolved_files){};
	query.arena = arena;
	query.unresolved = ret_files;
	r = run(&query);
	store_sums_release(&query.sums);
	tree_free(query.tree);
	return r;
}
