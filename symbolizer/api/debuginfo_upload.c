/* SPDX-License-Identifier: Apache-2.0 */

/*
 * PUT /v1/debuginfo/BUILDID and PUT /v1/debuginfo/BUILDID/source/PATH: uploads a file in one
 * request.
 */

#include <string.h>

#include "symbolizer/api/debuginfo_answer.h"
#include "symbolizer/api/upload_policy.h"

struct upload {
	struct api_context *context;
	struct debuginfo_upload *upload;
	uint64_t received_bytes;
	bool counted; /* the outcome is counted */
};

static void count_outcome(struct upload *upload, enum api_metric outcome)
{
	api_count(upload->context, outcome, 1);
	upload->counted = true;
}

static void upload_failed(struct upload *upload, struct http_response *response, int error,
			  const char *message)
{
	count_outcome(upload, upload_answer_failure(response, error, message));
}

/* Begins the upload in the store. @source_path NULL: an ELF file. */
static int begin_in_store(struct upload *upload, const struct http_request *request,
			  const struct executable_id *id, const char *source_path, char *message)
{
	int r;

	r = debuginfo_upload_begin(upload->context->debuginfo, id, upload_origin(request),
				   &upload->upload, message);
	if (r == 0 && source_path)
		r = debuginfo_upload_as_source(upload->upload, source_path, message);
	if (r < 0)
		upload->upload = debuginfo_upload_free(upload->upload);
	return r;
}

static void *begin(struct api_context *context, const struct http_request *request,
		   uint64_t declared_bytes, const char *source_path, struct http_response *response)
{
	char message[DEBUGINFO_MESSAGE_SIZE] = "";
	scoped_free struct upload *upload = NULL;
	struct executable_id id;
	int r;

	if (!debuginfo_answer_id(request, response, &id) ||
	    !upload_is_allowed(context, request, declared_bytes, response)) {
		api_count(context, API_METRIC_UPLOADS_REFUSED, 1);
		return NULL;
	}
	upload = calloc(1, sizeof(*upload));
	if (!upload) {
		http_response_error(response, 503, "out of memory; try again in a moment");
		return NULL;
	}
	upload->context = context;
	r = declared_bytes == UINT64_MAX
		    ? 0
		    : debuginfo_check_room(context->debuginfo, declared_bytes, message);
	if (r == 0)
		r = begin_in_store(upload, request, &id, source_path, message);
	if (r < 0) {
		upload_failed(upload, response, r, message);
		return NULL;
	}
	return take_ptr(upload);
}

static void *begin_file(void *context, const struct http_request *request, uint64_t declared_bytes,
			struct http_response *response)
{
	return begin(context, request, declared_bytes, NULL, response);
}

static void *begin_source(void *context, const struct http_request *request,
			  uint64_t declared_bytes, struct http_response *response)
{
	size_t before = strlen("/v1/debuginfo/") + strlen(request->argument) + strlen("/source");
	const char *path = request->path;

	return begin(context, request, declared_bytes, strlen(path) > before ? path + before : "",
		     response);
}

static bool append(void *stream, struct bytes_view data, struct http_response *response)
{
	char message[DEBUGINFO_MESSAGE_SIZE] = "";
	struct upload *upload = stream;
	int r;

	upload->received_bytes += data.size;
	api_count(upload->context, API_METRIC_UPLOAD_BYTES, data.size);
	if (upload->received_bytes > upload->context->max_upload_bytes) {
		upload_failed(upload, response, -EFBIG,
			      "the file is larger than debuginfo.max_upload_size");
		return false;
	}
	r = debuginfo_upload_append(upload->upload, data, message);
	if (r < 0)
		upload_failed(upload, response, r, message);
	return r >= 0;
}

static void finish(void *stream, const struct http_request *request, struct http_response *response)
{
	char message[DEBUGINFO_MESSAGE_SIZE] = "";
	struct debuginfo_entry entry = {};
	struct upload *upload = stream;
	int r;

	(void)request;
	r = debuginfo_upload_commit(upload->upload, &entry, message);
	if (r < 0)
		upload_failed(upload, response, r, message);
	else
		count_outcome(upload, upload_answer(response, r > 0, &entry, message));
}

static void free_upload(void *stream)
{
	struct upload *upload = stream;

	/* The client disconnected before the end. */
	if (!upload->counted)
		count_outcome(upload, API_METRIC_UPLOADS_REFUSED);
	(void)debuginfo_upload_free(upload->upload);
	free(upload);
}

const struct http_stream_operations api_debuginfo_put = {
	.begin = begin_file,
	.append = append,
	.finish = finish,
	.free = free_upload,
};

const struct http_stream_operations api_debuginfo_put_source = {
	.begin = begin_source,
	.append = append,
	.finish = finish,
	.free = free_upload,
};
