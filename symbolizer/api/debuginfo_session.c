/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Uploads in pieces, for files that are too large for one request:
 *
 *   POST   /v1/debuginfo/BUILDID/uploads         {"size_bytes", "sha256"} -> {"upload", "offset"}
 *   PUT    /v1/debuginfo/BUILDID/uploads/UPLOAD  Content-Range: bytes FIRST-LAST/SIZE
 *   HEAD   /v1/debuginfo/BUILDID/uploads/UPLOAD  Upload-Offset: number of received bytes
 *   DELETE /v1/debuginfo/BUILDID/uploads/UPLOAD
 *
 * When the last byte has arrived, the file is compared with the hash and stored.
 */

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "symbolizer/api/debuginfo_answer.h"
#include "symbolizer/api/upload_policy.h"

static void write_session(struct http_response *response, const struct debuginfo_session *session)
{
	struct json_writer json;

	http_response_header(response, "Upload-Offset", "%" PRIu64, session->offset);
	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key_text(&json, "upload", session->name);
	json_key_uint(&json, "offset", session->offset);
	json_key_uint(&json, "size_bytes", session->size_bytes);
	json_object_end(&json);
}

static bool read_sha256(const json_t *root, struct debuginfo_session *session)
{
	const char *hex = json_string_value(json_object_get(root, "sha256"));

	return hex && hex_decode(hex, strlen(hex), session->sha256, sizeof(session->sha256)) ==
			      (int)sizeof(session->sha256);
}

static bool read_source_path(const json_t *root, struct debuginfo_session *session)
{
	const json_t *value = json_object_get(root, "source_path");
	const char *path = json_string_value(value);

	if (!value || json_is_null(value))
		return true;
	return path && debuginfo_canonical_path(path, session->source_path) == 0;
}

static bool read_session(const struct http_request *request, struct debuginfo_session *session,
			 struct http_response *response)
{
	scoped(json_decrefp) json_t *root =
		json_loadb((const char *)request->body.data, request->body.size, 0, NULL);
	const json_t *size = json_object_get(root, "size_bytes");

	if (!json_is_integer(size) || json_integer_value(size) < 0)
		http_response_error(response, 400,
				    "size_bytes: the size of the whole file is expected");
	else if (!read_sha256(root, session))
		http_response_error(response, 400,
				    "sha256: the 64 hex digits that sha256sum prints are expected");
	else if (!read_source_path(root, session))
		http_response_error(response, 400,
				    "source_path: the path that the debuginfo names is expected");
	else
		session->size_bytes = (uint64_t)json_integer_value(size);
	return response->status == 200;
}

void api_debuginfo_uploads_post(struct api_context *context, const struct http_request *request,
				struct http_response *response)
{
	struct debuginfo_session session = { .origin = upload_origin(request) };
	char message[DEBUGINFO_MESSAGE_SIZE] = "";
	int r;

	if (!debuginfo_answer_id(request, response, &session.id) ||
	    !read_session(request, &session, response) ||
	    !upload_is_allowed(context, request, session.size_bytes, response))
		return;
	r = debuginfo_session_begin(context->debuginfo, &session, message);
	if (r < 0)
		(void)upload_answer_failure(response, r, message);
	else if (r == 0)
		api_count(context, upload_answer(response, false, NULL, message), 1);
	else
		write_session(response, &session);
}

/* Returns the part of the path after "/uploads/". */
static const char *upload_name(const struct http_request *request)
{
	size_t before = strlen("/v1/debuginfo/") + strlen(request->argument) + strlen("/uploads/");

	return strlen(request->path) > before ? request->path + before : "";
}

/* Finds the upload in the path. It must have the identity in the path and the origin of the
 * request. Returns 0 after filling @response with an error. */
static int find_session(struct api_context *context, const struct http_request *request,
			struct http_response *response, struct debuginfo_session *ret_session)
{
	struct executable_id id;
	int r;

	if (!debuginfo_answer_id(request, response, &id))
		return 0;
	r = debuginfo_session_find(context->debuginfo, upload_name(request), ret_session);
	if (r < 0) {
		debuginfo_answer_failure(response, r, "look up");
		return 0;
	}
	if (r == 0 || !executable_id_equal(&ret_session->id, &id) ||
	    ret_session->origin != upload_origin(request)) {
		http_response_error(response, 404,
				    "there is no such upload: it is done, was refused, or nobody "
				    "went on with it for a day");
		return 0;
	}
	return 1;
}

void api_debuginfo_uploads_get(struct api_context *context, const struct http_request *request,
			       struct http_response *response)
{
	struct debuginfo_session session;

	if (find_session(context, request, response, &session))
		write_session(response, &session);
}

void api_debuginfo_uploads_delete(struct api_context *context, const struct http_request *request,
				  struct http_response *response)
{
	struct debuginfo_session session;
	struct json_writer json;
	int r;

	if (!find_session(context, request, response, &session))
		return;
	r = debuginfo_session_remove(context->debuginfo, session.name);
	if (r == -EBUSY) {
		http_response_error(response, 409, "a piece of it is on its way");
	} else if (r < 0) {
		debuginfo_answer_failure(response, r, "remove");
	} else {
		json_writer_init(&json, &response->body);
		json_object_begin(&json);
		json_key_text(&json, "removed", session.name);
		json_object_end(&json);
	}
}

/* Parses "bytes 100-199/1000". An asterisk instead of 100-199 means no bytes; such a piece
 * commits a complete upload. */
static bool parse_content_range(const struct http_request *request,
				const struct debuginfo_session *session, uint64_t *ret_offset)
{
	const char *text = http_request_header(request, "Content-Range");
	unsigned long long first, last, size;
	int end = 0;

	if (!text)
		return false;
	if (sscanf(text, "bytes */%20llu%n", &size, &end) == 1 && text[end] == '\0') {
		*ret_offset = session->offset;
		return size == session->size_bytes;
	}
	if (sscanf(text, "bytes %20llu-%20llu/%20llu%n", &first, &last, &size, &end) != 3 ||
	    text[end] != '\0' || last < first || size != session->size_bytes || last >= size)
		return false;
	*ret_offset = first;
	return true;
}

struct piece {
	struct api_context *context;
	struct debuginfo_piece *piece;
	struct debuginfo_session session;
};

static void answer_conflict(struct http_response *response, struct debuginfo_session *session,
			    int error)
{
	if (error == -EBUSY) {
		http_response_error(response, 409, "another piece of it is on its way");
		return;
	}
	http_response_header(response, "Upload-Offset", "%" PRIu64, session->offset);
	http_response_error(response, 409, "the next piece begins at %" PRIu64, session->offset);
}

static bool open_piece(struct piece *piece, const struct http_request *request,
		       struct http_response *response)
{
	struct debuginfo_session *session = &piece->session;
	uint64_t offset;
	int r;

	if (!parse_content_range(request, session, &offset)) {
		http_response_error(response, 400,
				    "Content-Range: 'bytes FIRST-LAST/%" PRIu64 "' is expected",
				    session->size_bytes);
		return false;
	}
	r = debuginfo_piece_open(piece->context->debuginfo, session->name, offset, &piece->piece);
	if (r == -EBUSY || r == -ESPIPE)
		answer_conflict(response, session, r);
	else if (r <= 0)
		(void)upload_answer_failure(response, r < 0 ? r : -EIO, "");
	return r > 0;
}

static void *begin_piece(void *arg, const struct http_request *request, uint64_t declared_bytes,
			 struct http_response *response)
{
	scoped_free struct piece *piece = calloc(1, sizeof(*piece));

	if (!piece) {
		http_response_error(response, 503, "out of memory; try again in a moment");
		return NULL;
	}
	piece->context = arg;
	if (!find_session(arg, request, response, &piece->session) ||
	    !upload_is_allowed(arg, request, declared_bytes, response) ||
	    !open_piece(piece, request, response))
		return NULL;
	return take_ptr(piece);
}

static bool append_piece(void *stream, struct bytes_view data, struct http_response *response)
{
	char message[DEBUGINFO_MESSAGE_SIZE] = "";
	struct piece *piece = stream;
	int r;

	api_count(piece->context, API_METRIC_UPLOAD_BYTES, data.size);
	r = debuginfo_piece_append(piece->piece, data, message);
	if (r < 0)
		(void)upload_answer_failure(response, r, message);
	return r >= 0;
}

static void finish_piece(void *stream, const struct http_request *request,
			 struct http_response *response)
{
	char message[DEBUGINFO_MESSAGE_SIZE] = "";
	struct debuginfo_entry entry = {};
	struct piece *piece = stream;
	enum api_metric outcome;
	int r;

	(void)request;
	r = debuginfo_piece_commit(piece->piece, &entry, message);
	if (r == -EAGAIN) {
		piece->session.offset = debuginfo_piece_offset(piece->piece);
		write_session(response, &piece->session);
		return;
	}
	outcome = r < 0 ? upload_answer_failure(response, r, message)
			: upload_answer(response, r > 0, &entry, message);
	api_count(piece->context, outcome, 1);
}

static void free_piece(void *stream)
{
	struct piece *piece = stream;

	(void)debuginfo_piece_free(piece->piece);
	free(piece);
}

const struct http_stream_operations api_debuginfo_uploads_put = {
	.begin = begin_piece,
	.append = append_piece,
	.finish = finish_piece,
	.free = free_piece,
};
