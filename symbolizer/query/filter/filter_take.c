/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/filter/filter_take.h"

#include <string.h>

#include "symbolizer/query/filter/filter_internal.h"

/* 9999-12-31T23:59:59Z. A larger number is not in seconds. */
#define LAST_SECOND UINT64_C(253402300799)

/* Returns true if the comparison is taken. */
typedef bool (*take_function)(const struct filter_node *node, void *arg);

/* Unlinks what @take takes of the conjunction at *link. Recurses as deep as the filter is nested:
 * FILTER_MAX_DEPTH. */
static void take_conjuncts(struct filter_node **link, take_function take, void *arg)
{
	struct filter_node *node = *link;

	if (node->kind == NODE_COMPARE && take(node, arg)) {
		*link = node->next;
		return;
	}
	if (node->kind != NODE_AND)
		return;
	for (struct filter_node **child = &node->first_child; *child;) {
		struct filter_node *before = *child;

		take_conjuncts(child, take, arg);
		if (*child == before)
			child = &before->next;
	}
}

static bool is_time(const struct filter_node *node)
{
	return strcmp(node->tag, "time") == 0;
}

static bool has_time(const struct filter_node *node)
{
	if (node->kind == NODE_COMPARE)
		return is_time(node);
	for (const struct filter_node *child = node->first_child; child; child = child->next) {
		if (has_time(child))
			return true;
	}
	return false;
}

static bool read_seconds(const struct filter_node *node, uint64_t *ret_seconds)
{
	long double number;

	if (node->negated || node->n_values != 1 || !node->values[0].has_number)
		return false;
	number = node->values[0].number;
	/* At least 1, so that "<" can subtract 1. */
	if (number < 1 || number > (long double)LAST_SECOND ||
	    (long double)(uint64_t)number != number)
		return false;
	*ret_seconds = (uint64_t)number;
	return true;
}

/* Narrows the range by a comparison of `time`. */
static bool take_time(const struct filter_node *node, void *arg)
{
	struct filter_range *range = arg;
	uint64_t from_s = 0, to_s = UINT64_MAX, second;

	if (!is_time(node) || !read_seconds(node, &second))
		return false;
	switch (node->comparison) {
	case COMPARE_GREATER_EQUAL:
		from_s = second;
		break;
	case COMPARE_GREATER:
		from_s = second + 1;
		break;
	case COMPARE_LESS_EQUAL:
		to_s = second;
		break;
	case COMPARE_LESS:
		to_s = second - 1;
		break;
	case COMPARE_EQUAL:
		from_s = to_s = second;
		break;
	default:
		return false;
	}
	range->from_s = MAX(range->from_s, from_s);
	range->to_s = MIN(range->to_s, to_s);
	return true;
}

int filter_take_range(struct filter *filter, struct filter_range *ret_range,
		      struct filter_error *ret_error)
{
	struct filter_range range = { .to_s = UINT64_MAX };

	if (filter->root)
		take_conjuncts(&filter->root, take_time, &range);
	if (filter->root && has_time(filter->root))
		return filter_fail(ret_error, 0,
				   "time is compared by >=, <=, >, < or = with unix seconds and "
				   "joined by AND with all other conditions, but one is not");
	if (range.from_s > range.to_s)
		return filter_fail(ret_error, 0, "the range of time is empty");
	*ret_range = range;
	return 0;
}

struct wanted {
	const char *tag;
	const char *value;
};

static bool take_value(const struct filter_node *node, void *arg)
{
	bool equality = node->comparison == COMPARE_EQUAL || node->comparison == COMPARE_IN;
	struct wanted *wanted = arg;

	if (wanted->value || !equality || node->negated || node->n_values != 1 ||
	    strcmp(node->tag, wanted->tag) != 0)
		return false;
	wanted->value = node->values[0].text;
	return true;
}

const char *filter_take_value(struct filter *filter, const char *tag)
{
	struct wanted wanted = { .tag = tag };

	if (filter->root)
		take_conjuncts(&filter->root, take_value, &wanted);
	return wanted.value;
}
