/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the files of regressions.h share. */

#include "symbolizer/query/regressions.h"

/* Values by column (function_shares.h). */
struct columns {
	double values[FUNCTION_SHARES_COLUMNS];
};

struct search {
	const struct regressions_input *input;
	const struct tree *tree;
	const struct tree_node *nodes;
	const struct function_table *functions;
	struct arena *arena;
	struct columns *self, *total; /* [n_functions] */
	const double *whole;
	uint32_t *rank;      /* [n_nodes] position in functions->order */
	uint32_t *end;       /* [n_nodes] position behind the subtree */
	uint32_t *first;     /* [n_functions + 1] */
	uint32_t *nodes_of;  /* nodes of function f: nodes_of[first[f] .. first[f + 1]) by rank */
	bool *covered;       /* [n_nodes] self belongs to a function that was found */
	bool *tested;        /* [n_functions] as a caller of the function that is judged */
	bool *found_by_self; /* [n_functions] */
	struct regressions *result;
};

/* What is measured about a function or a part of it. */
struct measure {
	struct share_estimate base, after;
	double change; /* scaled */
	struct share_interval plain, scaled;
};

struct measure measure_columns(const struct search *search, const double *columns);

/* Adds the node's column values to @sum, or subtracts them with @sign -1. */
void columns_add(struct columns *sum, const double *values, double sign);

/*
 * Returns the function below which as much cost was saved as @function added, or UINT32_MAX.
 * @growth: the function's measure; @by_total: its totals are meant.
 */
uint32_t find_moved(const struct search *search, uint32_t function, bool by_total,
		    const struct measure *growth);

/* True if the growth had ended before the range did. */
bool went_away(const struct search *search, const double *columns, const struct measure *growth);
