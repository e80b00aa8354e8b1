/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recursive-descent parser with one token of look-ahead:
 *
 *   or         := and { OR and }
 *   and        := not { AND not }
 *   not        := NOT not | primary
 *   primary    := '(' or ')' | EXIST '(' name ')' | comparison
 *   comparison := name ( '=' | '!=' | '<>' | '<' | '<=' | '>' | '>=' ) value
 *               | name [NOT] IN '(' value { ',' value } ')'
 *               | name [NOT] LIKE ( text | '(' text ')' )
 *               | name [NOT] REGEXP text
 *               | name IS [NOT] NULL
 *
 * Chains of AND and OR are flat lists, so that only parentheses and NOT make the tree deep.
 */

#include "symbolizer/query/filter/filter.h"

#include <string.h>
#include <strings.h>

#include "common/vec.h"
#include "symbolizer/query/filter/filter_internal.h"

VEC_DEFINE(value_vec, struct filter_value);

struct parser {
	const char *text;
	struct filter *filter;
	struct filter_token token; /* the look-ahead */
	filter_known known;
	void *known_arg;
	unsigned int depth;
	struct filter_error *error;
};

static int parse_or(struct parser *parser, struct filter_node **ret_node);

static int advance(struct parser *parser)
{
	return filter_lex(parser->text, parser->token.end, parser->filter->arena, &parser->token,
			  parser->error);
}

static bool at_keyword(const struct parser *parser, const char *keyword)
{
	return parser->token.kind == TOKEN_NAME && strcasecmp(parser->token.text, keyword) == 0;
}

/* Consumes the next token if it is @keyword: returns 1 if it was, 0 if not, or a negative errno. */
static int take_keyword(struct parser *parser, const char *keyword)
{
	int r;

	if (!at_keyword(parser, keyword))
		return 0;
	r = advance(parser);
	return r < 0 ? r : 1;
}

static int fail_expected(struct parser *parser, const char *expected)
{
	const struct filter_token *token = &parser->token;

	if (token->kind == TOKEN_END)
		return filter_fail(parser->error, token->offset,
				   "expected %s, but the filter ends here", expected);
	return filter_fail(parser->error, token->offset, "expected %s, not '%.*s'", expected,
			   (int)MIN(token->end - token->offset, (size_t)40),
			   parser->text + token->offset);
}

static int expect(struct parser *parser, enum filter_token_kind kind, const char *expected)
{
	if (parser->token.kind != kind)
		return fail_expected(parser, expected);
	return advance(parser);
}

static int new_node(struct parser *parser, enum filter_node_kind kind,
		    struct filter_node **ret_node)
{
	struct filter_node *node = arena_alloc(parser->filter->arena, sizeof(*node));

	if (!node)
		return -ENOMEM;
	node->kind = kind;
	*ret_node = node;
	return 0;
}

static bool is_keyword(const char *word)
{
	static const char *const keywords[] = { "and",  "or",     "not", "in",
						"like", "regexp", "is",  "null" };

	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++) {
		if (strcasecmp(word, keywords[i]) == 0)
			return true;
	}
	return false;
}

static int parse_name(struct parser *parser, const char **ret_name)
{
	const struct filter_token *token = &parser->token;

	if (token->kind != TOKEN_QUOTED_NAME &&
	    (token->kind != TOKEN_NAME || is_keyword(token->text)))
		return fail_expected(parser, "the name of a tag");
	if (strlen(token->text) > FILTER_MAX_NAME_BYTES ||
	    !parser->known(parser->known_arg, token->text)) {
		filter_fail(parser->error, token->offset, "unknown tag '%.100s'", token->text);
		parser->error->unknown_tag = true;
		return -EINVAL;
	}
	*ret_name = token->text;
	return advance(parser);
}

/* Values of these tags are compared as addresses by all operators but LIKE and REGEXP. */
static bool is_address_tag(const char *tag)
{
	return strcmp(tag, "ip") == 0 || strcmp(tag, "host_ip") == 0;
}

static int parse_value(struct parser *parser, const struct filter_node *node,
		       struct filter_value *ret_value)
{
	const struct filter_token *token = &parser->token;
	struct filter_value value = {};

	if (token->kind != TOKEN_TEXT && token->kind != TOKEN_NUMBER)
		return fail_expected(parser, "a text in quotes or a number");

	value.text = token->text;
	value.is_number = token->kind == TOKEN_NUMBER;
	value.has_number = filter_number(token->text, &value.number);
	if (node->is_address && !ip_range_parse(token->text, &value.range))
		return filter_fail(parser->error, token->offset,
				   "'%.60s' is neither an IP address nor a CIDR range",
				   token->text);
	*ret_value = value;
	return advance(parser);
}

static int set_values(struct parser *parser, struct filter_node *node,
		      const struct value_vec *values)
{
	node->values = arena_copy(parser->filter->arena, values->items,
				  values->count * sizeof(*values->items));
	node->n_values = values->count;
	return node->values ? 0 : -ENOMEM;
}

static int parse_list_values(struct parser *parser, struct filter_node *node,
			     struct value_vec *values)
{
	int r;

	do {
		struct filter_value value;

		r = parse_value(parser, node, &value);
		if (r == 0)
			r = vec_push(values, value);
		if (r < 0)
			return r;
		if (parser->token.kind != TOKEN_COMMA)
			return expect(parser, TOKEN_CLOSE, "',' or ')'");
		r = advance(parser);
	} while (r == 0);
	return r;
}

static int parse_list(struct parser *parser, struct filter_node *node)
{
	struct value_vec values = {};
	int r;

	node->comparison = COMPARE_IN;
	r = expect(parser, TOKEN_OPEN, "'(' and a list");
	if (r < 0)
		return r;

	r = parse_list_values(parser, node, &values);
	if (r == 0)
		r = set_values(parser, node, &values);
	vec_release(&values);
	return r;
}

static int parse_single_value(struct parser *parser, struct filter_node *node)
{
	struct filter_value *value = arena_alloc(parser->filter->arena, sizeof(*value));
	int r;

	if (!value)
		return -ENOMEM;
	r = parse_value(parser, node, value);
	if (r < 0)
		return r;
	node->values = value;
	node->n_values = 1;
	return 0;
}

static int parse_pattern(struct parser *parser, struct filter_node *node)
{
	struct filter *filter = parser->filter;
	const struct filter_token *token = &parser->token;
	char message[100];
	size_t offset;
	int r;

	if (token->kind != TOKEN_TEXT)
		return fail_expected(parser, "a regular expression in quotes");
	if (filter->n_patterns == FILTER_MAX_PATTERNS)
		return filter_fail(parser->error, token->offset, "more than %d regular expressions",
				   FILTER_MAX_PATTERNS);
	r = pattern_new(token->text, false, message, sizeof(message), &offset, &node->pattern);
	if (r == -EINVAL)
		return filter_fail(parser->error, MIN(token->offset + 1 + offset, token->end - 1),
				   "regular expression: %.100s", message);
	if (r < 0)
		return r;

	filter->patterns[filter->n_patterns++] = node->pattern;
	node->comparison = COMPARE_REGEXP;
	return advance(parser);
}

static int parse_like(struct parser *parser, struct filter_node *node)
{
	bool in_parentheses = parser->token.kind == TOKEN_OPEN;
	int r = in_parentheses ? advance(parser) : 0;

	if (r < 0)
		return r;
	if (parser->token.kind != TOKEN_TEXT)
		return fail_expected(parser, "a pattern in quotes");
	node->comparison = COMPARE_LIKE;
	/* The pattern is text even where the tag is an address. */
	node->is_address = false;
	r = parse_single_value(parser, node);
	return r == 0 && in_parentheses ? expect(parser, TOKEN_CLOSE, "')'") : r;
}

/* Parses the operators that are words and follow "name [NOT]". */
static int parse_word_comparison(struct parser *parser, struct filter_node *node)
{
	int r;

	r = take_keyword(parser, "in");
	if (r != 0)
		return r < 0 ? r : parse_list(parser, node);
	r = take_keyword(parser, "like");
	if (r != 0)
		return r < 0 ? r : parse_like(parser, node);
	r = take_keyword(parser, "regexp");
	if (r != 0)
		return r < 0 ? r : parse_pattern(parser, node);
	return fail_expected(parser, node->negated
					     ? "IN, LIKE or REGEXP"
					     : "=, !=, <, <=, >, >=, IN, LIKE, REGEXP, IS or NOT");
}

static int parse_is_null(struct parser *parser, struct filter_node *node)
{
	int r;

	node->comparison = COMPARE_NULL;
	r = take_keyword(parser, "not");
	if (r < 0)
		return r;
	node->negated = r > 0;
	r = take_keyword(parser, "null");
	if (r == 0)
		return fail_expected(parser, node->negated ? "NULL" : "NULL or NOT NULL");
	return r < 0 ? r : 0;
}

/* Returns whether the token is the word @function and a '(' follows, not a tag of that name. */
static bool at_call(const struct parser *parser, const char *function)
{
	const char *rest = parser->text + parser->token.end;

	return at_keyword(parser, function) && rest[strspn(rest, " \t\r\n")] == '(';
}

static int parse_argument(struct parser *parser, const char **ret_name)
{
	int r;

	r = advance(parser);
	if (r == 0)
		r = expect(parser, TOKEN_OPEN, "'('");
	if (r == 0)
		r = parse_name(parser, ret_name);
	return r < 0 ? r : expect(parser, TOKEN_CLOSE, "')'");
}

/*
 * A tag, or DeepFlow's Enum(tag), which is the text of a tag that DeepFlow stores as a number. Tags
 * are stored as texts here, so that both are the same.
 */
static int parse_tag(struct parser *parser, const char **ret_name)
{
	return at_call(parser, "enum") ? parse_argument(parser, ret_name)
				       : parse_name(parser, ret_name);
}

static int parse_comparison(struct parser *parser, struct filter_node *node)
{
	int r;

	r = parse_tag(parser, &node->tag);
	if (r < 0)
		return r;
	node->is_address = is_address_tag(node->tag);
	if (parser->token.kind == TOKEN_OPERATOR) {
		node->comparison = parser->token.comparison;
		node->negated = parser->token.negated;
		r = advance(parser);
		return r < 0 ? r : parse_single_value(parser, node);
	}
	r = take_keyword(parser, "is");
	if (r != 0)
		return r < 0 ? r : parse_is_null(parser, node);
	r = take_keyword(parser, "not");
	if (r < 0)
		return r;
	node->negated = r > 0;
	return parse_word_comparison(parser, node);
}

/* DeepFlow's exist(tag): the same as "tag IS NOT NULL". */
static int parse_exist(struct parser *parser, struct filter_node *node)
{
	node->comparison = COMPARE_NULL;
	node->negated = true;
	return parse_argument(parser, &node->tag);
}

static int parse_primary(struct parser *parser, struct filter_node **ret_node)
{
	bool exist = at_call(parser, "exist");
	int r;

	if (parser->token.kind == TOKEN_OPEN) {
		r = advance(parser);
		if (r < 0)
			return r;
		r = parse_or(parser, ret_node);
		if (r < 0)
			return r;
		return expect(parser, TOKEN_CLOSE, "AND, OR or ')'");
	}
	r = new_node(parser, NODE_COMPARE, ret_node);
	if (r < 0)
		return r;
	return exist ? parse_exist(parser, *ret_node) : parse_comparison(parser, *ret_node);
}

static int parse_not(struct parser *parser, struct filter_node **ret_node)
{
	size_t offset = parser->token.offset;
	int r;

	if (++parser->depth > FILTER_MAX_DEPTH)
		return filter_fail(parser->error, offset,
				   "more than %d nested parentheses and NOTs", FILTER_MAX_DEPTH);
	r = take_keyword(parser, "not");
	if (r > 0) {
		r = new_node(parser, NODE_NOT, ret_node);
		if (r == 0)
			r = parse_not(parser, &(*ret_node)->first_child);
	} else if (r == 0) {
		r = parse_primary(parser, ret_node);
	}
	parser->depth--;
	return r;
}

/* operand { keyword operand }. A single operand gets no node above it. */
static int parse_chain(struct parser *parser, const char *keyword, enum filter_node_kind kind,
		       int (*parse_operand)(struct parser *, struct filter_node **),
		       struct filter_node **ret_node)
{
	struct filter_node *node, *last;
	int r;

	r = parse_operand(parser, &last);
	if (r < 0)
		return r;
	*ret_node = last;
	if (!at_keyword(parser, keyword))
		return 0;

	r = new_node(parser, kind, &node);
	if (r < 0)
		return r;
	node->first_child = last;
	while ((r = take_keyword(parser, keyword)) > 0) {
		r = parse_operand(parser, &last->next);
		if (r < 0)
			return r;
		last = last->next;
	}
	*ret_node = node;
	return r;
}

static int parse_and(struct parser *parser, struct filter_node **ret_node)
{
	return parse_chain(parser, "and", NODE_AND, parse_not, ret_node);
}

static int parse_or(struct parser *parser, struct filter_node **ret_node)
{
	return parse_chain(parser, "or", NODE_OR, parse_and, ret_node);
}

static int parse_text(struct parser *parser)
{
	int r;

	if (strlen(parser->text) > FILTER_MAX_BYTES)
		return filter_fail(parser->error, FILTER_MAX_BYTES, "longer than %d bytes",
				   (int)FILTER_MAX_BYTES);
	r = advance(parser);
	if (r < 0 || parser->token.kind == TOKEN_END)
		return r;
	r = parse_or(parser, &parser->filter->root);
	if (r < 0)
		return r;
	return parser->token.kind == TOKEN_END ? 0 : fail_expected(parser, "AND, OR or the end");
}

int filter_parse(const char *text, filter_known known, void *known_arg, struct filter **ret_filter,
		 struct filter_error *ret_error)
{
	scoped(filter_freep) struct filter *filter = calloc(1, sizeof(*filter));
	struct filter_error error = {};
	struct parser parser = { .text = text,
				 .filter = filter,
				 .known = known,
				 .known_arg = known_arg,
				 .error = &error };
	int r;

	if (!filter)
		return -ENOMEM;
	r = arena_new(FILTER_MAX_MEMORY_BYTES, &filter->arena);
	if (r == 0)
		r = parse_text(&parser);
	if (r == -EINVAL)
		*ret_error = error;
	if (r < 0)
		return r;
	*ret_filter = take_ptr(filter);
	return 0;
}

struct filter *filter_free(struct filter *filter)
{
	if (!filter)
		return NULL;
	for (size_t i = 0; i < filter->n_patterns; i++)
		pattern_free(filter->patterns[i]);
	arena_free(filter->arena);
	free(filter);
	return NULL;
}
