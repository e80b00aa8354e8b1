/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A statement and its row in the table are split by the lexer of filters and compared token by
 * token; SELECT has a grammar. The condition after WHERE is cut out here and parsed with the other
 * conditions of a request.
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

/* GROUP alone may be the name of a tag. */
static bool at_group_by(const struct reader *reader)
{
	const char *rest = reader->text + reader->token.end;

	rest += strspn(rest, " \t\r\n");
	return at_word(reader, "group") && strncasecmp(rest, "by", 2) == 0 &&
	       (!rest[2] || strchr(" \t\r\n`", rest[2]));
}

/* Reads up to GROUP BY, LIMIT or the end. */
static int read_condition(struct reader *reader, struct deepflow_statement *statement,
			  struct filter_error *error)
{
	size_t start = reader->token.end;
	int r;

	do {
		r = advance(reader, error);
		if (r < 0)
			return r;
	} while (reader->token.kind != TOKEN_END && !at_word(reader, "limit") &&
		 !at_group_by(reader));
	statement->condition_offset = start;
	statement->condition =
		arena_copy_text(reader->arena, reader->text + start, reader->token.offset - start);
	return statement->condition ? 0 : -ENOMEM;
}

static int read_end(struct reader *reader, struct deepflow_statement *statement,
		    struct filter_error *error)
{
	int r = 0;

	if (at_word(reader, "limit"))
		r = read_limit(reader, statement, error);
	if (r == 0 && reader->token.kind != TOKEN_END)
		r = fail_expected(reader, "WHERE, LIMIT or the end", error);
	return r;
}

static int read_tail(struct reader *reader, struct deepflow_statement *statement,
		     struct filter_error *error)
{
	int r = 0;

	if (at_word(reader, "where"))
		r = read_condition(reader, statement, error);
	return r < 0 ? r : read_end(reader, statement, error);
}

/* Reads a token of this kind and the one after it. */
static int take_token(struct reader *reader, enum filter_token_kind kind, const char *expected,
		      struct filter_error *error)
{
	if (reader->token.kind != kind)
		return fail_expected(reader, expected, error);
	return advance(reader, error);
}

/* tag | ENUM '(' tag ')' */
static int read_tag(struct reader *reader, const char **ret_tag, struct filter_error *error)
{
	const char *rest = reader->text + reader->token.end;
	const bool is_enum = at_word(reader, "enum") && rest[strspn(rest, " \t\r\n")] == '(';
	int r = 0;

	if (is_enum) {
		r = advance(reader, error);
		if (r == 0)
			r = take_token(reader, TOKEN_OPEN, "'('", error);
	}
	if (r == 0 && !take_name(&reader->token, ret_tag))
		r = fail_expected(reader, "the name of a tag", error);
	if (r == 0)
		r = advance(reader, error);
	if (r == 0 && is_enum)
		r = take_token(reader, TOKEN_CLOSE, "')'", error);
	return r;
}

/* Without AS, the name of a column is its text. */
static int read_column(struct reader *reader, struct deepflow_column *column,
		       struct filter_error *error)
{
	const size_t start = reader->token.offset;
	size_t end;
	int r = read_tag(reader, &column->tag, error);

	if (r < 0)
		return r;
	for (end = reader->token.offset; end > start && strchr(" \t\r\n", reader->text[end - 1]);)
		end--;
	if (!at_word(reader, "as")) {
		column->name =
			reader->text[start] == '`'
				? column->tag
				: arena_copy_text(reader->arena, reader->text + start, end - start);
		return column->name ? 0 : -ENOMEM;
	}
	r = advance(reader, error);
	if (r == 0 && reader->token.kind == TOKEN_TEXT)
		column->name = reader->token.text;
	else if (r == 0 && !take_name(&reader->token, &column->name))
		r = fail_expected(reader, "the name of a column", error);
	return r < 0 ? r : advance(reader, error);
}

static int read_columns(struct reader *reader, struct deepflow_statement *statement,
			struct filter_error *error)
{
	int r;

	do {
		if (statement->n_columns == DEEPFLOW_MAX_COLUMNS)
			return filter_fail(error, reader->token.offset, "more than %d columns",
					   DEEPFLOW_MAX_COLUMNS);
		r = advance(reader, error);
		if (r == 0)
			r = read_column(reader, &statement->columns[statement->n_columns++], error);
	} while (r == 0 && reader->token.kind == TOKEN_COMMA);
	if (r == 0 && !at_word(reader, "from"))
		r = fail_expected(reader, "FROM", error);
	return r;
}

/* GROUP BY may name a column by its alias. */
static const char *tag_of_column(const struct deepflow_statement *statement, const char *name)
{
	for (size_t i = 0; i < statement->n_columns; i++)
		if (strcmp(statement->columns[i].name, name) == 0)
			return statement->columns[i].tag;
	return name;
}

static int read_groups(struct reader *reader, struct deepflow_statement *statement,
		       struct filter_error *error)
{
	int r = advance(reader, error); /* to BY */

	do {
		const char *tag;

		if (statement->n_groups == DEEPFLOW_MAX_COLUMNS)
			return filter_fail(error, reader->token.offset, "more than %d tags",
					   DEEPFLOW_MAX_COLUMNS);
		if (r == 0)
			r = advance(reader, error);
		if (r == 0)
			r = read_tag(reader, &tag, error);
		if (r == 0)
			statement->groups[statement->n_groups++] = tag_of_column(statement, tag);
	} while (r == 0 && reader->token.kind == TOKEN_COMMA);
	return r;
}

static int find_groups(struct deepflow_statement *statement, size_t offset,
		       struct filter_error *error)
{
	for (size_t i = 0; i < statement->n_columns; i++) {
		struct deepflow_column *column = &statement->columns[i];

		for (column->group = 0; column->group < statement->n_groups; column->group++)
			if (strcmp(statement->groups[column->group], column->tag) == 0)
				break;
		if (column->group == statement->n_groups)
			return filter_fail(error, offset, "GROUP BY lacks the tag '%.100s'",
					   column->tag);
	}
	return 0;
}

/* What follows FROM. */
static int read_selection(struct reader *reader, struct deepflow_statement *statement,
			  struct filter_error *error)
{
	size_t offset;
	int r = advance(reader, error);

	if (r == 0 && !take_name(&reader->token, &statement->table))
		r = fail_expected(reader, "the name of a table", error);
	if (r == 0)
		r = advance(reader, error);
	if (r == 0 && at_word(reader, "where"))
		r = read_condition(reader, statement, error);
	if (r == 0 && !at_group_by(reader))
		r = fail_expected(reader, "WHERE or GROUP BY", error);
	offset = reader->token.offset;
	if (r == 0)
		r = read_groups(reader, statement, error);
	if (r == 0)
		r = find_groups(statement, offset, error);
	return r < 0 ? r : read_end(reader, statement, error);
}

/* A text that does not begin with the columns and FROM is no such statement: then the error has no
 * message. */
static int parse_select(const char *text, struct arena *arena,
			struct deepflow_statement *ret_statement, struct filter_error *error)
{
	struct deepflow_statement statement = { .kind = DEEPFLOW_SELECT,
						.condition = "",
						.count = DEEPFLOW_MAX_VALUES };
	struct reader reader = { .text = text, .arena = arena };
	struct filter_error ignored;
	int r = advance(&reader, &ignored);

	if (r == 0)
		r = at_word(&reader, "select") ? read_columns(&reader, &statement, &ignored)
					       : -EINVAL;
	if (r < 0)
		return r;
	r = read_selection(&reader, &statement, error);
	if (r == 0)
		*ret_statement = statement;
	return r;
}

int deepflow_statement_parse(const char *text, struct arena *arena,
			     struct deepflow_statement *ret_statement,
			     struct filter_error *ret_error)
{
	struct filter_error error = {};
	int r;

	if (strlen(text) > FILTER_MAX_BYTES)
		return filter_fail(ret_error, FILTER_MAX_BYTES, "longer than %d bytes",
				   (int)FILTER_MAX_BYTES);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct reader reader = { .text = text, .arena = arena };
		struct deepflow_statement statement;

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
	r = parse_select(text, arena, ret_statement, &error);
	if (r < 0)
		*ret_error = error;
	return r;
}
