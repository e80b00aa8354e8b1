/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random filters are matched with random series, and the result is compared with that of a second
 * evaluator, which walks the tree from which the text was printed. Names, values and tags contain
 * quotes, backslashes, keywords and comments of SQL: if one of them ended its text early, the
 * results would differ or the parser would fail.
 *
 * HEARTH_FILTERS=1000000 sets the number of filters; HEARTH_TEST_SEED another seed.
 */

#include <ctype.h>
#include <stdio.h>

#include "symbolizer/query/filter/filter.h"
#include "tests/support/unit.h"

#define DEFAULT_FILTERS 20000
#define DEFAULT_SEED    UINT64_C(20260101)
#define MAX_TEXT_BYTES  (32 * KIB)
#define MAX_NODES       64

/* Tags, with names that need backticks. "ip" has addresses. */
static const char *const tags[] = {
	"pod",
	"cpu",
	"ip",
	"and",
	"x' OR '1'='1",
	"a`b",
	"t\"; DROP TABLE t; --",
	"k8s.label.app",
	"\\",
	"gr\xc3\xbc\xc3\x9f",
	"(",
	"NOT",
	"new\nline",
};

static const char *const values[] = {
	"",
	"web-1",
	"WEB-1",
	"web",
	"9",
	"9.0",
	"10",
	"-1.5",
	"1e1",
	"'",
	"''",
	"\"",
	"`",
	"\\",
	"\\'",
	"\\\\",
	"' OR 1=1 --",
	"\" OR \"\"=\"",
	"') OR ('x'='x",
	"%",
	"_",
	"*",
	"a%b",
	"100\\%",
	"NULL",
	"x; DROP TABLE samples; --",
	"/* */",
	"gr\xc3\xbc\xc3\x9f",
	"\xff\xfe",
	"new\nline",
	"\x01",
	"$(id)",
};

static const char *const addresses[] = { "10.0.0.1", "10.0.0.2", "10.1.0.1", "192.168.7.7" };

enum kind { ALL, ANY, NEGATION, EQUAL, ORDER, LIST, LIKE, CONTAINS, ABSENT };

struct node {
	enum kind kind;
	bool negated;
	bool number; /* EQUAL, ORDER: printed without quotes */
	size_t tag;
	int order; /* 0 <, 1 <=, 2 >, 3 >= */
	const char *texts[4];
	size_t n_texts;
	unsigned int prefix; /* of an address; 32: none is printed */
	size_t children[3];
	size_t n_children;
};

struct sample {
	const char *values[ARRAY_SIZE(tags)][2];
	size_t n_values[ARRAY_SIZE(tags)];
};

struct expression {
	struct node nodes[MAX_NODES];
	size_t n_nodes;
	uint64_t random;
	struct bytes text;
};

static uint32_t below(struct expression *expression, uint32_t limit)
{
	uint64_t *state = &expression->random;

	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)((*state * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % limit;
}

static bool is_address_tag(size_t tag)
{
	return strcmp(tags[tag], "ip") == 0;
}

/* ---- the second evaluator ---- */

static bool as_number(const char *text, long double *ret_number)
{
	const char *c = text;
	char *end;

	if (*c == '-')
		c++;
	if (!isdigit((unsigned char)*c))
		return false;
	*ret_number = strtold(text, &end);
	return *end == '\0' && !strpbrk(text, "xXpPnN");
}

static unsigned int address_of(const char *text)
{
	unsigned int a, b, c, d;

	assert_int_equal(sscanf(text, "%u.%u.%u.%u", &a, &b, &c, &d), 4);
	return a << 24 | b << 16 | c << 8 | d;
}

static int compare_texts(const char *value, const char *text, bool by_value)
{
	long double left, right;

	if (by_value && as_number(value, &left) && as_number(text, &right))
		return (left > right) - (left < right);
	return strcmp(value, text);
}

static bool naive_like(const char *pattern, const char *text)
{
	if (*pattern == '\0')
		return *text == '\0';
	if (*pattern == '%' || *pattern == '*')
		return naive_like(pattern + 1, text) || (*text && naive_like(pattern, text + 1));
	if (*text == '\0')
		return false;
	if (*pattern == '_') {
		do {
			text++;
		} while (((unsigned char)*text & 0xc0) == 0x80);
		return naive_like(pattern + 1, text);
	}
	if (*pattern == '\\' && pattern[1])
		pattern++;
	return tolower((unsigned char)*pattern) == tolower((unsigned char)*text) &&
	       naive_like(pattern + 1, text + 1);
}

static bool fits(const struct node *node, const char *value)
{
	if (node->kind == LIKE)
		return naive_like(node->texts[0], value);
	if (node->kind == CONTAINS)
		return strstr(value, node->texts[0]) != NULL;
	if (node->kind == ORDER) {
		int order = compare_texts(value, node->texts[0], true);

		return node->order == 0   ? order < 0
		       : node->order == 1 ? order <= 0
		       : node->order == 2 ? order > 0
					  : order >= 0;
	}
	for (size_t i = 0; i < node->n_texts; i++) {
		unsigned int shift = 32 - node->prefix;

		if (is_address_tag(node->tag)
			    ? address_of(value) >> shift == address_of(node->texts[i]) >> shift
			    : compare_texts(value, node->texts[i], node->number) == 0)
			return true;
	}
	return false;
}

static bool evaluate(const struct expression *expression, size_t index, const struct sample *sample)
{
	const struct node *node = &expression->nodes[index];
	bool result = false;

	if (node->kind == NEGATION)
		return !evaluate(expression, node->children[0], sample);
	if (node->kind == ALL || node->kind == ANY) {
		for (size_t i = 0; i < node->n_children; i++)
			if (evaluate(expression, node->children[i], sample) == (node->kind == ANY))
				return node->kind == ANY;
		return node->kind == ALL;
	}
	if (node->kind == ABSENT)
		result = sample->n_values[node->tag] == 0;
	/* A missing value fits nothing, so that the negation selects it. */
	for (size_t i = 0; node->kind != ABSENT && i < sample->n_values[node->tag]; i++)
		result |= fits(node, sample->values[node->tag][i]);
	return result != node->negated;
}

/* ---- random filters ---- */

static const char *any_value(struct expression *expression, size_t tag)
{
	return is_address_tag(tag) ? addresses[below(expression, ARRAY_SIZE(addresses))]
				   : values[below(expression, ARRAY_SIZE(values))];
}

static void fill_comparison(struct expression *expression, struct node *node)
{
	static const enum kind kinds[] = { EQUAL, EQUAL, LIST, ABSENT, ORDER, LIKE, CONTAINS };
	long double number;

	node->tag = below(expression, ARRAY_SIZE(tags));
	/* Order, LIKE and REGEXP of addresses have their own tests. */
	node->kind = kinds[below(expression, is_address_tag(node->tag) ? 4 : ARRAY_SIZE(kinds))];
	node->negated = node->kind != ORDER && below(expression, 2);
	node->order = (int)below(expression, 4);
	node->n_texts = node->kind == LIST ? 1 + below(expression, 4) : 1;
	node->prefix = below(expression, 2) ? 32 : 8 * (1 + below(expression, 3));
	for (size_t i = 0; i < node->n_texts; i++)
		node->texts[i] = any_value(expression, node->tag);
	/* Expressions must be valid UTF-8. */
	if (node->kind == CONTAINS && (unsigned char)node->texts[0][0] == 0xff)
		node->kind = LIKE;
	node->number = (node->kind == EQUAL || node->kind == ORDER) && below(expression, 2) &&
		       !is_address_tag(node->tag) && as_number(node->texts[0], &number);
}

static size_t grow(struct expression *expression, unsigned int depth)
{
	const size_t index = expression->n_nodes++;
	struct node *node = &expression->nodes[index];

	*node = (struct node){};
	if (depth == 0 || expression->n_nodes + 3 > MAX_NODES / 2 || below(expression, 3) == 0) {
		fill_comparison(expression, node);
		return index;
	}
	node->kind = below(expression, 3) == 0 ? NEGATION : below(expression, 2) ? ALL : ANY;
	node->n_children = node->kind == NEGATION ? 1 : 2 + below(expression, 2);
	for (size_t i = 0; i < node->n_children; i++)
		node->children[i] = grow(expression, depth - 1);
	return index;
}

/* ---- printing ---- */

static void put(struct expression *expression, const char *text)
{
	assert_ok(bytes_append_text(&expression->text, text));
}

/* Writes a keyword in upper or lower case. */
static void put_word(struct expression *expression, const char *word)
{
	const bool lower = below(expression, 2);

	put(expression, " ");
	for (; *word; word++)
		assert_ok(bytes_append_byte(
			&expression->text,
			(uint8_t)(lower ? tolower((unsigned char)*word) : *word)));
	put(expression, " ");
}

/* The quote itself is doubled or has a backslash; a backslash is doubled. */
static void put_quoted(struct expression *expression, const char *text, char quote)
{
	assert_ok(bytes_append_byte(&expression->text, (uint8_t)quote));
	for (; *text; text++) {
		if (*text == '\\')
			put(expression, "\\");
		else if (*text == quote)
			assert_ok(bytes_append_byte(
				&expression->text, (uint8_t)(below(expression, 2) ? quote : '\\')));
		assert_ok(bytes_append_byte(&expression->text, (uint8_t)*text));
	}
	assert_ok(bytes_append_byte(&expression->text, (uint8_t)quote));
}

static void put_text(struct expression *expression, const struct node *node, const char *text)
{
	char with_prefix[32];

	if (node->number) {
		put(expression, text);
		return;
	}
	if (is_address_tag(node->tag) && node->prefix < 32) {
		/* The bits behind the prefix must be 0. */
		unsigned int address = address_of(text) & ~(UINT32_MAX >> node->prefix);

		(void)snprintf(with_prefix, sizeof(with_prefix), "%u.%u.%u.%u/%u", address >> 24,
			       address >> 16 & 255, address >> 8 & 255, address & 255,
			       node->prefix);
		text = with_prefix;
	}
	put_quoted(expression, text, below(expression, 2) ? '\'' : '"');
}

/* A regular expression that finds a text: every character of it is escaped. */
static void put_expression(struct expression *expression, const char *text)
{
	char escaped[128];
	size_t used = 0;

	for (; *text; text++) {
		if (ispunct((unsigned char)*text))
			escaped[used++] = '\\';
		escaped[used++] = *text;
	}
	escaped[used] = '\0';
	put_quoted(expression, escaped, below(expression, 2) ? '\'' : '"');
}

static void put_list(struct expression *expression, const struct node *node)
{
	put_word(expression, node->negated ? "NOT IN" : "IN");
	put(expression, "(");
	for (size_t i = 0; i < node->n_texts; i++) {
		put(expression, i > 0 ? "," : "");
		put_text(expression, node, node->texts[i]);
	}
	put(expression, ")");
}

static void put_comparison(struct expression *expression, const struct node *node)
{
	static const char *const orders[] = { "<", "<=", ">", ">=" };

	put_quoted(expression, tags[node->tag], '`');
	if (node->kind == ABSENT) {
		put_word(expression, node->negated ? "IS NOT NULL" : "IS NULL");
	} else if (node->kind == LIST) {
		put_list(expression, node);
	} else if (node->kind == LIKE) {
		put_word(expression, node->negated ? "NOT LIKE" : "LIKE");
		put_text(expression, node, node->texts[0]);
	} else if (node->kind == CONTAINS) {
		put_word(expression, node->negated ? "NOT REGEXP" : "REGEXP");
		put_expression(expression, node->texts[0]);
	} else {
		put(expression, node->kind == ORDER    ? orders[node->order]
				: !node->negated       ? "="
				: below(expression, 2) ? "!="
						       : "<>");
		put_text(expression, node, node->texts[0]);
	}
}

static void put_node(struct expression *expression, size_t index)
{
	const struct node *node = &expression->nodes[index];

	if (node->kind >= EQUAL) {
		put_comparison(expression, node);
		return;
	}
	if (node->kind == NEGATION)
		put_word(expression, "NOT");
	put(expression, "(");
	for (size_t i = 0; i < node->n_children; i++) {
		if (i > 0)
			put_word(expression, node->kind == ALL ? "AND" : "OR");
		put_node(expression, node->children[i]);
	}
	put(expression, ")");
}

/* ---- the comparison ---- */

static bool is_known(void *arg, const char *name)
{
	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
		if (strcmp(tags[i], name) == 0)
			return true;
	return false;
}

static size_t look_up(void *arg, const char *name, const char *const **ret_values)
{
	const struct sample *sample = arg;

	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		if (strcmp(tags[i], name) != 0)
			continue;
		*ret_values = sample->values[i];
		return sample->n_values[i];
	}
	fail_msg("the filter asks for '%s'", name);
	return 0;
}

static void fill_sample(struct expression *expression, struct sample *sample)
{
	for (size_t tag = 0; tag < ARRAY_SIZE(tags); tag++) {
		sample->n_values[tag] = below(expression, 3);
		for (size_t i = 0; i < sample->n_values[tag]; i++)
			sample->values[tag][i] = any_value(expression, tag);
	}
}

static void compare(struct expression *expression, size_t *selected)
{
	scoped(filter_freep) struct filter *filter = NULL;
	struct filter_error error;
	const char *text;

	expression->n_nodes = 0;
	bytes_clear(&expression->text);
	(void)grow(expression, 4);
	put_node(expression, 0);
	assert_ok(bytes_append_byte(&expression->text, 0));
	text = (const char *)expression->text.data;
	if (filter_parse(text, is_known, NULL, &filter, &error) < 0)
		fail_msg("%s at %zu: %s", error.message, error.offset, text);
	for (int i = 0; i < 3; i++) {
		struct sample sample;
		bool expected;
		int r;

		fill_sample(expression, &sample);
		expected = evaluate(expression, 0, &sample);
		r = filter_matches(filter, look_up, &sample);
		if (r != expected)
			fail_msg("%d instead of %d: %s", r, expected, text);
		*selected += expected;
	}
}

/* A value that is put between quotes as it is must not crash the parser, whatever it contains. */
static void parse_unescaped(struct expression *expression)
{
	struct filter *filter = NULL;
	struct filter_error error;
	char text[256];

	(void)snprintf(text, sizeof(text), "pod = '%s' %s %s = \"%s\"", any_value(expression, 0),
		       below(expression, 2) ? "AND" : "OR",
		       tags[below(expression, ARRAY_SIZE(tags))], any_value(expression, 0));
	if (filter_parse(text, is_known, NULL, &filter, &error) < 0)
		assert_in_range(error.offset, 0, strlen(text));
	filter_free(filter);
}

static uint64_t number_of(const char *variable, uint64_t fallback)
{
	const char *text = getenv(variable);

	return text && *text ? strtoull(text, NULL, 0) : fallback;
}

static void random_filters_agree_with_a_second_evaluator(void **state)
{
	const uint64_t count = number_of("HEARTH_FILTERS", DEFAULT_FILTERS);
	struct expression *expression = calloc(1, sizeof(*expression));
	size_t selected = 0;

	(void)state;
	assert_non_null(expression);
	expression->random = number_of("HEARTH_TEST_SEED", DEFAULT_SEED) | 1;
	expression->text = BYTES_INIT(MAX_TEXT_BYTES);
	for (uint64_t i = 0; i < count; i++) {
		compare(expression, &selected);
		parse_unescaped(expression);
	}
	/* Both results are frequent, so that the comparison means something. */
	assert_in_range(selected, count * 3 / 4, count * 9 / 4);
	print_message("%llu filters, %zu of %llu matches\n", (unsigned long long)count, selected,
		      (unsigned long long)count * 3);
	bytes_release(&expression->text);
	free(expression);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(random_filters_agree_with_a_second_evaluator),
	};

	return cmocka_run_group_tests(all, NULL, NULL);
}
