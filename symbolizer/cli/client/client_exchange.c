/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sends requests for callers that continue after a failure: uploads are tried again, and 404 is an
 * expected answer.
 */

#include <stdatomic.h>
#include <stdio.h>
#include <strings.h>

#include "symbolizer/cli/client/client_private.h"

/* The part of a file that is still to send. */
struct outgoing {
	int fd;
	uint64_t offset;
	uint64_t left;
	_Atomic uint64_t *n_sent;
};

static size_t read_file(char *buffer, size_t size, size_t count, void *arg)
{
	struct outgoing *outgoing = arg;
	ssize_t n;

	n = pread(outgoing->fd, buffer, MIN(size * count, outgoing->left), (off_t)outgoing->offset);
	if (n < 0)
		return CURL_READFUNC_ABORT;
	outgoing->offset += (uint64_t)n;
	outgoing->left -= (uint64_t)n;
	if (outgoing->n_sent)
		atomic_fetch_add(outgoing->n_sent, (uint64_t)n);
	return (size_t)n;
}

static void set_body(struct client *client, const struct client_request *request,
		     struct outgoing *outgoing)
{
	(void)curl_easy_setopt(client->curl, CURLOPT_CUSTOMREQUEST, request->method);
	if (request->json.data) {
		(void)curl_easy_setopt(client->curl, CURLOPT_POSTFIELDS, request->json.data);
		(void)curl_easy_setopt(client->curl, CURLOPT_POSTFIELDSIZE_LARGE,
				       (curl_off_t)request->json.size);
	} else if (request->size > 0 || strcmp(request->method, "PUT") == 0) {
		(void)curl_easy_setopt(client->curl, CURLOPT_UPLOAD, 1L);
		(void)curl_easy_setopt(client->curl, CURLOPT_INFILESIZE_LARGE,
				       (curl_off_t)request->size);
		(void)curl_easy_setopt(client->curl, CURLOPT_READFUNCTION, read_file);
		(void)curl_easy_setopt(client->curl, CURLOPT_READDATA, outgoing);
	} else if (strcmp(request->method, "POST") == 0) {
		(void)curl_easy_setopt(client->curl, CURLOPT_POSTFIELDS, "");
	}
}

/* Copies @headers and appends @one_more if it is not NULL. */
static struct curl_slist *copy_headers(const struct curl_slist *headers, const char *one_more)
{
	struct curl_slist *copy = NULL;

	for (; headers; headers = headers->next)
		copy = curl_slist_append(copy, headers->data);
	return one_more ? curl_slist_append(copy, one_more) : copy;
}

static void write_message(const struct client *client, CURLcode code, struct client_answer *answer)
{
	scoped_bytes struct bytes message = BYTES_INIT(64 * KIB);
	const char *text =
		client->curl_message[0] ? client->curl_message : curl_easy_strerror(code);

	if (answer->status >= 400) {
		client_find_message(bytes_view_of(&answer->body), &message);
		text = bytes_error(&message) == 0 && message.data[0] ? (const char *)message.data
								     : "no reason given";
	}
	(void)snprintf(answer->message, sizeof(answer->message), "%s", text);
}

static uint64_t date_of_answer(const struct client *client)
{
	struct curl_header *header;
	time_t date;

	if (curl_easy_header(client->curl, "Date", 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
		return 0;
	date = curl_getdate(header->value, NULL);
	return date > 0 ? (uint64_t)date : 0;
}

int client_exchange(struct client *client, const struct client_request *request,
		    struct client_answer *ret_answer)
{
	struct outgoing outgoing = {
		.fd = request->fd,
		.offset = request->offset,
		.left = request->size,
		.n_sent = request->n_sent,
	};
	struct curl_slist *headers;
	CURLcode code;

	*ret_answer = (struct client_answer){ .body = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES) };
	curl_easy_reset(client->curl);
	headers = copy_headers(request->json.data ? client->json_headers : client->headers,
			       request->header);
	(void)curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, headers);
	set_body(client, request, &outgoing);
	code = client_run(client, request->path, &ret_answer->body, &ret_answer->status);
	curl_slist_free_all(headers);
	ret_answer->date_s = date_of_answer(client);
	/* A server that refuses an upload may close the connection before it has read all of it. */
	if (code != CURLE_OK && ret_answer->status < 400)
		ret_answer->status = 0;
	if (ret_answer->status == 0 || ret_answer->status >= 400)
		write_message(client, code, ret_answer);
	return ret_answer->status == 0 ? -EIO : 0;
}

int client_escape_path(struct client *client, struct bytes *ret_path, const char *path)
{
	while (*path) {
		size_t segment = strcspn(path, "/");
		char *escaped =
			segment > 0 ? curl_easy_escape(client->curl, path, (int)segment) : NULL;

		(void)bytes_append_text(ret_path, escaped ? escaped : "");
		curl_free(escaped);
		path += segment;
		for (; *path == '/'; path++)
			(void)bytes_append_byte(ret_path, '/');
	}
	(void)bytes_append_byte(ret_path, '\0');
	return bytes_error(ret_path);
}
