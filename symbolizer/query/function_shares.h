/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Two profiles, the base and the one after it, as one tree with a value per node and block of time:
 * the input of regressions.h. Stacks are added with function_shares_visitor(), first those of one
 * side, then those of the other; function_shares_finish() ends this.
 */

#include "symbolizer/flame/function_table.h"
#include "symbolizer/query/resolved_stacks.h"

/*
 * Blocks of each side (share_interval.h). More blocks know the variance better, fewer are longer,
 * and a block must be long compared with the phases of a program. 32 add 10 % to the width of an
 * interval.
 */
#define FUNCTION_SHARES_BLOCKS 32

/* Values of a node: those of the base's blocks, then those of the blocks after. */
#define FUNCTION_SHARES_COLUMNS (2 * FUNCTION_SHARES_BLOCKS)

/* Nodes of the tree, with 512 bytes of values each. The rest of a longer stack is left out. */
#define FUNCTION_SHARES_MAX_NODES (1u << 18)

struct function_shares;

/* The tree, the values and the table of functions are in @memory, which may be NULL: no limit. */
int function_shares_new(struct memory_budget *memory, struct function_shares **ret_shares);
struct function_shares *function_shares_free(struct function_shares *shares);

/* Returns a visitor for the stacks of the base (@after false) or of the profile after it. */
struct stack_visitor function_shares_visitor(struct function_shares *shares, bool after);

/* Adds a value at a path of labels "a;b;c", for tests. @column: of FUNCTION_SHARES_COLUMNS. */
int function_shares_add_path(struct function_shares *shares, const char *path, size_t column,
			     double value);

/* Computes totals and functions. Nothing can be added afterwards. Returns 0 or -ENOMEM. */
int function_shares_finish(struct function_shares *shares);

/*
 * Results of function_shares_finish():
 *
 *   self[node], total[node], whole     values by column
 */
const struct tree *function_shares_tree(const struct function_shares *shares);
const struct function_table *function_shares_functions(const struct function_shares *shares);
const double *function_shares_self(const struct function_shares *shares, uint32_t node);
const double *function_shares_total(const struct function_shares *shares, uint32_t node);
uint64_t function_shares_shortened(const struct function_shares *shares);

DEFINE_SCOPED(struct function_shares *, function_shares_free);
