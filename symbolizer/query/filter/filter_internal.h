/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Tokens and syntax tree: the types that lexer, parser and matcher share. */

#include "common/pattern.h"
#include "symbolizer/query/filter/filter.h"
#include "symbolizer/query/filter/ip_range.h"

/* Longest text of a filter. People type short ones; dashboards generate lists of several hundred
 * names. */
#define FILTER_MAX_BYTES (64 * KIB)

/* Deepest nesting of parentheses and NOT. Parser and matcher recurse once for each level. */
#define FILTER_MAX_DEPTH 64

/* Memory of a parsed filter without its regular expressions: more than a text of FILTER_MAX_BYTES
 * can need. */
#define FILTER_MAX_MEMORY_BYTES (32 * MIB)

/* Regular expressions in one filter. PCRE2 compiles each into a separate program. */
#define FILTER_MAX_PATTERNS 64

enum filter_token_kind {
	TOKEN_END,
	TOKEN_NAME,        /* bare: may be a keyword */
	TOKEN_QUOTED_NAME, /* in backticks: never a keyword */
	TOKEN_TEXT,
	TOKEN_NUMBER,
	TOKEN_OPERATOR,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_COMMA,
};

enum comparison {
	COMPARE_EQUAL,
	COMPARE_LESS,
	COMPARE_LESS_EQUAL,
	COMPARE_GREATER,
	COMPARE_GREATER_EQUAL,
	COMPARE_IN,
	COMPARE_LIKE,
	COMPARE_REGEXP,
	COMPARE_NULL,
};

struct filter_token {
	enum filter_token_kind kind;
	size_t offset;
	size_t end;                 /* offset of the byte after the token */
	const char *text;           /* of names, strings and numbers; in the arena */
	enum comparison comparison; /* TOKEN_OPERATOR */
	bool negated;               /* TOKEN_OPERATOR: true for != and <> */
};

/* Reads the first token at or after @offset. Returns 0, -EINVAL with *ret_error, or -ENOMEM. */
int filter_lex(const char *text, size_t offset, struct arena *arena, struct filter_token *ret_token,
	       struct filter_error *ret_error);

/* Fills *error, truncates the message to fit, and returns -EINVAL. */
int filter_fail(struct filter_error *error, size_t offset, const char *format, ...)
	printf_like(3, 4);

struct filter_value {
	const char *text;
	bool is_number;        /* the filter has it without quotes */
	bool has_number;       /* @text is a decimal number, quoted or not */
	long double number;    /* 64 bits of mantissa: every int64_t is exact */
	struct ip_range range; /* for tags that are addresses */
};

enum filter_node_kind {
	NODE_AND,
	NODE_OR,
	NODE_NOT,
	NODE_COMPARE,
};

struct filter_node {
	enum filter_node_kind kind;
	struct filter_node *first_child; /* AND, OR: two or more children; NOT: one */
	struct filter_node *next;

	/* Only in NODE_COMPARE. */
	const char *tag;
	bool is_address;
	enum comparison comparison;
	bool negated;
	struct filter_value *values;
	size_t n_values;
	struct pattern *pattern; /* owned by struct filter */
};

struct filter {
	struct arena *arena;
	struct filter_node *root; /* NULL: selects everything */
	struct pattern *patterns[FILTER_MAX_PATTERNS];
	size_t n_patterns;
};

/* Reads @text as a decimal number; false if any other character precedes or follows it. */
bool filter_number(const char *text, long double *ret_number);

/* LIKE: * and % match any characters, _ matches one, \ escapes the next character. ASCII letters
 * match in either case. */
bool filter_like(const char *pattern, const char *text);
