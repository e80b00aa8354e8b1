/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the filter's lexer, parser and matcher share. */

#include "common/pattern.h"
#include "symbolizer/query/filter/filter.h"
#include "symbolizer/query/filter/ip_range.h"

/* A filter is typed by a person or made by a dashboard out of a few hundred names. */
#define FILTER_MAX_BYTES (64 * KIB)

/* Parentheses and NOTs within each other: the parser and the matcher recurse once for each. */
#define FILTER_MAX_DEPTH 64

/* Memory of a parsed filter, beyond what FILTER_MAX_BYTES can need; regular expressions are on top
 * of it. */
#define FILTER_MAX_MEMORY_BYTES (32 * MIB)

/* Each holds a compiled program. */
#define FILTER_MAX_PATTERNS 64

enum filter_token_kind {
	TOKEN_END,
	TOKEN_NAME,        /* bare: may be a keyword */
	TOKEN_QUOTED_NAME, /* in backticks: never one */
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
	size_t end;                 /* of the token in the text */
	const char *text;           /* names, texts and numbers; in the arena */
	enum comparison comparison; /* TOKEN_OPERATOR */
	bool negated;               /* TOKEN_OPERATOR: != */
};

/* The next token at or after @offset. 0, -EINVAL with @ret_error, -ENOMEM. */
int filter_lex(const char *text, size_t offset, struct arena *arena, struct filter_token *ret_token,
	       struct filter_error *ret_error);

/* -EINVAL, with the message cut to fit. */
int filter_fail(struct filter_error *error, size_t offset, const char *format, ...)
	printf_like(3, 4);

struct filter_value {
	const char *text;
	bool is_number;        /* written without quotes */
	bool has_number;       /* reads as one */
	long double number;    /* 64 bits of mantissa: every int64_t is exact */
	struct ip_range range; /* of tags that are addresses */
};

enum filter_node_kind {
	NODE_AND,
	NODE_OR,
	NODE_NOT,
	NODE_COMPARE,
};

struct filter_node {
	enum filter_node_kind kind;
	struct filter_node *first_child; /* AND, OR: two or more; NOT: one */
	struct filter_node *next;

	/* NODE_COMPARE */
	const char *tag;
	bool is_address;
	enum comparison comparison;
	bool negated;
	struct filter_value *values;
	size_t n_values;
	struct pattern *pattern; /* owned */
};

struct filter {
	struct arena *arena;
	struct filter_node *root; /* NULL: everything */
	struct pattern *patterns[FILTER_MAX_PATTERNS];
	size_t n_patterns;
};

/* A decimal number, with nothing before or after it. */
bool filter_number(const char *text, long double *ret_number);

/* * and % any characters, _ one; \ takes the next one as it is. ASCII without regard to case. */
bool filter_like(const char *pattern, const char *text);
