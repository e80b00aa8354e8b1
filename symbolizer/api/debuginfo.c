/* SPDX-License-Identifier: Apache-2.0 */

/*
 * /v1/debuginfo and the debuginfod protocol's download: files by build ID, in and out.
 */

#include <inttypes.h>
#include <string.h>

#include "common/json_writer.h"
#include "common/log.h"
#include "symbolizer/api/api.h"

/* A hundred thousand files' entries. */
#define LIST_ARENA_BYTES (64 * MIB)

/* Each takes a CPU and reads from the disk that samples are written to. */
#define MAX_EXPANSIONS 4

/* Expanded files wait in memory (below 64 MiB) or on disk until slow clients have taken them. */
#define MAX_DOWNLOADS 32

static bool parse_id(const struct http_request *request, struct http_response *response,
		     struct executable_id *ret_id)
{
	if (executable_id_parse(request->argument, ret_id) == 0)
		return true;
	http_response_error(response, 400,
			    "'%.200s' is no build ID; give the hex digits that readelf -n prints "
			    "(or text-... or go-...)",
			    request->argument);
	return false;
}

static void store_failed(struct http_response *response, int error, const char *attempt)
{
	(void)log_error_errno(error, "cannot %s debuginfo, answering with an error: %m", attempt);
	http_response_error(response, error == -ENOSPC ? 507 : 500, "cannot %s debuginfo: %s",
			    attempt, strerror(-error));
}

static void write_entry(struct json_writer *json, const struct debuginfo_entry *entry)
{
	char id[EXECUTABLE_ID_TEXT_SIZE];

	executable_id_format(&entry->id, id);
	json_object_begin(json);
	json_key_text(json, "build_id", id);
	json_key_text(json, "origin",
		      debuginfo_origin_name(entry->origin));
	json_key_text(json, "has", debuginfo_richness_name(entry->richness));
	json_key_uint(json, "size_bytes", entry->size_bytes);
	json_key_uint(json, "stored_bytes", entry->stored_bytes);
	json_key_uint(json, "uploaded_time", entry->uploaded_wall_ns / NSEC_PER_SEC);
	json_key_uint(json, "last_used_time", entry->last_used_wall_ns / NSEC_PER_SEC);
	json_object_end(json);
}

void api_debuginfo_list(struct api_context *context, const struct http_request *request,
			struct http_response *response)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct debuginfo_entry *entries;
	struct json_writer json;
	size_t count;
	int r;

	(void)request;
	r = arena_new(LIST_ARENA_BYTES, &arena);
	if (r == 0)
		r = debuginfo_list(context->debuginfo, arena, &entries, &count);
	if (r < 0) {
		store_failed(response, r, "list");
		return;
	}
	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key(&json, "debuginfo");
	json_array_begin(&json);
	for (size_t i = 0; i < count; i++)
		write_entry(&json, &entries[i]);
	json_array_end(&json);
	json_object_end(&json);
}

static void not_found(const struct http_request *request, struct http_response *response)
{
	http_response_error(response, 404,
			    "there is no debuginfo of build ID '%.200s'; upload it with PUT "
			    "/v1/debuginfo/BUILDID",
			    request->argument);
}

void api_debuginfo_get(struct api_context *context, const struct http_request *request,
		       struct http_response *response)
{
	struct debuginfo_entry entry;
	struct executable_id id;
	struct json_writer json;
	int r;

	if (!parse_id(request, response, &id))
		return;
	r = debuginfo_find(context->debuginfo, &id, &entry);
	if (r < 0) {
		store_failed(response, r, "look up");
	} else if (r == 0) {
		not_found(request, response);
	} else {
		json_writer_init(&json, &response->body);
		write_entry(&json, &entry);
	}
}

void api_debuginfo_delete(struct api_context *context, const struct http_request *request,
			  struct http_response *response)
{
	struct executable_id id;
	struct json_writer json;
	int r;

	if (!parse_id(request, response, &id))
		return;
	r = debuginfo_remove(context->debuginfo, &id);
	if (r < 0) {
		store_failed(response, r, "remove");
	} else if (r == 0) {
		not_found(request, response);
	} else {
		json_writer_init(&json, &response->body);
		json_object_begin(&json);
		json_key_text(&json, "removed", request->argument);
		json_object_end(&json);
		log_info("removed the debuginfo of '%s', asked by %s%s", request->argument,
			 request->caller->anonymous ? "a client without token" : "token ",
			 request->caller->name);
	}
}

static bool take_place(atomic_uint *taken, unsigned int places)
{
	if (atomic_fetch_add(taken, 1) < places)
		return true;
	atomic_fetch_sub(taken, 1);
	return false;
}

static void leave_place(void *taken)
{
	atomic_fetch_sub((atomic_uint *)taken, 1);
}

/* 1 @response has the file, 0 there is none, -EBUSY too many at a time. */
static int open_download(struct api_context *context, const struct executable_id *id,
			 struct http_response *response, struct debuginfo_entry *ret_entry)
{
	int r;

	if (!take_place(&context->n_downloads, MAX_DOWNLOADS))
		return -EBUSY;
	response->on_release = leave_place;
	response->on_release_arg = &context->n_downloads;
	if (!take_place(&context->n_expansions, MAX_EXPANSIONS))
		return -EBUSY;
	r = debuginfo_open_file(context->debuginfo, id, &response->file, ret_entry);
	leave_place(&context->n_expansions);
	if (r > 0)
		response->file_bytes = ret_entry->size_bytes;
	return r;
}

void api_debuginfod(struct api_context *context, const struct http_request *request,
		    struct http_response *response)
{
	struct debuginfo_entry entry;
	struct executable_id id;
	int r;

	if (!parse_id(request, response, &id))
		return;
	if (request->method == HTTP_HEAD)
		r = debuginfo_find(context->debuginfo, &id, &entry);
	else
		r = open_download(context, &id, response, &entry);
	if (r == -EBUSY) {
		http_response_header(response, "Retry-After", "5");
		http_response_error(
			response, 503,
			"too many debuginfo files are being sent; try again in a moment");
	} else if (r < 0) {
		store_failed(response, r, "read");
	} else if (r == 0) {
		not_found(request, response);
	} else {
		if (request->method == HTTP_HEAD)
			response->head_bytes = entry.size_bytes;
		response->content_type = "application/octet-stream";
		http_response_header(response, "X-DEBUGINFOD-SIZE", "%" PRIu64, entry.size_bytes);
	}
}

struct upload {
	struct api_context *context;
	struct debuginfo_upload *upload;
	uint64_t received_bytes;
	bool counted; /* its outcome */
};

static void count_outcome(struct upload *upload, enum api_metric outcome)
{
	api_count(upload->context, outcome, 1);
	upload->counted = true;
}

/* What went wrong with an upload is the client's fault, the disk's, or ours. */
static void upload_failed(struct upload *upload, struct http_response *response, int error,
			  const char *message)
{
	const char *reason = message[0] ? message : strerror(-error);

	if (error == -EBADMSG || error == -EINVAL || error == -EFBIG || error == -EPERM) {
		count_outcome(upload, API_METRIC_UPLOADS_REFUSED);
		http_response_error(response, error == -EFBIG ? 413 : 400, "%s", reason);
		return;
	}
	count_outcome(upload, API_METRIC_UPLOADS_FAILED);
	http_response_header(response, "Retry-After", "60");
	http_response_error(response, error == -ENOSPC ? 507 : 503, "%s", reason);
	(void)log_error_errno(error, "cannot store uploaded debuginfo: %s: %m", reason);
}

/*
 * A token that may only ingest belongs to an agent; with more rights, or without tokens, the client
 * says whether it is one.
 */
static enum debuginfo_origin origin_of(const struct http_request *request)
{
	const char *header = http_request_header(request, "X-Hearth-Origin");

	if (!(request->caller->scopes & HTTP_SCOPE_UPLOAD))
		return DEBUGINFO_FROM_AGENT;
	return header && strcmp(header, "agent") == 0 ? DEBUGINFO_FROM_AGENT
						      : DEBUGINFO_FROM_PIPELINE;
}

static bool may_upload(struct api_context *context, const struct http_request *request,
		       uint64_t declared_bytes, struct http_response *response)
{
	if (origin_of(request) == DEBUGINFO_FROM_AGENT && !context->agents_may_upload) {
		http_response_error(response, 403,
				    "this server takes no debuginfo from agents; "
				    "debuginfo.from_agents allows it");
		return false;
	}
	if (declared_bytes != UINT64_MAX && declared_bytes > context->max_upload_bytes) {
		http_response_error(response, 413,
				    "the file is larger than debuginfo.max_upload_size, %" PRIu64
				    " bytes",
				    context->max_upload_bytes);
		return false;
	}
	return true;
}

static void *upload_begin(void *arg, const struct http_request *request, uint64_t declared_bytes,
			  struct http_response *response)
{
	char message[DEBUGINFO_MESSAGE_SIZE] = "";
	scoped_free struct upload *upload = NULL;
	struct api_context *context = arg;
	struct executable_id id;
	int r;

	if (!parse_id(request, response, &id) ||
	    !may_upload(context, request, declared_bytes, response)) {
		api_count(context, API_METRIC_UPLOADS_REFUSED, 1);
		return NULL;
	}
	upload = calloc(1, sizeof(*upload));
	if (!upload) {
		http_response_error(response, 503, "out of memory; try again in a moment");
		return NULL;
	}
	upload->context = context;
	r = debuginfo_upload_begin(context->debuginfo, &id, origin_of(request), &upload->upload,
				   message);
	if (r < 0) {
		upload_failed(upload, response, r, message);
		return NULL;
	}
	return take_ptr(upload);
}

static bool upload_append(void *stream, struct bytes_view data, struct http_response *response)
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

static void upload_finish(void *stream, const struct http_request *request,
			  struct http_response *response)
{
	char message[DEBUGINFO_MESSAGE_SIZE] = "";
	struct debuginfo_entry entry = {};
	struct upload *upload = stream;
	struct json_writer json;
	int r;

	(void)request;
	r = debuginfo_upload_commit(upload->upload, &entry, message);
	if (r < 0) {
		upload_failed(upload, response, r, message);
		return;
	}
	count_outcome(upload, r > 0 ? API_METRIC_UPLOADS_STORED : API_METRIC_UPLOADS_NOT_BETTER);
	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key_bool(&json, "stored", r > 0);
	json_key_text(&json, "message", message);
	json_key(&json, "debuginfo");
	if (r > 0)
		write_entry(&json, &entry);
	else
		json_null_value(&json);
	json_object_end(&json);
}

static void upload_free(void *stream)
{
	struct upload *upload = stream;

	/* The client went away in the middle. */
	if (!upload->counted)
		count_outcome(upload, API_METRIC_UPLOADS_REFUSED);
	(void)debuginfo_upload_free(upload->upload);
	free(upload);
}

const struct http_stream_operations api_debuginfo_put = {
	.begin = upload_begin,
	.append = upload_append,
	.finish = upload_finish,
	.free = upload_free,
};
