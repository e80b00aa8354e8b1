/* SPDX-License-Identifier: Apache-2.0 */

/*
 * All requests use one curl handle, so that they share the connection. The client reads the whole
 * answer before it checks the status, because the body of an error holds the reason.
 */

#include "symbolizer/cli/client/client.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "common/log.h"
#include "symbolizer/cli/client/client_private.h"
#include "symbolizer/cli/client/server_message.h"
#include "symbolizer/cli/print/scoped_json.h"

/* A server that does not accept the connection within this time is unreachable. */
#define CONNECT_TIMEOUT_S 10L

/* Give up after this time without any byte: a query for a day of a fleet takes a few seconds. */
#define SILENCE_TIMEOUT_S 120L

/* Tokens made by hearth-symbolizer have 71 characters. */
#define MAX_TOKEN_FILE_BYTES 4096

struct client *client_free(struct client *client)
{
	if (!client)
		return NULL;
	curl_slist_free_all(client->headers);
	curl_slist_free_all(client->json_headers);
	if (client->curl)
		curl_easy_cleanup(client->curl);
	free(client->server);
	free(client);
	return NULL;
}

static int append_header(struct curl_slist **headers, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*headers, line);

	if (!longer)
		return -ENOMEM;
	*headers = longer;
	return 0;
}

static int add_header(struct client *client, const char *line)
{
	int r = append_header(&client->headers, line);

	return r < 0 ? r : append_header(&client->json_headers, line);
}

/* Appends the configured token and a NUL; without a token, nothing. */
static int read_token(const struct connection_options *options, struct bytes *token,
		      char ret_message[CLIENT_MESSAGE_SIZE])
{
	int r = 0;

	if (options->token_file)
		r = file_read(options->token_file, token);
	else if (options->token)
		r = bytes_append_text(token, options->token);
	else
		return 0;
	if (r < 0) {
		(void)snprintf(ret_message, CLIENT_MESSAGE_SIZE,
			       "cannot read the token%s%.300s%s: %s",
			       options->token_file ? " file '" : "",
			       options->token_file ? options->token_file : "",
			       options->token_file ? "'" : "", strerror(-r));
		return r;
	}
	while (options->token_file && token->size > 0 &&
	       strchr(" \t\r\n", token->data[token->size - 1]))
		token->size--;
	if (token->size == 0 || memchr(token->data, '\r', token->size) ||
	    memchr(token->data, '\n', token->size) || memchr(token->data, '\0', token->size)) {
		(void)snprintf(ret_message, CLIENT_MESSAGE_SIZE,
			       "the token is empty or has several lines");
		return -EINVAL;
	}
	return bytes_append_byte(token, '\0');
}

int client_check_token(const struct connection_options *options,
		       char ret_message[CLIENT_MESSAGE_SIZE])
{
	scoped_bytes struct bytes token = BYTES_INIT(MAX_TOKEN_FILE_BYTES);

	ret_message[0] = '\0';
	return read_token(options, &token, ret_message);
}

static int add_token(struct client *client, const struct connection_options *options)
{
	scoped_bytes struct bytes token = BYTES_INIT(MAX_TOKEN_FILE_BYTES);
	scoped_bytes struct bytes line = BYTES_INIT(2 * MAX_TOKEN_FILE_BYTES);
	char message[CLIENT_MESSAGE_SIZE] = "";
	int r = read_token(options, &token, message);

	if (r < 0 && message[0])
		log_error("%s", message);
	if (r < 0 || token.size == 0)
		return r;
	(void)bytes_append_format(&line, "Authorization: Bearer %s", (const char *)token.data);
	(void)bytes_append_byte(&line, '\0');
	r = bytes_error(&line);
	return r < 0 ? r : add_header(client, (const char *)line.data);
}

static int add_headers(struct client *client, const struct connection_options *options)
{
	int r = add_token(client, options);

	if (r < 0)
		return r;

	/* Do not wait for "100 Continue": the server reads the body, or refuses at once. */
	r = add_header(client, "Expect:");
	return r < 0 ? r : append_header(&client->json_headers, "Content-Type: application/json");
}

int client_new(const struct connection_options *options, struct client **ret_client)
{
	scoped(client_freep) struct client *client = calloc(1, sizeof(*client));
	size_t length = strlen(options->server);
	int r;

	if (!client)
		return -ENOMEM;
	client->curl = curl_easy_init();
	client->server = strdup(options->server);
	if (!client->curl || !client->server)
		return -ENOMEM;
	while (length > 0 && client->server[length - 1] == '/')
		client->server[--length] = '\0';

	r = add_headers(client, options);
	if (r < 0)
		return r;
	*ret_client = take_ptr(client);
	return 0;
}

static size_t append_answer(char *data, size_t size, size_t count, void *arg)
{
	return bytes_append(arg, data, size * count) < 0 ? 0 : size * count;
}

static int log_no_http(const struct client *client, const char *cause)
{
	log_error("'%s' does not answer in HTTP: %s; is it https://, or another program's port?",
		  client->server, cause);
	return -EIO;
}

/* Returns -EINVAL if the URL is wrong, else -EIO. */
static int log_unreachable(const struct client *client, CURLcode code)
{
	const char *cause =
		client->curl_message[0] ? client->curl_message : curl_easy_strerror(code);

	switch (code) {
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
		log_error(
			"cannot reach the server at '%s': %s; is hearth-symbolizer running there? "
			"--server URL or HEARTH_SERVER names another",
			client->server, cause);
		break;
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		if (strstr(cause, "HTTP/0.9"))
			return log_no_http(client, cause);
		log_error("'%s' is no address of a server: %s; it looks like http://HOST:20416, "
			  "with an IPv6 address in brackets: [::1]",
			  client->server, cause);
		return -EINVAL;
	case CURLE_GOT_NOTHING:
		return log_no_http(client, cause);
	case CURLE_SSL_CONNECT_ERROR:
		log_error("'%s' does not speak TLS with us: %s; without TLS it is http://",
			  client->server, cause);
		break;
	case CURLE_PEER_FAILED_VERIFICATION:
		log_error("the certificate of '%s' is not trusted: %s; add its authority to the "
			  "system's (update-ca-certificates)",
			  client->server, cause);
		break;
	case CURLE_WRITE_ERROR:
		log_error("the answer of '%s' is larger than %d MiB; ask for less", client->server,
			  (int)(CLIENT_MAX_ANSWER_BYTES / MIB));
		break;
	default:
		log_error("the request to '%s' failed: %s", client->server, cause);
	}
	return -EIO;
}

void client_find_message(struct bytes_view body, struct bytes *ret_message)
{
	scoped(json_freep) json_t *root = json_loadb((const char *)body.data, body.size, 0, NULL);
	const char *message = json_string_value(json_object_get(root, "DESCRIPTION"));

	if (!message)
		message = json_string_value(json_object_get(root, "error"));
	if (!message && !root && body.size > 0 && body.size < 512 &&
	    !memchr(body.data, '<', body.size)) {
		size_t end = body.size;

		while (end > 0 && strchr("\r\n ", body.data[end - 1]))
			end--;
		(void)bytes_append(ret_message, body.data, end);
	} else if (message) {
		server_message_append(ret_message, message);
	}
	(void)bytes_append_byte(ret_message, '\0');
}

static int log_refused(const struct client *client, long status, struct bytes_view body)
{
	scoped_bytes struct bytes buffer = BYTES_INIT(64 * KIB);
	const char *message;

	client_find_message(body, &buffer);
	message = bytes_error(&buffer) == 0 && buffer.data[0] != '\0' ? (const char *)buffer.data
								      : "no reason given";
	if (status == 401)
		log_error("the server at '%s' wants a token: %s; give one with --token-file FILE "
			  "or HEARTH_TOKEN",
			  client->server, message);
	else if (status == 403)
		log_error("the token may not do this: %s; give one with that scope with "
			  "--token-file FILE or HEARTH_TOKEN",
			  message);
	else if (status == 400 || status == 413)
		log_error("the server does not accept this: %s", message);
	else if (status == 404)
		log_error("'%s' does not know this request (%s); is it a hearth-symbolizer, and "
			  "not an older one?",
			  client->server, message);
	else
		log_error("the server at '%s' failed with status %ld: %s", client->server, status,
			  message);
	return status == 400 ? -EINVAL : -EIO;
}

CURLcode client_run(struct client *client, const char *path_and_query, struct bytes *body,
		    long *ret_status)
{
	scoped_bytes struct bytes url = BYTES_INIT(MIB);
	CURLcode code;

	*ret_status = 0;
	(void)bytes_append_format(&url, "%s%s", client->server, path_and_query);
	(void)bytes_append_byte(&url, '\0');
	if (bytes_error(&url) < 0)
		return CURLE_OUT_OF_MEMORY;

	client->curl_message[0] = '\0';
	(void)curl_easy_setopt(client->curl, CURLOPT_URL, (const char *)url.data);
	(void)curl_easy_setopt(client->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(client->curl, CURLOPT_USERAGENT, "hearth/" HEARTH_VERSION);
	(void)curl_easy_setopt(client->curl, CURLOPT_ACCEPT_ENCODING, "");
	(void)curl_easy_setopt(client->curl, CURLOPT_ERRORBUFFER, client->curl_message);
	(void)curl_easy_setopt(client->curl, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(client->curl, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S);
	(void)curl_easy_setopt(client->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	(void)curl_easy_setopt(client->curl, CURLOPT_LOW_SPEED_TIME, SILENCE_TIMEOUT_S);
	(void)curl_easy_setopt(client->curl, CURLOPT_WRITEFUNCTION, append_answer);
	(void)curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, body);
	code = curl_easy_perform(client->curl);
	(void)curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, ret_status);
	return code;
}

/* Every answer of the API is a JSON object. */
static bool is_json(const struct bytes *body)
{
	size_t start = 0;

	while (start < body->size && strchr(" \t\r\n", body->data[start]))
		start++;
	return start < body->size && body->data[start] == '{';
}

static int perform(struct client *client, const char *path_and_query, struct bytes *ret_body)
{
	scoped_bytes struct bytes body = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	long status;
	CURLcode code;

	code = client_run(client, path_and_query, &body, &status);
	/*
	 * A server that refuses an upload may close the connection before it has read all of it.
	 * Its answer is complete nevertheless.
	 */
	if (code != CURLE_OK && status < 400)
		return log_unreachable(client, code);
	if (status != 200 && status != 201 && !(status == 404 && !is_json(&body)))
		return log_refused(client, status, bytes_view_of(&body));
	if (!is_json(&body)) {
		log_error("'%s' is no hearth-symbolizer: it answers with status %ld and no JSON; "
			  "name another with --server URL or HEARTH_SERVER",
			  client->server, status);
		return -EIO;
	}
	return bytes_append(ret_body, body.data, body.size);
}

int client_get(struct client *client, const char *path_and_query, struct bytes *ret_body)
{
	curl_easy_reset(client->curl);
	(void)curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, client->headers);
	return perform(client, path_and_query, ret_body);
}

/* Returns the number in a header of the answer; -1: the answer does not have it. */
static long number_in_header(const struct client *client, const char *name)
{
	struct curl_header *header;

	if (curl_easy_header(client->curl, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
		return -1;
	return strtol(header->value, NULL, 10);
}

int client_get_download(struct client *client, const char *path_and_query,
			struct client_download *ret_download)
{
	scoped_bytes struct bytes message = BYTES_INIT(64 * KIB);
	long status, n_pending;
	CURLcode code;

	*ret_download = (struct client_download){ .body = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES) };
	curl_easy_reset(client->curl);
	(void)curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, client->headers);
	code = client_run(client, path_and_query, &ret_download->body, &status);
	if (code != CURLE_OK && status < 400)
		return log_unreachable(client, code);
	/* Only an answer of a query has this header: also one without data, but no other 404. */
	n_pending = number_in_header(client, "X-Hearth-Tables-Pending");
	if (status != 200 && (status != 404 || n_pending < 0))
		return log_refused(client, status, bytes_view_of(&ret_download->body));
	ret_download->n_tables_pending = (unsigned int)MAX(n_pending, 0);
	if (status == 200)
		return 1;
	client_find_message(bytes_view_of(&ret_download->body), &message);
	(void)snprintf(ret_download->message, sizeof(ret_download->message), "%s",
		       bytes_error(&message) == 0 ? (const char *)message.data : "");
	return 0;
}

int client_post_json(struct client *client, const char *path, struct bytes_view json,
		     struct bytes *ret_body)
{
	curl_easy_reset(client->curl);
	(void)curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, client->json_headers);
	(void)curl_easy_setopt(client->curl, CURLOPT_POST, 1L);
	(void)curl_easy_setopt(client->curl, CURLOPT_POSTFIELDS, json.data);
	(void)curl_easy_setopt(client->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)json.size);
	return perform(client, path, ret_body);
}

int client_path(struct client *client, struct bytes *ret_path, const char *path, ...)
{
	const char *separator = "?";
	const char *name;
	va_list pairs;

	(void)bytes_append_text(ret_path, path);
	va_start(pairs, path);
	while ((name = va_arg(pairs, const char *))) {
		const char *value = va_arg(pairs, const char *);
		char *escaped = curl_easy_escape(client->curl, value, 0);

		(void)bytes_append_format(ret_path, "%s%s=%s", separator, name,
					  escaped ? escaped : "");
		curl_free(escaped);
		separator = "&";
	}
	va_end(pairs);
	(void)bytes_append_byte(ret_path, '\0');
	return bytes_error(ret_path);
}
