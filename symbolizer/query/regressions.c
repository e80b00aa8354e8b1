/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/regressions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/query/regressions_private.h"

void columns_add(struct columns *sum, const double *values, double sign)
{
	for (size_t i = 0; i < FUNCTION_SHARES_COLUMNS; i++)
		sum->values[i] += sign * values[i];
}

static double sum_of(const double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return sum;
}

static const double *after_of(const double *columns)
{
	return columns + FUNCTION_SHARES_BLOCKS;
}

struct measure measure_columns(const struct search *search, const double *columns)
{
	const struct regressions *result = search->result;
	const struct share_blocks base = { columns, search->whole, search->input->n_base_blocks,
					   result->base_samples };
	const struct share_blocks after = { after_of(columns), after_of(search->whole),
					    search->input->n_after_blocks, result->after_samples };
	struct measure measure = {
		.base = share_estimate_make(&base),
		.after = share_estimate_make(&after),
	};

	measure.change = measure.after.share / result->scale - measure.base.share;
	measure.plain = share_change_interval(&measure.base, &measure.after, 1, result->quantile);
	measure.scaled = share_change_interval(&measure.base, &measure.after, result->scale,
					       result->quantile);
	return measure;
}

static bool has_grown(const struct measure *measure)
{
	return measure->plain.low > 0 && measure->scaled.low > 0;
}

static bool has_shrunk(const struct measure *measure)
{
	return measure->plain.high < 0 && measure->scaled.high < 0;
}

/* Processes, threads and the root are no functions. */
static bool is_function(const struct search *search, uint32_t function)
{
	return function > 0 && !strchr("HPT", search->functions->functions[function].type);
}

static bool is_judged(const struct search *search, uint32_t function)
{
	const struct regressions_input *input = search->input;
	const double *columns = search->total[function].values;
	const double base = sum_of(columns, FUNCTION_SHARES_BLOCKS);
	const double after = sum_of(after_of(columns), FUNCTION_SHARES_BLOCKS);

	if (!is_function(search, function))
		return false;
	if (input->base_period <= 0 || input->after_period <= 0)
		return true;
	return MAX(base / input->base_period, after / input->after_period) >=
	       REGRESSIONS_MIN_SAMPLES;
}

/* Sums self and total of each function by column, and lists its nodes. */
static int sum_functions(struct search *search)
{
	const struct function_table *table = search->functions;

	search->self = arena_alloc_array(search->arena, table->n_functions, sizeof(*search->self));
	search->total =
		arena_alloc_array(search->arena, table->n_functions, sizeof(*search->total));
	search->rank = arena_alloc_array(search->arena, table->n_nodes, sizeof(*search->rank));
	search->end = arena_alloc_array(search->arena, table->n_nodes, sizeof(*search->end));
	search->covered =
		arena_alloc_array(search->arena, table->n_nodes, sizeof(*search->covered));
	search->tested =
		arena_alloc_array(search->arena, table->n_functions, sizeof(*search->tested));
	search->found_by_self = arena_alloc_array(search->arena, table->n_functions,
						  sizeof(*search->found_by_self));
	search->first =
		arena_alloc_array(search->arena, table->n_functions + 2, sizeof(*search->first));
	search->nodes_of =
		arena_alloc_array(search->arena, table->n_nodes, sizeof(*search->nodes_of));
	if (!search->self || !search->total || !search->rank || !search->end || !search->covered ||
	    !search->tested || !search->found_by_self || !search->first || !search->nodes_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->n_functions; i++) {
		search->self[i] = search->total[i] = (struct columns){};
		search->found_by_self[i] = false;
	}
	memset(search->first, 0, (table->n_functions + 2) * sizeof(*search->first));
	return 0;
}

static void number_nodes(struct search *search)
{
	const struct function_table *table = search->functions;

	for (uint32_t i = 0; i < table->n_nodes; i++) {
		search->rank[table->order[i]] = i;
		search->end[i] = 0;
		search->covered[i] = false;
		search->first[table->function_of_node[i] + 2]++;
	}
	for (uint32_t i = 2; i <= table->n_functions; i++)
		search->first[i] += search->first[i - 1];
	for (uint32_t i = 0; i < table->n_nodes; i++) {
		uint32_t node = table->order[i];

		search->nodes_of[search->first[table->function_of_node[node] + 1]++] = node;
	}
	/* The end of a subtree is the largest end of its children. */
	for (uint32_t node = table->n_nodes; node-- > 0;) {
		uint32_t parent = search->nodes[node].parent;

		search->end[node] = MAX(search->end[node], search->rank[node] + 1);
		if (parent != TREE_NO_PARENT)
			search->end[parent] = MAX(search->end[parent], search->end[node]);
	}
}

/* Adds the values of all nodes to their functions; recursion counts once. */
static void add_values(struct search *search)
{
	const struct function_table *table = search->functions;

	for (uint32_t function = 0; function < table->n_functions; function++) {
		uint32_t end = 0;

		for (uint32_t i = search->first[function]; i < search->first[function + 1]; i++) {
			uint32_t node = search->nodes_of[i];

			columns_add(&search->self[function],
				    function_shares_self(search->input->shares, node), 1);
			if (search->rank[node] < end)
				continue;
			end = search->end[node];
			columns_add(&search->total[function],
				    function_shares_total(search->input->shares, node), 1);
		}
	}
}

struct weighted {
	double ratio, weight;
};

static int compare_ratios(const void *left, const void *right)
{
	const struct weighted *a = left, *b = right;

	return a->ratio < b->ratio ? -1 : a->ratio > b->ratio;
}

/* Sets the scale: the median of all functions' ratios, weighted with their shares before. */
static int find_scale(struct search *search)
{
	const uint32_t count = search->functions->n_functions;
	const double base = sum_of(search->whole, FUNCTION_SHARES_BLOCKS);
	const double after = sum_of(after_of(search->whole), FUNCTION_SHARES_BLOCKS);
	struct weighted *ratios = arena_alloc_array(search->arena, count, sizeof(*ratios));
	double half = 0, seen = 0;
	size_t used = 0;

	search->result->scale = 1;
	if (!ratios)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		double before = sum_of(search->self[i].values, FUNCTION_SHARES_BLOCKS) / base;
		double now =
			sum_of(after_of(search->self[i].values), FUNCTION_SHARES_BLOCKS) / after;

		if (!is_judged(search, i) || before <= 0 || now <= 0)
			continue;
		ratios[used++] = (struct weighted){ now / before, before };
		half += before / 2;
	}
	if (used > 0)
		qsort(ratios, used, sizeof(*ratios), compare_ratios);
	for (size_t i = 0; i < used; i++) {
		seen += ratios[i].weight;
		if (seen >= half) {
			search->result->scale = ratios[i].ratio;
			break;
		}
	}
	return 0;
}

static void add_row(struct search *search, uint32_t function, bool by_total,
		    enum regression_kind kind, const struct measure *measure)
{
	const struct function *described = &search->functions->functions[function];
	const double before = measure->base.share;

	search->result->rows[search->result->count++] = (struct regression){
		.label = tree_label(search->tree, described->first_node),
		.type = described->type,
		.kind = kind,
		.by_total = by_total,
		.base = measure->base,
		.after = measure->after,
		.base_interval = share_estimate_interval(&measure->base, search->result->quantile),
		.after_interval =
			share_estimate_interval(&measure->after, search->result->quantile),
		.change = measure->change,
		.change_interval = measure->scaled,
		.growth = before > 0 ? measure->change / before : INFINITY,
	};
}

static void add_growth(struct search *search, uint32_t function, bool by_total,
		       const double *columns, const struct measure *measure)
{
	uint32_t within = find_moved(search, function, by_total, measure);
	enum regression_kind kind = within != UINT32_MAX                  ? REGRESSION_MOVED
				    : went_away(search, columns, measure) ? REGRESSION_WENT_AWAY
									  : REGRESSION_REGRESSED;

	add_row(search, function, by_total, kind, measure);
	if (within != UINT32_MAX)
		search->result->rows[search->result->count - 1].within =
			tree_label(search->tree, search->functions->functions[within].first_node);
}

static void judge_self(struct search *search)
{
	for (uint32_t i = 0; i < search->functions->n_functions; i++) {
		struct measure measure;

		if (!is_judged(search, i))
			continue;
		measure = measure_columns(search, search->self[i].values);
		search->found_by_self[i] = has_grown(&measure);
		if (search->found_by_self[i])
			add_growth(search, i, false, search->self[i].values, &measure);
		else if (has_shrunk(&measure))
			add_row(search, i, false, REGRESSION_IMPROVED, &measure);
	}
	for (uint32_t i = 0; i < search->functions->n_nodes; i++)
		search->covered[i] = search->found_by_self[search->functions->function_of_node[i]];
}

/* The total of a function without nodes that were found before; covers these if @cover is set. */
static void rest_of(struct search *search, uint32_t function, bool cover, struct columns *ret_rest)
{
	uint32_t end = 0;

	*ret_rest = (struct columns){};
	for (uint32_t i = search->first[function]; i < search->first[function + 1]; i++) {
		uint32_t node = search->nodes_of[i];

		for (uint32_t rank = MAX(search->rank[node], end); rank < search->end[node];
		     rank++) {
			uint32_t below = search->functions->order[rank];

			if (!search->covered[below])
				columns_add(ret_rest,
					    function_shares_self(search->input->shares, below), 1);
			search->covered[below] |= cover;
		}
		end = MAX(end, search->end[node]);
	}
}

struct candidate {
	uint32_t function;
	double total;
};

static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->total != b->total)
		return a->total < b->total ? -1 : 1;
	return a->function < b->function ? -1 : 1;
}

/* Callees have smaller totals than their callers, and are judged first. */
static int judge_totals(struct search *search)
{
	const uint32_t count = search->functions->n_functions;
	struct candidate *candidates = arena_alloc_array(search->arena, count, sizeof(*candidates));
	size_t n_candidates = 0;

	if (!candidates)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct measure measure;

		if (search->found_by_self[i] || !is_judged(search, i))
			continue;
		measure = measure_columns(search, search->total[i].values);
		if (has_grown(&measure))
			candidates[n_candidates++] =
				(struct candidate){ i, measure.base.share + measure.after.share };
	}
	if (n_candidates > 0)
		qsort(candidates, n_candidates, sizeof(*candidates), compare_candidates);
	for (size_t i = 0; i < n_candidates; i++) {
		const uint32_t function = candidates[i].function;
		struct measure measure;
		struct columns rest;

		rest_of(search, function, false, &rest);
		measure = measure_columns(search, rest.values);
		if (!has_grown(&measure))
			continue;
		add_growth(search, function, true, rest.values, &measure);
		rest_of(search, function, true, &rest);
	}
	return 0;
}

static int compare_rows(const void *left, const void *right)
{
	const struct regression *a = left, *b = right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (fabs(a->change) != fabs(b->change))
		return fabs(a->change) > fabs(b->change) ? -1 : 1;
	return strcmp(a->label, b->label);
}

static double samples_of(const double *whole, double period)
{
	return period > 0 ? sum_of(whole, FUNCTION_SHARES_BLOCKS) / period : 0;
}

/* Divides the error probability by the number of intervals: self and total of each function. */
static void set_quantile(struct search *search)
{
	struct regressions *result = search->result;

	for (uint32_t i = 0; i < search->functions->n_functions; i++)
		result->n_judged += is_judged(search, i);
	result->quantile = normal_quantile(1 - (1 - search->input->confidence) / 4 /
						       (double)MAX(result->n_judged, (size_t)1));
}

int regressions_find(const struct regressions_input *input, struct arena *arena,
		     struct regressions *ret_regressions)
{
	struct regressions result = {};
	struct search search = {
		.input = input,
		.tree = function_shares_tree(input->shares),
		.functions = function_shares_functions(input->shares),
		.arena = arena,
		.whole = function_shares_total(input->shares, 0),
		.result = &result,
	};
	uint32_t n_nodes;
	int r;

	search.nodes = tree_nodes(search.tree, &n_nodes);
	result.base_samples = samples_of(search.whole, input->base_period);
	result.after_samples = samples_of(after_of(search.whole), input->after_period);
	/* A function has at most a row for self, and one for total. */
	result.rows = arena_alloc_array(arena, 2 * (size_t)search.functions->n_functions,
					sizeof(*result.rows));
	r = result.rows ? sum_functions(&search) : -ENOMEM;
	if (r < 0)
		return r;
	number_nodes(&search);
	add_values(&search);
	set_quantile(&search);
	r = find_scale(&search);
	if (r < 0)
		return r;
	judge_self(&search);
	r = judge_totals(&search);
	if (r < 0)
		return r;
	if (result.count > 0)
		qsort(result.rows, result.count, sizeof(*result.rows), compare_rows);
	*ret_regressions = result;
	return 0;
}
