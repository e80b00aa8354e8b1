/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The debuginfod protocol: gdb, perf, valgrind and elfutils fetch files by build ID. Its clients
 * send plain GETs. HEAD, ranges, entity tags and zstd are for clients that support them.
 *
 * A missing file is answered with 404, never with 503: elfutils treats 503 as "no section requests
 * here" and fetches the whole file. A file that is being fetched from another server, but cannot be
 * waited for, gets 503 and not 404, because clients cache a 404.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/api/debuginfo_answer.h"
#include "symbolizer/api/upstream_help.h"
#include "symbolizer/http/http_range.h"

/*
 * Maximum number of files that are expanded at a time: each uses one CPU, and reads from the disk
 * to which samples are written.
 */
#define MAX_EXPANSIONS 4

/* Expanded files are held in memory (below 64 MiB) or on disk until slow clients have read them. */
#define MAX_DOWNLOADS 32

/* Attempts to open a file that is replaced between looking it up and opening it. */
#define MAX_OPEN_ATTEMPTS 3

/* Size of an entity tag with its quotes and a suffix for the encoding. */
#define ETAG_SIZE 48

/* Takes one of @limit slots. Returns false if all are taken. */
static bool try_take(atomic_uint *taken, unsigned int limit)
{
	if (atomic_fetch_add(taken, 1) < limit)
		return true;
	atomic_fetch_sub(taken, 1);
	return false;
}

static void give_back(void *taken)
{
	atomic_fetch_sub((atomic_uint *)taken, 1);
}

/* Returns the part of the path "/buildid/ID/KIND/REST" after KIND, with its slash. */
static const char *rest_of(const struct http_request *request, const char *kind)
{
	const char *rest = request->path;
	size_t before = strlen("/buildid/") + strlen(request->argument) + strlen(kind);

	return strlen(rest) >= before ? rest + before : "";
}

static void not_found(const struct http_request *request, struct http_response *response,
		      const char *kind_name)
{
	http_response_error(response, 404,
			    "there is no %s of build ID '%.200s'; upload it with PUT "
			    "/v1/debuginfo/BUILDID",
			    kind_name, request->argument);
}

static void too_many(struct http_response *response)
{
	http_response_header(response, "Retry-After", "5");
	http_response_error(response, 503,
			    "too many debuginfo files are being sent; try again in a moment");
}

static void being_fetched(const struct http_request *request, struct http_response *response,
			  const char *kind_name)
{
	http_response_header(response, "Retry-After", "2");
	http_response_error(response, 503,
			    "the %s of build ID '%.200s' is being fetched from another server; try "
			    "again in a moment",
			    kind_name, request->argument);
}

static void write_etag(const struct hash128 *hash, const char *mark, char ret_etag[ETAG_SIZE])
{
	char hex[2 * sizeof(hash->bytes) + 1];

	hex_encode(hash->bytes, sizeof(hash->bytes), hex);
	(void)snprintf(ret_etag, ETAG_SIZE, "\"%s%s\"", hex, mark);
}

/* If the server has tokens, only the client may cache the answer, not a shared cache. */
static void write_headers(const struct http_request *request, struct http_response *response,
			  const struct http_validators *validators, uint64_t size)
{
	char date[HTTP_DATE_SIZE];

	http_date_format(validators->modified_s, date);
	response->content_type = "application/octet-stream";
	http_response_header(response, "X-DEBUGINFOD-SIZE", "%" PRIu64, size);
	http_response_header(response, "Last-Modified", "%s", date);
	http_response_header(response, "ETag", "%s", validators->etag);
	http_response_header(response, "Accept-Ranges", "bytes");
	http_response_header(response, "Vary", "Accept-Encoding");
	http_response_header(response, "Cache-Control", "%s",
			     request->caller->anonymous ? "public" : "private");
}

/* Refuses a file that is larger than the client's limit. Returns whether it did. */
static bool is_too_large_for(const struct http_request *request, struct http_response *response,
			     uint64_t size)
{
	const char *text = http_request_header(request, "X-DEBUGINFOD-MAXSIZE");
	unsigned long long max = text ? strtoull(text, NULL, 10) : 0;

	if (max == 0 || size <= max)
		return false;
	http_response_header(response, "X-DEBUGINFOD-SIZE", "%" PRIu64, size);
	http_response_error(response, 406, "the file has %" PRIu64 " bytes, more than %llu", size,
			    max);
	return true;
}

/* The plan for sending an entry. */
struct delivery {
	struct api_context *context;
	const struct http_request *request;
	const struct debuginfo_key *key;
	struct debuginfo_entry entry;
	bool compressed;
	enum http_range_result range_result;
	struct http_range range;
	char etag[ETAG_SIZE];
};

static void plan(struct delivery *delivery)
{
	const struct http_request *request = delivery->request;
	struct debuginfo_entry *entry = &delivery->entry;
	struct http_validators validators = { .etag = delivery->etag };

	validators.modified_s = entry->uploaded_wall_ns / NSEC_PER_SEC;
	write_etag(&entry->hash, "", delivery->etag);
	delivery->range_result =
		http_range_of(request, &validators, entry->size_bytes, &delivery->range);
	/* A range refers to the expanded file, so that it means the same to every client. */
	delivery->compressed = !http_request_header(request, "Range") && entry->size_bytes > 0 &&
			       http_request_accepts(request, "Accept-Encoding", "zstd");
	if (delivery->compressed)
		write_etag(&entry->hash, "-zstd", delivery->etag);
}

/* Returns 1 if the entry was opened, 0 if it does not exist any more, or a negative errno. */
static int open_entry(const struct delivery *delivery, struct http_response *response,
		      struct debuginfo_entry *ret_entry)
{
	struct debuginfo_store *store = delivery->context->debuginfo;
	const struct debuginfo_range range = { .offset = delivery->range.first,
					       .size = delivery->range.size };
	uint64_t size = delivery->entry.size_bytes;
	uint64_t offset = 0;
	int r;

	if (delivery->compressed) {
		r = debuginfo_open_frames(store, delivery->key, &response->file, &size, ret_entry);
	} else if (delivery->range_result == HTTP_RANGE_PART) {
		offset = range.offset;
		size = range.size;
		r = debuginfo_open_part(store, delivery->key, &range, &response->file, ret_entry);
	} else {
		r = debuginfo_open_kind(store, delivery->key, &response->file, ret_entry);
	}
	response->file_offset = offset;
	response->file_bytes = size;
	return r;
}

/* Counts @response as an open download until it is released. Returns false if too many are open. */
static bool take_download(struct api_context *context, struct http_response *response)
{
	if (!try_take(&context->n_downloads, MAX_DOWNLOADS))
		return false;
	response->on_release = give_back;
	response->on_release_arg = &context->n_downloads;
	return true;
}

/* Returns 1 if @response has the file, 0 if there is none, -EBUSY if too many are open, -EAGAIN
 * if the file was replaced, or another negative errno. */
static int open_download(const struct delivery *delivery, struct http_response *response)
{
	struct api_context *context = delivery->context;
	struct debuginfo_entry entry;
	int r;

	if (!response->on_release && !take_download(context, response))
		return -EBUSY;
	if (!try_take(&context->n_expansions, MAX_EXPANSIONS))
		return -EBUSY;
	r = open_entry(delivery, response, &entry);
	give_back(&context->n_expansions);
	if (r > 0 && entry.generation == delivery->entry.generation)
		return 1;
	if (response->file >= 0) {
		scoped_close(&response->file);
		response->file = -1;
	}
	return r > 0 || r == -ERANGE ? -EAGAIN : r;
}

static void answer_in_full(const struct delivery *delivery, struct http_response *response)
{
	if (delivery->request->method == HTTP_HEAD)
		response->head_bytes = delivery->compressed ? delivery->entry.stored_bytes
							    : delivery->entry.size_bytes;
	if (delivery->compressed)
		http_response_header(response, "Content-Encoding", "zstd");
	if (delivery->range_result == HTTP_RANGE_PART) {
		response->status = 206;
		http_response_header(
			response, "Content-Range", "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
			delivery->range.first, delivery->range.first + delivery->range.size - 1,
			delivery->entry.size_bytes);
		if (delivery->request->method == HTTP_HEAD)
			response->head_bytes = delivery->range.size;
	}
}

/* Answers without opening the file if possible. Returns whether it did. */
static bool answer_without_file(const struct delivery *delivery, struct http_response *response,
				const struct http_validators *validators)
{
	if (http_is_not_modified(delivery->request, validators)) {
		response->status = 304;
		response->content_type = NULL;
		return true;
	}
	if (delivery->range_result == HTTP_RANGE_OUTSIDE) {
		http_response_header(response, "Content-Range", "bytes */%" PRIu64,
				     delivery->entry.size_bytes);
		http_response_error(response, 416, "the file has %" PRIu64 " bytes",
				    delivery->entry.size_bytes);
		return true;
	}
	return delivery->request->method == HTTP_HEAD;
}

/* Returns 1 if the request was answered, 0 if there is no such file (any more), -EAGAIN if it
 * was replaced meanwhile, or another negative errno. */
static int deliver(struct delivery *delivery, struct http_response *response)
{
	struct http_validators validators = { .etag = delivery->etag };
	int r;

	r = debuginfo_find_kind(delivery->context->debuginfo, delivery->key, &delivery->entry);
	if (r <= 0)
		return r;
	if (is_too_large_for(delivery->request, response, delivery->entry.size_bytes))
		return 1;
	plan(delivery);
	validators.modified_s = delivery->entry.uploaded_wall_ns / NSEC_PER_SEC;
	if (answer_without_file(delivery, response, &validators)) {
		write_headers(delivery->request, response, &validators, delivery->entry.size_bytes);
		if (response->status == 200)
			answer_in_full(delivery, response);
		else if (response->status == 304)
			response->content_type = NULL;
		else
			response->content_type = "application/json";
		return 1;
	}
	r = open_download(delivery, response);
	if (r <= 0)
		return r;
	write_headers(delivery->request, response, &validators, delivery->entry.size_bytes);
	answer_in_full(delivery, response);
	return 1;
}

static int deliver_latest(struct delivery *delivery, struct http_response *response)
{
	int r = -EAGAIN;

	for (int i = 0; i < MAX_OPEN_ATTEMPTS && r == -EAGAIN; i++)
		r = deliver(delivery, response);
	return r;
}

static void count(struct api_context *context, const struct http_response *response)
{
	enum api_metric outcome = API_METRIC_DEBUGINFOD_SENT;

	if (response->status == 404)
		outcome = API_METRIC_DEBUGINFOD_MISSING;
	else if (response->status == 304)
		outcome = API_METRIC_DEBUGINFOD_NOT_MODIFIED;
	else if (response->status >= 400)
		outcome = API_METRIC_DEBUGINFOD_REFUSED;
	api_count(context, outcome, 1);
}

static void serve(struct api_context *context, const struct http_request *request,
		  struct http_response *response, const struct debuginfo_key *key,
		  const char *kind_name)
{
	struct delivery delivery = { .context = context, .request = request, .key = key };
	enum upstream_help help = UPSTREAM_NONE;
	int r;

	r = deliver_latest(&delivery, response);
	if (r == 0)
		help = upstream_help_ask(context, request, key);
	if (help == UPSTREAM_ANSWERED)
		r = deliver_latest(&delivery, response);
	if (r == -EBUSY || r == -EAGAIN)
		too_many(response);
	else if (r == 0 && help == UPSTREAM_CROWDED)
		being_fetched(request, response, kind_name);
	else if (r < 0)
		debuginfo_answer_failure(response, r, "read");
	else if (r == 0)
		not_found(request, response, kind_name);
	count(context, response);
}

void api_debuginfod(struct api_context *context, const struct http_request *request,
		    struct http_response *response)
{
	struct debuginfo_key key = { .kind = DEBUGINFO_KIND_DEBUGINFO, .path = "" };

	if (debuginfo_answer_id(request, response, &key.id))
		serve(context, request, response, &key, "debuginfo");
}

void api_debuginfod_executable(struct api_context *context, const struct http_request *request,
			       struct http_response *response)
{
	struct debuginfo_key key = { .kind = DEBUGINFO_KIND_EXECUTABLE, .path = "" };

	if (debuginfo_answer_id(request, response, &key.id))
		serve(context, request, response, &key, "executable");
}

void api_debuginfod_source(struct api_context *context, const struct http_request *request,
			   struct http_response *response)
{
	struct debuginfo_key key = { .kind = DEBUGINFO_KIND_SOURCE };
	char path[DEBUGINFO_MAX_PATH];

	if (!debuginfo_answer_id(request, response, &key.id))
		return;
	key.path = path;
	if (debuginfo_canonical_path(rest_of(request, "/source"), path) == 0) {
		serve(context, request, response, &key, "such source file");
	} else {
		not_found(request, response, "such source file");
		count(context, response);
	}
}

static int open_section(struct api_context *context, const struct executable_id *id,
			const char *name, struct http_response *response)
{
	struct debuginfo_range range;
	int r;

	if (!take_download(context, response))
		return -EBUSY;
	if (!try_take(&context->n_expansions, MAX_EXPANSIONS))
		return -EBUSY;
	r = debuginfo_open_section(context->debuginfo, id, name, &response->file, &range);
	give_back(&context->n_expansions);
	if (r > 0) {
		response->file_offset = range.offset;
		response->file_bytes = range.size;
	}
	return r;
}

/*
 * Finds the stored file that identifies the version of a section: its hash and its time of upload
 * are the section's validators.
 */
static int find_section_file(struct api_context *context, const struct executable_id *id,
			     struct debuginfo_entry *ret_entry)
{
	static const enum debuginfo_kind kinds[] = {
		DEBUGINFO_KIND_DEBUGINFO,
		DEBUGINFO_KIND_EXECUTABLE,
		DEBUGINFO_KIND_NAMES,
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && r == 0; i++) {
		const struct debuginfo_key key = { .id = *id, .kind = kinds[i], .path = "" };

		r = debuginfo_find_kind(context->debuginfo, &key, ret_entry);
	}
	return r;
}

static int serve_section(struct api_context *context, const struct http_request *request,
			 const struct executable_id *id, struct http_response *response,
			 enum upstream_help *ret_help)
{
	const struct debuginfo_key key = { .id = *id,
					   .kind = DEBUGINFO_KIND_DEBUGINFO,
					   .path = "" };
	struct http_validators validators;
	struct debuginfo_entry entry;
	char etag[ETAG_SIZE];
	int r;

	r = find_section_file(context, id, &entry);
	if (r == 0)
		*ret_help = upstream_help_ask(context, request, &key);
	if (*ret_help == UPSTREAM_ANSWERED)
		r = find_section_file(context, id, &entry);
	if (r > 0)
		r = open_section(context, id, rest_of(request, "/section/"), response);
	if (r <= 0)
		return r;
	/* The suffix makes the tag of a section differ from that of the whole file. */
	write_etag(&entry.hash, "-section", etag);
	validators =
		(struct http_validators){ .etag = etag,
					  .modified_s = entry.uploaded_wall_ns / NSEC_PER_SEC };
	write_headers(request, response, &validators, response->file_bytes);
	if (http_is_not_modified(request, &validators)) {
		scoped_close(&response->file);
		response->file = -1;
		response->status = 304;
		response->content_type = NULL;
	}
	return 1;
}

void api_debuginfod_section(struct api_context *context, const struct http_request *request,
			    struct http_response *response)
{
	enum upstream_help help = UPSTREAM_NONE;
	struct executable_id id;
	int r;

	if (!debuginfo_answer_id(request, response, &id))
		return;
	r = serve_section(context, request, &id, response, &help);
	if (r == -EBUSY)
		too_many(response);
	else if (r == 0 && help == UPSTREAM_CROWDED)
		being_fetched(request, response, "file with the sections");
	else if (r < 0)
		debuginfo_answer_failure(response, r, "read");
	else if (r == 0)
		not_found(request, response, "such section");
	count(context, response);
}
