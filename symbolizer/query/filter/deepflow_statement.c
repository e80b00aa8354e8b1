/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A statement and its row in the table are split by the lexer of filters and compared token by
 * token. The condition after WHERE is cut out here and parsed with the other conditions of a
 * request.
 */

#include "symbolizer/query/filter/deepflow_statement.h"

#include <string.h>
#include <strings.h>

#include "symbolizer/query/filter/filter_internal.h"

static const struct row {
	enum deepflow_statement_kind kind;
	const char *text;
} rows[] = {
#define X(id, text) { DEEPFLOW_##id, text },
	DEEPFLOW_STATEMENTS(X)
#undef X
	/* DeepFlow's functions are those of all tables. */
	{ DEEPFLOW_FUNCTIONS, "show metrics functions" },
};

/* A text and its next token. */
struct reader {
	const char *text;
	struct arena *arena;
	struct filter_token token;
};

static int advance(struct reader *reader, struct filter_error *error)
{
	return filter_lex(reader->text, reader->token.end, reader->arena, &reader->token, error);
}

static bool is_name(const struct filter_token *token)
{
	return token->kind == TOKEN_NAME || token->kind == TOKEN_QUOTED_NAME;
}

static bool at_word(const struct reader *reader, const char *word)
{
	return reader->token.kind == TOKEN_NAME && strcasecmp(reader->token.text, word) == 0;
}

static bool take_name(const struct filter_token *token, const char **ret_name)
{
	if (!is_name(token) || strlen(token->text) > FILTER_MAX_NAME_BYTES)
		return false;
	*ret_name = token->text;
	return true;
}

/* Returns whether @token is the one that a row has in its place. */
static bool fits(const struct filter_token *token, const struct filter_token *expected,
		 struct deepflow_statement *statement)
{
	if (is_name(expected) && strcmp(expected->text, "TABLE") == 0)
		return take_name(token, &statement->table);
	if (is_name(expected) && strcmp(expected->text, "TAG") == 0)
		return take_name(token, &statement->tag);
	return token->kind == expected->kind &&
	       (!is_name(expected) || strcasecmp(token->text, expected->text) == 0);
}

/* Compares the text of @reader with @row, and stops at the token after the row's end. Returns 1 if
 * it begins with the row, 0 if not, -ENOMEM. */
static int match_row(struct reader *reader, const struct row *row,
		     struct deepflow_statement *ret_statement)
{
	struct deepflow_statement statement = { .kind = row->kind,
						.condition = "",
						.count = DEEPFLOW_MAX_VALUES };
	struct reader expected = { .text = row->text, .arena = reader->arena };
	struct filter_error ignored;
	int r;

	do {
		r = advance(&expected, &ignored);
		if (r == 0)
			r = advance(reader, &ignored);
		if (r < 0)
			return r == -EINVAL ? 0 : r;
		if (expected.token.kind == TOKEN_END) {
			*ret_statement = statement;
			return 1;
		}
	} while (fits(&reader->token, &expected.token, &statement));
	return 0;
}

static int fail_expected(const struct reader *reader, const char *expected,
			 struct filter_error *error)
{
	return filter_fail(error, reader->token.offset, "expected %s", expected);
}

static int read_count(struct reader *reader, uint64_t *ret_count, struct filter_error *error)
{
	const struct filter_token *token = &reader->token;
	uint64_t count = 0;

	if (token->kind != TOKEN_NUMBER || strspn(token->text, "0123456789") > 9 ||
	    token->text[strspn(token->text, "0123456789")])
		return fail_expected(reader, "a number of values", error);
	for (const char *digit = token->text; *digit; digit++)
		count = count * 10 + (uint64_t)(*digit - '0');
	*ret_count = count;
	return advance(reader, error);
}

/* LIMIT count | LIMIT skip, count */
static int read_limit(struct reader *reader, struct deepflow_statement *statement,
		      struct filter_error *error)
{
	uint64_t count = 0;
	int r;

	r = advance(reader, error);
	if (r == 0)
		r = read_count(reader, &count, error);
	if (r == 0 && reader->token.kind == TOKEN_COMMA) {
		statement->skip = count;
		r = advance(reader, error);
		if (r == 0)
			r = read_count(reader, &count, error);
	}
	statement->count = MIN(count, (uint64_t)DEEPFLOW_MAX_VALUES);
	return r;
}

/* Reads up to LIMIT or the end. */
static int read_condition(struct reader *reader, struct deepflow_statement *statement,
			  struct filter_error *error)
{
	size_t start = reader->token.end;
	int r;

	do {
		r = advance(reader, error);
		if (r < 0)
			return r;
	} while (reader->token.kind != TOKEN_END && !at_word(reader, "limit"));
	statement->condition_offset = start;
	statement->condition =
		arena_copy_text(reader->arena, reader->text + start, reader->token.offset - start);
	return statement->condition ? 0 : -ENOMEM;
}

static int read_tail(struct reader *reader, struct deepflow_statement *statement,
		     struct filter_error *error)
{
	int r = 0;

	if (at_word(reader, "where"))
		r = read_condition(reader, statement, error);
	if (r == 0 && at_word(reader, "limit"))
		r = read_limit(reader, statement, error);
	if (r == 0 && reader->token.kind != TOKEN_END)
		r = fail_expected(reader, "WHERE, LIMIT or the end", error);
	return r;
}

int deepflow_statement_parse(const char *text, struct arena *arena,
			     struct deepflow_statement *ret_statement,
			     struct filter_error *ret_error)
{
	struct filter_error error = {};

	if (strlen(text) > FILTER_MAX_BYTES)
		return filter_fail(ret_error, FILTER_MAX_BYTES, "longer than %d bytes",
				   (int)FILTER_MAX_BYTES);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct reader reader = { .text = text, .arena = arena };
		struct deepflow_statement statement;
		int r;

		r = match_row(&reader, &rows[i], &statement);
		if (r < 0)
			return r;
		if (r == 0 ||
		    (rows[i].kind != DEEPFLOW_TAG_VALUES && reader.token.kind != TOKEN_END))
			continue;
		r = read_tail(&reader, &statement, &error);
		if (r < 0) {
			*ret_error = error;
			return r;
		}
		*ret_statement = statement;
		return 0;
	}
	*ret_error = error;
	return -EINVAL;
}
