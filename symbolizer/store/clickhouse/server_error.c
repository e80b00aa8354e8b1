/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/clickhouse/server_error.h"

static const struct {
	unsigned int code;
	int error;
	bool is_temporary;
} codes[] = {
	{ 159, -ETIMEDOUT, false }, /* TIMEOUT_EXCEEDED */
	{ 192, -EACCES, false },    /* UNKNOWN_USER */
	{ 193, -EACCES, false },    /* WRONG_PASSWORD */
	{ 194, -EACCES, false },    /* REQUIRED_PASSWORD */
	{ 202, -EIO, true },        /* TOO_MANY_SIMULTANEOUS_QUERIES */
	{ 209, -EIO, true },        /* SOCKET_TIMEOUT: of another server of the cluster */
	{ 210, -EIO, true },        /* NETWORK_ERROR: likewise */
	{ 241, -ENOMEM, false },    /* MEMORY_LIMIT_EXCEEDED */
	{ 242, -EIO, true },        /* TABLE_IS_READ_ONLY: ZooKeeper is away */
	{ 243, -ENOSPC, false },    /* NOT_ENOUGH_SPACE */
	{ 252, -EIO, true },        /* TOO_MANY_PARTS */
	{ 319, -EIO, true },        /* UNKNOWN_STATUS_OF_INSERT */
	{ 394, -ECANCELED, false }, /* QUERY_WAS_CANCELLED */
	{ 497, -EACCES, false },    /* ACCESS_DENIED */
	{ 516, -EACCES, false },    /* AUTHENTICATION_FAILED */
	{ 999, -EIO, true },        /* KEEPER_EXCEPTION */
};

/* The rest of @view after the first @text, or nothing. */
static struct bytes_view after(struct bytes_view view, const char *text)
{
	const uint8_t *found = view.size ? memmem(view.data, view.size, text, strlen(text)) : NULL;

	if (!found)
		return (struct bytes_view){};
	found += strlen(text);
	return (struct bytes_view){ .data = found,
				    .size = (size_t)(view.data + view.size - found) };
}

static unsigned int parse_code(struct bytes_view digits)
{
	unsigned int code = 0;

	for (size_t i = 0; i < digits.size && i < 6; i++) {
		if (digits.data[i] < '0' || digits.data[i] > '9')
			break;
		code = code * 10 + (digits.data[i] - '0');
	}
	return code;
}

/* Ends at the line, and before the repetition that old versions append. */
static size_t text_length(struct bytes_view text)
{
	struct bytes_view rest = after(text, ", e.what() = ");
	const uint8_t *line = text.size ? memchr(text.data, '\n', text.size) : NULL;
	size_t length = text.size;

	if (rest.data)
		length = (size_t)(rest.data - text.data) - strlen(", e.what() = ");
	if (line)
		length = MIN(length, (size_t)(line - text.data));
	return MIN(length, (size_t)SERVER_ERROR_TEXT_SIZE - 1);
}

void server_error_parse(struct bytes_view answer, struct server_error *ret_error)
{
	struct bytes_view text = after(answer, "DB::Exception: ");
	struct server_error error = { .code = parse_code(after(answer, "Code: ")) };
	size_t length;

	if (!text.data)
		text = answer;
	length = text_length(text);
	for (size_t i = 0; i < length; i++)
		error.text[i] =
			text.data[i] < ' ' || text.data[i] == 0x7f ? '?' : (char)text.data[i];
	*ret_error = error;
}

int server_error_errno(unsigned int code)
{
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i].code == code)
			return codes[i].error;
	return -EIO;
}

bool server_error_is_temporary(unsigned int code)
{
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i].code == code)
			return codes[i].is_temporary;
	return false;
}
