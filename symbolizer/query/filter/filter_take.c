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
	*ret_range = range;
	return 0;
}

struct wanted {
	const char *tag;
	const char *value;
};

/* Returns whether the comparison requires @tag to be one of its values. */
static bool limits_tag(const struct filter_node *node, const char *tag)
{
	bool equality = node->comparison == COMPARE_EQUAL || node->comparison == COMPARE_IN;

	return equality && !node->negated && strcmp(node->tag, tag) == 0;
}

static bool take_value(const struct filter_node *node, void *arg)
{
	struct wanted *wanted = arg;

	if (wanted->value || node->n_values != 1 || !limits_tag(node, wanted->tag))
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

struct value_list {
	const char *tag;
	const char **values; /* [max] */
	size_t count, max;
};

static void list_values(const struct filter_node *node, struct value_list *list)
{
	for (size_t i = 0; i < node->n_values; i++) {
		if (list->count < list->max)
			list->values[list->count] = node->values[i].text;
		list->count++;
	}
}

/* Returns whether @node limits the tag to values, after adding these to the list. Recurses as deep
 * as the filter is nested. */
static bool collect_values(const struct filter_node *node, struct value_list *list)
{
	const size_t before = list->count;

	if (node->kind == NODE_NOT)
		return false;
	if (node->kind == NODE_COMPARE) {
		if (!limits_tag(node, list->tag))
			return false;
		list_values(node, list);
		return true;
	}
	for (const struct filter_node *child = node->first_child; child; child = child->next) {
		bool limits = collect_values(child, list);

		if (limits && node->kind == NODE_AND)
			return true;
		if (!limits && node->kind == NODE_OR) {
			list->count = before;
			return false;
		}
	}
	return node->kind == NODE_OR;
}

size_t filter_list_values(const struct filter *filter, const char *tag, const char **ret_values,
			  size_t max)
{
	struct value_list list = { .tag = tag, .values = ret_values, .max = max };

	return filter->root && collect_values(filter->root, &list) ? list.count : 0;
}
