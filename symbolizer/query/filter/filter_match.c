/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matching is two-valued: a comparison with NULL is false, therefore its negation is true. A tag
 * can have several values (addresses): = selects it if one value is equal, != if none is. A number
 * without quotes is compared by value. < and > compare by value if both sides are numbers, and
 * byte by byte otherwise.
 */

#include <ctype.h>
#include <string.h>

#include "symbolizer/query/filter/filter_internal.h"

bool filter_number(const char *text, long double *ret_number)
{
	const char *c = text + (*text == '-');
	size_t digits = strspn(c, "0123456789");
	char *end;

	if (digits == 0)
		return false;
	c += digits;
	if (*c == '.') {
		digits = strspn(c + 1, "0123456789");
		if (digits == 0)
			return false;
		c += 1 + digits;
	}
	if (*c == 'e' || *c == 'E') {
		c += c[1] == '+' || c[1] == '-' ? 2 : 1;
		digits = strspn(c, "0123456789");
		if (digits == 0)
			return false;
		c += digits;
	}
	*ret_number = strtold(text, &end);
	return *c == '\0' && end == c;
}

static size_t character_bytes(const char *text)
{
	size_t size = 1;

	while (((unsigned char)text[size] & 0xc0) == 0x80)
		size++;
	return size;
}

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

bool filter_like(const char *pattern, const char *text)
{
	/* After a mismatch, matching resumes behind the last star, with the star consuming one more
	 * byte of the text. */
	const char *after_star = NULL;
	const char *star_text = NULL;

	while (*text) {
		bool escaped = pattern[0] == '\\' && pattern[1] != '\0';

		if (*pattern == '*' || *pattern == '%') {
			after_star = ++pattern;
			star_text = text;
		} else if (!escaped && *pattern == '_') {
			pattern++;
			text += character_bytes(text);
		} else if (same_letter(pattern[escaped], *text)) {
			pattern += 1 + escaped;
			text++;
		} else if (after_star) {
			pattern = after_star;
			text = ++star_text;
		} else {
			return false;
		}
	}
	return pattern[strspn(pattern, "*%")] == '\0';
}

static bool fits_order(enum comparison comparison, int order)
{
	switch (comparison) {
	case COMPARE_LESS:
		return order < 0;
	case COMPARE_LESS_EQUAL:
		return order <= 0;
	case COMPARE_GREATER:
		return order > 0;
	case COMPARE_GREATER_EQUAL:
		return order >= 0;
	default:
		return order == 0;
	}
}

static bool compare_address(const struct filter_node *node, const struct filter_value *value,
			    const char *text)
{
	struct ip_range address;

	if (!ip_range_parse(text, &address))
		return false;
	if (node->comparison == COMPARE_EQUAL || node->comparison == COMPARE_IN)
		return ip_range_contains(&value->range, &address);
	return fits_order(node->comparison, ip_range_compare(&address, &value->range));
}

static bool compare_text(const struct filter_node *node, const struct filter_value *value,
			 const char *text)
{
	bool equality = node->comparison == COMPARE_EQUAL || node->comparison == COMPARE_IN;
	bool by_value = equality ? value->is_number : value->has_number;
	long double number;

	if (by_value && filter_number(text, &number))
		return fits_order(node->comparison,
				  (number > value->number) - (number < value->number));
	return fits_order(node->comparison, strcmp(text, value->text));
}

/* Compares one value of the tag with the values of @node: 1 one of them matches, 0 none, -E2BIG. */
static int compare_value(const struct filter_node *node, const char *text)
{
	if (node->comparison == COMPARE_REGEXP)
		return pattern_matches(node->pattern, text, strlen(text));
	if (node->comparison == COMPARE_LIKE)
		return filter_like(node->values[0].text, text);

	for (size_t i = 0; i < node->n_values; i++) {
		const struct filter_value *value = &node->values[i];

		if (node->is_address ? compare_address(node, value, text)
				     : compare_text(node, value, text))
			return 1;
	}
	return 0;
}

static int match_comparison(const struct filter_node *node, filter_lookup lookup, void *arg)
{
	const char *const *texts = NULL;
	size_t n_texts = lookup(arg, node->tag, &texts);
	int r = 0;

	if (node->comparison == COMPARE_NULL)
		return (n_texts == 0) != node->negated;
	for (size_t i = 0; i < n_texts && r == 0; i++)
		r = compare_value(node, texts[i]);
	if (r < 0)
		return r;
	return (r > 0) != node->negated;
}

static int match_node(const struct filter_node *node, filter_lookup lookup, void *arg)
{
	int r;

	if (node->kind == NODE_COMPARE)
		return match_comparison(node, lookup, arg);
	if (node->kind == NODE_NOT) {
		r = match_node(node->first_child, lookup, arg);
		return r < 0 ? r : !r;
	}
	for (const struct filter_node *child = node->first_child; child; child = child->next) {
		r = match_node(child, lookup, arg);
		if (r < 0 || r == (node->kind == NODE_OR))
			return r;
	}
	return node->kind == NODE_AND;
}

int filter_matches(const struct filter *filter, filter_lookup lookup, void *lookup_arg)
{
	return filter->root ? match_node(filter->root, lookup, lookup_arg) : 1;
}
