/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/reply.h"

#include <sys/socket.h>

#include "common/scoped.h"
#include "symbolizer/http/http_range.h"

/* Maximum size of an error response: the header, and a body with a message of at most 1 KiB. */
#define MAX_EARLY_BYTES (16 * KIB)

/* Body reader of an answer to HEAD, which is never called: only the length is sent. */
static ssize_t read_nothing(void *arg, uint64_t position, char *buffer, size_t size)
{
	(void)arg;
	(void)position;
	(void)buffer;
	(void)size;
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

/* Makes the library's response. A body in memory belongs to the exchange, which lives until the
 * response is sent. */
static struct MHD_Response *make_content(struct http_response *response)
{
	struct bytes_view body =
		response->fixed_body.data ? response->fixed_body : bytes_view_of(&response->body);

	if (response->file >= 0)
		return MHD_create_response_from_fd_at_offset64(
			response->file_bytes, take_fd(response->file), response->file_offset);
	if (response->head_bytes > 0)
		return MHD_create_response_from_callback(response->head_bytes, 4 * KIB,
							 read_nothing, NULL, NULL);
	return MHD_create_response_from_buffer(body.size, (void *)body.data,
					       MHD_RESPMEM_PERSISTENT);
}

struct MHD_Response *reply_make(struct http_response *response, bool closes)
{
	struct MHD_Response *message = make_content(response);

	if (!message)
		return NULL;
	if (response->content_type)
		(void)MHD_add_response_header(message, "Content-Type", response->content_type);
	if (response->fixed_body.data && response->fixed_encoding)
		(void)MHD_add_response_header(message, "Content-Encoding",
					      response->fixed_encoding);
	for (unsigned int i = 0; i < response->n_headers; i++)
		(void)MHD_add_response_header(message, response->headers[i].name,
					      response->headers[i].value);
	if (!http_response_find_header(response, "Cache-Control"))
		(void)MHD_add_response_header(message, "Cache-Control", "no-store");
	(void)MHD_add_response_header(message, "X-Content-Type-Options", "nosniff");
	if (closes)
		(void)MHD_add_response_header(message, "Connection", "close");
	return message;
}

bool reply_write_early(int fd, const struct http_response *response, bool with_body,
		       uint64_t unix_s)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(MAX_EARLY_BYTES);
	char date[HTTP_DATE_SIZE];

	http_date_format(unix_s, date);
	bytes_append_format(&out, "HTTP/1.1 %u %s\r\nDate: %s\r\nContent-Length: %zu\r\n",
			    response->status, MHD_get_reason_phrase_for(response->status), date,
			    response->body.size);
	if (response->content_type)
		bytes_append_format(&out, "Content-Type: %s\r\n", response->content_type);
	for (unsigned int i = 0; i < response->n_headers; i++)
		bytes_append_format(&out, "%s: %s\r\n", response->headers[i].name,
				    response->headers[i].value);
	bytes_append_text(&out, "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
				"Connection: close\r\n\r\n");
	if (with_body)
		bytes_append(&out, response->body.data, response->body.size);
	return bytes_error(&out) == 0 &&
	       send(fd, out.data, out.size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)out.size;
}
