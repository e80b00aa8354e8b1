/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Headers and parameters are searched linearly: a request has about a dozen, and the memory limit
 * of its connection bounds their number.
 */

#include "symbolizer/http/message.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include "common/json_writer.h"

#define ERROR_MESSAGE_SIZE 1024

static const char *const method_names[] = {
	[HTTP_GET] = "GET", [HTTP_HEAD] = "HEAD",     [HTTP_POST] = "POST",
	[HTTP_PUT] = "PUT", [HTTP_DELETE] = "DELETE", [HTTP_OTHER] = "other",
};

enum http_method http_method_from_name(const char *name)
{
	for (unsigned int method = 0; method < HTTP_OTHER; method++)
		if (strcmp(name, method_names[method]) == 0)
			return (enum http_method)method;
	return HTTP_OTHER;
}

const char *http_method_name(enum http_method method)
{
	return method_names[method];
}

static const struct scope_row {
	unsigned int bit;
	const char *name;
} scope_rows[] = {
#define X(id, bit, name, help) { bit, name },
	HTTP_SCOPES(X)
#undef X
};

unsigned int http_scope_from_name(const char *name, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(scope_rows); i++)
		if (strlen(scope_rows[i].name) == length &&
		    memcmp(scope_rows[i].name, name, length) == 0)
			return scope_rows[i].bit;
	return 0;
}

void http_scopes_format(unsigned int scopes, char ret_text[HTTP_SCOPES_TEXT_SIZE])
{
	size_t used = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(scope_rows); i++)
		if (scopes & scope_rows[i].bit)
			used += (size_t)snprintf(ret_text + used, HTTP_SCOPES_TEXT_SIZE - used,
						 "%s%s", used ? ", " : "", scope_rows[i].name);
}

const char *http_request_header(const struct http_request *request, const char *name)
{
	for (size_t i = 0; i < request->n_headers; i++)
		if (strcasecmp(request->headers[i].name, name) == 0)
			return request->headers[i].value;
	return NULL;
}

const char *http_request_parameter(const struct http_request *request, const char *name)
{
	for (size_t i = 0; i < request->n_parameters; i++)
		if (strcmp(request->parameters[i].name, name) == 0)
			return request->parameters[i].value[0] ? request->parameters[i].value
							       : NULL;
	return NULL;
}

static size_t skip_blanks(const char *text, size_t at, size_t end)
{
	while (at < end && (text[at] == ' ' || text[at] == '\t'))
		at++;
	return at;
}

/* Returns whether the parameters of a list element have ";q=0", ";q=0.0" and so on: the client
 * refuses the element. */
static bool quality_is_zero(const char *text, size_t at, size_t end)
{
	while (at < end && text[at] == ';') {
		at = skip_blanks(text, at + 1, end);
		if (at + 1 < end && (text[at] == 'q' || text[at] == 'Q') && text[at + 1] == '=') {
			for (at += 2; at < end && text[at] != ';'; at++)
				if (isdigit((unsigned char)text[at]) && text[at] != '0')
					return false;
			return true;
		}
		while (at < end && text[at] != ';')
			at++;
	}
	return false;
}

bool http_request_accepts(const struct http_request *request, const char *name, const char *token)
{
	const char *text = http_request_header(request, name);
	size_t token_length = strlen(token);

	while (text && *text) {
		size_t end = strcspn(text, ",");
		size_t start = skip_blanks(text, 0, end);
		size_t word = strcspn(text + start, ",; \t");

		if (word == token_length && strncasecmp(text + start, token, word) == 0)
			return !quality_is_zero(text, skip_blanks(text, start + word, end), end);
		text += end;
		if (*text == ',')
			text++;
	}
	return false;
}

void http_response_init(struct http_response *response)
{
	*response = (struct http_response){
		.status = 200,
		.content_type = "application/json",
		.body = BYTES_INIT(HTTP_RESPONSE_MAX_BYTES),
		.file = -1,
	};
}

static void close_file(struct http_response *response)
{
	if (response->file >= 0)
		(void)close(response->file);
	response->file = -1;
}

void http_response_release(struct http_response *response)
{
	close_file(response);
	bytes_release(&response->body);
	if (response->on_release)
		response->on_release(response->on_release_arg);
	response->on_release = NULL;
}

void http_response_header(struct http_response *response, const char *name, const char *format, ...)
{
	struct http_response_header *header;
	va_list args;

	assert(response->n_headers < HTTP_RESPONSE_MAX_HEADERS);
	header = &response->headers[response->n_headers++];
	header->name = name;

	va_start(args, format);
	(void)vsnprintf(header->value, sizeof(header->value), format, args);
	va_end(args);
	for (char *c = header->value; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
}

const char *http_response_find_header(const struct http_response *response, const char *name)
{
	for (unsigned int i = 0; i < response->n_headers; i++)
		if (strcasecmp(response->headers[i].name, name) == 0)
			return response->headers[i].value;
	return NULL;
}

static void write_plain_error(struct http_response *response, unsigned int status,
			      const char *message)
{
	struct json_writer json;

	(void)status;
	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key_text(&json, "error", message);
	json_object_end(&json);
}

void http_response_error(struct http_response *response, unsigned int status, const char *format,
			 ...)
{
	http_error_style style = response->error_style ? response->error_style : write_plain_error;
	char message[ERROR_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(message, sizeof(message), format, args);
	va_end(args);

	response->status = status;
	response->content_type = "application/json";
	response->fixed_body = (struct bytes_view){};
	response->fixed_encoding = NULL;
	close_file(response);
	bytes_clear(&response->body);
	style(response, status, message);
}
