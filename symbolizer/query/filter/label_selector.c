/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser makes the nodes of a filter itself: no text of a user becomes part of the text of a
 * filter.
 */

#include "symbolizer/query/filter/label_selector.h"

#include <stdio.h>
#include <string.h>

#include "symbolizer/query/filter/filter_internal.h"

struct parser {
	const char *text;
	size_t offset;
	struct label_selector *selector;
	struct filter *filter;
	bool only; /* there are no other selectors */
	struct filter_error *error;
};

static const char blanks[] = " \t\r\n";
static const char name_characters[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";

const char *label_tag(const char *label)
{
	return strcmp(label, LABEL_SERVICE_NAME) == 0 ? "app_service" : label;
}

static void skip_blanks(struct parser *parser)
{
	parser->offset += strspn(parser->text + parser->offset, blanks);
}

static bool take(struct parser *parser, const char *token)
{
	skip_blanks(parser);
	if (strncmp(parser->text + parser->offset, token, strlen(token)) != 0)
		return false;
	parser->offset += strlen(token);
	return true;
}

static int fail_expected(struct parser *parser, const char *expected)
{
	const char *rest;

	skip_blanks(parser);
	rest = parser->text + parser->offset;
	if (*rest == '\0')
		return filter_fail(parser->error, parser->offset,
				   "expected %s, but the label selector ends here", expected);
	return filter_fail(parser->error, parser->offset, "expected %s, not '%.20s'", expected,
			   rest);
}

/* Appends the character that the escape sequence at @escape stands for. Returns its length, 0: it
 * is unknown. */
static size_t unescape(const char *escape, char *ret_character)
{
	static const char known[] = "\\\"'ntr", meaning[] = "\\\"'\n\t\r";
	const char *found = escape[1] ? strchr(known, escape[1]) : NULL;

	if (!found)
		return 0;
	*ret_character = meaning[found - known];
	return 2;
}

/* Parses a text in "double", 'single' or `back` quotes; the last ones have no escapes. */
static int parse_text(struct parser *parser, const char **ret_text)
{
	const char *text = parser->text + parser->offset;
	const char quote = *text++;
	char *copy = arena_alloc(parser->filter->arena, strlen(text) + 1);
	size_t length = 0;

	if (!copy)
		return -ENOMEM;
	while (*text && *text != quote) {
		size_t used = 1;

		copy[length] = *text;
		if (*text == '\\' && quote != '`')
			used = unescape(text, &copy[length]);
		if (used == 0)
			return filter_fail(parser->error, (size_t)(text - parser->text),
					   "unknown escape sequence");
		length++;
		text += used;
	}
	if (*text == '\0')
		return filter_fail(parser->error, parser->offset, "the text has no closing quote");
	copy[length] = '\0';
	parser->offset = (size_t)(text - parser->text) + 1;
	*ret_text = copy;
	return 0;
}

static bool at_quote(struct parser *parser)
{
	skip_blanks(parser);
	return parser->text[parser->offset] && strchr("\"'`", parser->text[parser->offset]);
}

static int parse_name(struct parser *parser, const char **ret_name)
{
	size_t length;

	if (at_quote(parser))
		return parse_text(parser, ret_name);
	length = strspn(parser->text + parser->offset, name_characters);
	if (length == 0)
		return fail_expected(parser, "the name of a label");
	*ret_name = arena_copy_text(parser->filter->arena, parser->text + parser->offset, length);
	parser->offset += length;
	return *ret_name ? 0 : -ENOMEM;
}

enum matcher {
	MATCH_EQUAL,
	MATCH_NOT_EQUAL,
	MATCH_REGEXP,
	MATCH_NOT_REGEXP,
};

static int parse_operator(struct parser *parser, enum matcher *ret_matcher)
{
	static const struct {
		const char *text;
		enum matcher matcher;
	} operators[] = {
		{ "=~", MATCH_REGEXP },
		{ "!~", MATCH_NOT_REGEXP },
		{ "!=", MATCH_NOT_EQUAL },
		{ "=", MATCH_EQUAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		if (take(parser, operators[i].text)) {
			*ret_matcher = operators[i].matcher;
			return 0;
		}
	}
	return fail_expected(parser, "=, !=, =~ or !~");
}

static struct filter_node *new_node(struct parser *parser, enum filter_node_kind kind)
{
	struct filter_node *node = arena_alloc(parser->filter->arena, sizeof(*node));

	if (node)
		node->kind = kind;
	return node;
}

static struct filter_node *new_comparison(struct parser *parser, const char *tag,
					  enum comparison comparison)
{
	struct filter_node *node = new_node(parser, NODE_COMPARE);

	if (node) {
		node->tag = tag;
		node->comparison = comparison;
	}
	return node;
}

/* tag = value; a label that a series lacks is equal to "". */
static int make_equality(struct parser *parser, const char *tag, const char *value,
			 struct filter_node **ret_node)
{
	struct filter_node *node =
		new_comparison(parser, tag, *value ? COMPARE_EQUAL : COMPARE_NULL);

	if (!node)
		return -ENOMEM;
	node->values = arena_alloc(parser->filter->arena, sizeof(*node->values));
	if (!node->values)
		return -ENOMEM;
	node->values->text = value;
	node->n_values = 1;
	*ret_node = node;
	return 0;
}

/* Compiles @text. */
static int make_pattern(struct parser *parser, const char *text, size_t offset,
			struct pattern **ret_pattern)
{
	char message[100];
	size_t at;
	int r;

	if (parser->filter->n_patterns == FILTER_MAX_PATTERNS)
		return filter_fail(parser->error, offset, "more than %d regular expressions",
				   FILTER_MAX_PATTERNS);
	r = pattern_new(text, false, message, sizeof(message), &at, ret_pattern);
	if (r == -EINVAL)
		return filter_fail(parser->error, offset, "regular expression: %.100s", message);
	return r;
}

/* tag =~ value. A pattern that matches "" also selects series without the label. */
static int make_regexp(struct parser *parser, const char *tag, const char *value, size_t offset,
		       struct filter_node **ret_node)
{
	struct filter_node *node = new_comparison(parser, tag, COMPARE_REGEXP), *either;
	scoped(pattern_freep) struct pattern *bare = NULL;
	char *whole = arena_format(parser->filter->arena, "^(?:%s)\\z", value);
	int r;

	if (!node || !whole)
		return -ENOMEM;
	/* A pattern that is invalid alone could be valid between the anchors. */
	r = make_pattern(parser, value, offset, &bare);
	if (r == 0)
		r = make_pattern(parser, whole, offset, &node->pattern);
	if (r < 0)
		return r;
	parser->filter->patterns[parser->filter->n_patterns++] = node->pattern;
	*ret_node = node;
	if (pattern_matches(node->pattern, "", 0) <= 0)
		return 0;
	either = new_node(parser, NODE_OR);
	if (!either)
		return -ENOMEM;
	either->first_child = node;
	node->next = new_comparison(parser, tag, COMPARE_NULL);
	*ret_node = either;
	return node->next ? 0 : -ENOMEM;
}

static int make_node(struct parser *parser, const char *label, enum matcher matcher,
		     const char *value, size_t offset, struct filter_node **ret_node)
{
	const bool negated = matcher == MATCH_NOT_EQUAL || matcher == MATCH_NOT_REGEXP;
	struct filter_node *node = NULL, *inverse;
	int r;

	if (matcher == MATCH_EQUAL || matcher == MATCH_NOT_EQUAL)
		r = make_equality(parser, label_tag(label), value, &node);
	else
		r = make_regexp(parser, label_tag(label), value, offset, &node);
	if (r < 0)
		return r;
	*ret_node = node;
	if (!negated)
		return 0;
	inverse = new_node(parser, NODE_NOT);
	if (!inverse)
		return -ENOMEM;
	inverse->first_child = node;
	*ret_node = inverse;
	return 0;
}

/* Parses one comparison; *ret_node is NULL if it selects no series. */
static int parse_matcher(struct parser *parser, struct filter_node **ret_node)
{
	const char *label = NULL, *value = NULL;
	enum matcher matcher = MATCH_EQUAL;
	size_t at_name = parser->offset, offset;
	int r;

	r = parse_name(parser, &label);
	if (r == 0)
		r = parse_operator(parser, &matcher);
	if (r < 0)
		return r;
	if (!at_quote(parser))
		return fail_expected(parser, "a text in quotes");
	offset = parser->offset;
	r = parse_text(parser, &value);
	if (r < 0)
		return r;
	if (strcmp(label, LABEL_PROFILE_TYPE) == 0) {
		if (matcher != MATCH_EQUAL || !parser->only)
			return filter_fail(parser->error, at_name,
					   LABEL_PROFILE_TYPE
					   " can only be compared with =, in a single selector");
		parser->selector->profile_type = value;
		*ret_node = NULL;
		return 0;
	}
	if (strcmp(label, LABEL_SERVICE_NAME) == 0 && matcher == MATCH_EQUAL && parser->only)
		parser->selector->service = value;
	return make_node(parser, label, matcher, value, offset, ret_node);
}

/* Parses '{' matchers '}' into a node of their conjunction. */
static int parse_selector(struct parser *parser, struct filter_node **ret_node)
{
	struct filter_node *all = new_node(parser, NODE_AND), **next;
	int r;

	if (!all)
		return -ENOMEM;
	*ret_node = all;
	next = &all->first_child;
	skip_blanks(parser);
	if (parser->text[parser->offset] == '\0')
		return 0;
	if (!take(parser, "{"))
		return fail_expected(parser, "'{'");
	while (!take(parser, "}")) {
		r = parse_matcher(parser, next);
		if (r < 0)
			return r;
		if (*next)
			next = &(*next)->next;
		if (!take(parser, ",") && parser->text[parser->offset] != '}')
			return fail_expected(parser, "',' or '}'");
	}
	skip_blanks(parser);
	return parser->text[parser->offset] ? fail_expected(parser, "the end of the label selector")
					    : 0;
}

static int parse_all(char *const *texts, size_t count, struct parser *parser)
{
	struct filter_node *any = new_node(parser, NODE_OR), **next;

	if (!any)
		return -ENOMEM;
	next = &any->first_child;
	for (size_t i = 0; i < count; i++) {
		int r;

		if (strlen(texts[i]) > FILTER_MAX_BYTES)
			return filter_fail(parser->error, FILTER_MAX_BYTES, "longer than %d bytes",
					   (int)FILTER_MAX_BYTES);
		parser->text = texts[i];
		parser->offset = 0;
		r = parse_selector(parser, next);
		if (r < 0)
			return r;
		next = &(*next)->next;
	}
	parser->filter->root = count > 0 ? any : NULL;
	return 0;
}

int label_selector_parse(char *const *texts, size_t count, struct label_selector *ret_selector,
			 struct filter_error *ret_error)
{
	scoped(filter_freep) struct filter *filter = calloc(1, sizeof(*filter));
	struct label_selector selector = {};
	struct filter_error error = {};
	struct parser parser = {
		.selector = &selector, .filter = filter, .only = count == 1, .error = &error
	};
	int r;

	if (!filter)
		return -ENOMEM;
	r = arena_new(FILTER_MAX_MEMORY_BYTES, &filter->arena);
	if (r == 0)
		r = parse_all(texts, count, &parser);
	if (r == -EINVAL)
		*ret_error = error;
	if (r < 0)
		return r;
	*ret_selector = selector;
	ret_selector->filter = take_ptr(filter);
	return 0;
}

void label_selector_release(struct label_selector *selector)
{
	selector->filter = filter_free(selector->filter);
}
