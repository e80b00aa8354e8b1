/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits the text of a filter into tokens. Inside quotes, a doubled quote and \\ \' \" \` stand for
 * the character itself. The lexer keeps any other backslash, so that regular expressions need no
 * doubled ones.
 */

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "symbolizer/query/filter/filter_internal.h"

int filter_fail(struct filter_error *error, size_t offset, const char *format, ...)
{
	va_list arguments;

	*error = (struct filter_error){ .offset = offset };
	va_start(arguments, format);
	(void)vsnprintf(error->message, sizeof(error->message), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

static bool starts_name(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool continues_name(char c)
{
	return isalnum((unsigned char)c) || (c != '\0' && strchr("_.-/", c));
}

/* Returns the character at *offset of a quoted string and advances *offset past it. Returns -1 at
 * the closing quote and at the end of the text. */
static int quoted_character(const char *text, char quote, size_t *offset)
{
	char c = text[*offset];
	char next = c ? text[*offset + 1] : '\0';

	if (c == '\0' || (c == quote && next != quote))
		return -1;
	if (c == quote || (c == '\\' && next != '\0' && strchr("\\'\"`", next))) {
		*offset += 2;
		return (unsigned char)next;
	}
	*offset += 1;
	return (unsigned char)c;
}

static int lex_quoted(const char *text, char quote, struct arena *arena, struct filter_token *token,
		      struct filter_error *error)
{
	size_t start = token->offset + 1;
	size_t end = start;
	size_t length = 0;
	char *value;
	int c;

	while (quoted_character(text, quote, &end) >= 0)
		length++;
	if (text[end] == '\0')
		return filter_fail(error, token->offset, "no closing %c", quote);
	if (quote == '`' && length == 0)
		return filter_fail(error, token->offset, "an empty name");

	value = arena_alloc(arena, length + 1);
	if (!value)
		return -ENOMEM;
	length = 0;
	for (size_t i = start; (c = quoted_character(text, quote, &i)) >= 0;)
		value[length++] = (char)c;

	token->kind = quote == '`' ? TOKEN_QUOTED_NAME : TOKEN_TEXT;
	token->text = value;
	token->end = end + 1;
	return 0;
}

static int lex_word(const char *text, enum filter_token_kind kind, struct arena *arena,
		    struct filter_token *token)
{
	size_t end = token->offset + 1;

	while (continues_name(text[end]) || (kind == TOKEN_NUMBER && text[end] == '+'))
		end++;
	token->kind = kind;
	token->end = end;
	token->text = arena_copy_text(arena, text + token->offset, end - token->offset);
	return token->text ? 0 : -ENOMEM;
}

static int lex_number(const char *text, struct arena *arena, struct filter_token *token,
		      struct filter_error *error)
{
	long double number;
	int r;

	r = lex_word(text, TOKEN_NUMBER, arena, token);
	if (r < 0)
		return r;
	if (!filter_number(token->text, &number))
		return filter_fail(error, token->offset,
				   "'%.40s' is not a number: put text in quotes", token->text);
	return 0;
}

static int lex_operator(const char *text, struct filter_token *token, struct filter_error *error)
{
	/* Longer operators first: "<" is a prefix of "<=". */
	static const struct {
		const char *text;
		enum filter_token_kind kind;
		enum comparison comparison;
		bool negated;
	} operators[] = {
		{ "!=", TOKEN_OPERATOR, COMPARE_EQUAL, true },
		{ "<>", TOKEN_OPERATOR, COMPARE_EQUAL, true },
		{ "<=", TOKEN_OPERATOR, COMPARE_LESS_EQUAL, false },
		{ ">=", TOKEN_OPERATOR, COMPARE_GREATER_EQUAL, false },
		{ "=", TOKEN_OPERATOR, COMPARE_EQUAL, false },
		{ "<", TOKEN_OPERATOR, COMPARE_LESS, false },
		{ ">", TOKEN_OPERATOR, COMPARE_GREATER, false },
		{ "(", TOKEN_OPEN, COMPARE_EQUAL, false },
		{ ")", TOKEN_CLOSE, COMPARE_EQUAL, false },
		{ ",", TOKEN_COMMA, COMPARE_EQUAL, false },
	};
	unsigned char c = (unsigned char)text[token->offset];

	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		size_t length = strlen(operators[i].text);

		if (strncmp(text + token->offset, operators[i].text, length) != 0)
			continue;
		token->kind = operators[i].kind;
		token->comparison = operators[i].comparison;
		token->negated = operators[i].negated;
		token->end = token->offset + length;
		return 0;
	}
	if (c < 0x20 || c >= 0x7f)
		return filter_fail(error, token->offset, "unexpected byte 0x%02x", c);
	return filter_fail(error, token->offset, "unexpected '%c'", c);
}

int filter_lex(const char *text, size_t offset, struct arena *arena, struct filter_token *ret_token,
	       struct filter_error *ret_error)
{
	struct filter_token token = {};
	char first, second;
	int r = 0;

	offset += strspn(text + offset, " \t\r\n");
	token.offset = offset;
	token.end = offset;
	first = text[offset];
	second = first ? text[offset + 1] : '\0';

	if (first == '\0')
		token.kind = TOKEN_END;
	else if (first == '\'' || first == '"' || first == '`')
		r = lex_quoted(text, first, arena, &token, ret_error);
	else if (starts_name(first))
		r = lex_word(text, TOKEN_NAME, arena, &token);
	else if (isdigit((unsigned char)first) || (first == '-' && isdigit((unsigned char)second)))
		r = lex_number(text, arena, &token, ret_error);
	else
		r = lex_operator(text, &token, ret_error);
	if (r < 0)
		return r;
	*ret_token = token;
	return 0;
}
