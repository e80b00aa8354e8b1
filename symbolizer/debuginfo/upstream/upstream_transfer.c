/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The size of the body is bounded while it arrives, also after decompression. The commit of the
 * upload checks the file like any other, so a proxy's error page or a file of another build-ID is
 * refused.
 */

#include "symbolizer/debuginfo/upstream/upstream_transfer.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/log.h"

/* A server that does not accept a connection within this time is unreachable. */
#define CONNECT_TIMEOUT_MS 5000L

/* Bound of the whole request, if bytes arrive slowly but steadily. */
#define WHOLE_TIMEOUT_S 3600L

/* Servers redirect to mirrors. More redirects are a loop. */
#define MAX_REDIRECTS 3L

struct transfer {
	struct transfer_settings settings;
	CURL *curl;
	char curl_message[CURL_ERROR_SIZE];
	/* Of the current request: */
	struct debuginfo_upload *upload;
	uint64_t received_bytes;
	bool too_large;
	char message[DEBUGINFO_MESSAGE_SIZE];
	int store_error;
};

int transfer_new(const struct transfer_settings *settings, struct transfer **ret_transfer)
{
	scoped(transfer_freep) struct transfer *transfer = calloc(1, sizeof(*transfer));

	if (!transfer)
		return -ENOMEM;
	transfer->settings = *settings;
	transfer->curl = curl_easy_init();
	if (!transfer->curl)
		return -ENOMEM;
	*ret_transfer = take_ptr(transfer);
	return 0;
}

struct transfer *transfer_free(struct transfer *transfer)
{
	if (!transfer)
		return NULL;
	if (transfer->curl)
		curl_easy_cleanup(transfer->curl);
	free(transfer);
	return NULL;
}

static size_t take_body(char *data, size_t size, size_t count, void *arg)
{
	struct bytes_view view = { .data = (const uint8_t *)data, .size = size * count };
	struct transfer *transfer = arg;
	long status = 0;

	/* The body of an error response is read and discarded. */
	(void)curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status != 200)
		return view.size;
	transfer->received_bytes += view.size;
	if (transfer->received_bytes > transfer->settings.max_bytes) {
		transfer->too_large = true;
		return 0;
	}
	transfer->store_error = debuginfo_upload_append(transfer->upload, view, transfer->message);
	return transfer->store_error < 0 ? 0 : view.size;
}

static int on_progress(void *arg, curl_off_t total, curl_off_t done, curl_off_t up_total,
		       curl_off_t up_done)
{
	const struct transfer *transfer = arg;

	(void)total;
	(void)done;
	(void)up_total;
	(void)up_done;
	return atomic_load(transfer->settings.stopping) ? 1 : 0;
}

/* Slashes are not escaped. */
static void append_escaped_path(CURL *curl, const char *path, struct bytes *out)
{
	while (*path) {
		size_t segment = strcspn(path, "/");
		char *escaped = segment > 0 ? curl_easy_escape(curl, path, (int)segment) : NULL;

		(void)bytes_append_text(out, escaped ? escaped : "");
		curl_free(escaped);
		path += segment;
		while (*path == '/') {
			(void)bytes_append_byte(out, '/');
			path++;
		}
	}
}

static int make_url(struct transfer *transfer, const struct upstream_server *server,
		    const struct transfer_job *job, struct bytes *url)
{
	char id[EXECUTABLE_ID_TEXT_SIZE];

	executable_id_format(&job->id, id);
	(void)bytes_append_format(url, "%s/buildid/%s/", server->url, id);
	if (job->kind == DEBUGINFO_KIND_SOURCE) {
		(void)bytes_append_text(url, "source");
		append_escaped_path(transfer->curl, job->path, url);
	} else {
		(void)bytes_append_text(url, job->kind == DEBUGINFO_KIND_EXECUTABLE ? "executable"
										    : "debuginfo");
	}
	(void)bytes_append_byte(url, '\0');
	return bytes_error(url);
}

static struct curl_slist *add_header(struct curl_slist *headers, const char *name,
				     const char *value)
{
	char line[UPSTREAM_HOPS_SIZE + 64];
	struct curl_slist *longer;

	(void)snprintf(line, sizeof(line), "%s: %s", name, value);
	longer = curl_slist_append(headers, line);
	return longer ? longer : headers;
}

static struct curl_slist *make_headers(const struct transfer *transfer,
				       const struct upstream_server *server,
				       const struct transfer_job *job)
{
	struct curl_slist *headers = NULL, *longer;
	char size[24];

	(void)snprintf(size, sizeof(size), "%" PRIu64, transfer->settings.max_bytes);
	headers = add_header(headers, "Via", job->via);
	headers = add_header(headers, "X-Forwarded-For", job->forwarded_for);
	headers = add_header(headers, "X-DEBUGINFOD-MAXSIZE", size);
	longer = server->authorization ? curl_slist_append(headers, server->authorization) : NULL;
	return longer ? longer : headers;
}

static void set_options(struct transfer *transfer, const char *url, struct curl_slist *headers)
{
	CURL *curl = transfer->curl;
	long silence_s = (long)MAX(transfer->settings.timeout_ns / NSEC_PER_SEC, UINT64_C(1));

	curl_easy_reset(curl);
	(void)curl_easy_setopt(curl, CURLOPT_URL, url);
	(void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	(void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_MAXREDIRS, MAX_REDIRECTS);
	(void)curl_easy_setopt(curl, CURLOPT_USERAGENT, "hearth-symbolizer/" HEARTH_VERSION);
	(void)curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "");
	(void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, transfer->curl_message);
	(void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	(void)curl_easy_setopt(curl, CURLOPT_TIMEOUT, WHOLE_TIMEOUT_S);
	(void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, silence_s);
	(void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
	(void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
	(void)curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	(void)curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	(void)curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer);
}

/* @error: why our store refused the file. */
static enum transfer_outcome refuse(const struct transfer *transfer,
				    const struct upstream_server *server,
				    const struct transfer_job *job, int error)
{
	char id[EXECUTABLE_ID_TEXT_SIZE];

	executable_id_format(&job->id, id);
	log_warn("refused the file of the upstream server '%s' for build-ID '%s': %s", server->url,
		 id, transfer->message);
	return error == -EBADMSG || error == -EFBIG ? TRANSFER_REFUSED : TRANSFER_FAILED;
}

/* A stored file of another kind than the requested one is refused too. */
static enum transfer_outcome commit(struct transfer *transfer, const struct upstream_server *server,
				    const struct transfer_job *job)
{
	const struct debuginfo_key key = { .id = job->id, .kind = job->kind, .path = job->path };
	struct debuginfo_entry entry;
	int r;

	r = debuginfo_upload_commit(transfer->upload, &entry, transfer->message);
	if (r < 0)
		return refuse(transfer, server, job, r);
	return debuginfo_find_kind(transfer->settings.store, &key, &entry) > 0 ? TRANSFER_STORED
									       : TRANSFER_REFUSED;
}

static enum transfer_outcome judge(struct transfer *transfer, const struct upstream_server *server,
				   const struct transfer_job *job, CURLcode code)
{
	long status = 0;

	(void)curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
	if (transfer->too_large || status == 406)
		return TRANSFER_REFUSED;
	if (transfer->store_error < 0)
		return refuse(transfer, server, job, transfer->store_error);
	if (code == CURLE_OK && status == 200)
		return commit(transfer, server, job);
	if (code == CURLE_OK && (status == 404 || status == 400 || status == 410))
		return TRANSFER_MISSING;
	if (!atomic_load(transfer->settings.stopping))
		log_warn("cannot fetch from the upstream server '%s', status %ld: %s", server->url,
			 status,
			 transfer->curl_message[0] ? transfer->curl_message
						   : curl_easy_strerror(code));
	return TRANSFER_FAILED;
}

static int begin_upload(struct transfer *transfer, const struct transfer_job *job)
{
	int r;

	r = debuginfo_upload_begin(transfer->settings.store, &job->id, DEBUGINFO_FROM_UPSTREAM,
				   &transfer->upload, transfer->message);
	if (r == 0 && job->kind == DEBUGINFO_KIND_SOURCE)
		r = debuginfo_upload_as_source(transfer->upload, job->path, transfer->message);
	return r;
}

enum transfer_outcome transfer_run(struct transfer *transfer, const struct upstream_server *server,
				   const struct transfer_job *job, uint64_t *ret_bytes)
{
	scoped(bytes_release) struct bytes url = BYTES_INIT(64 * KIB);
	enum transfer_outcome outcome = TRANSFER_FAILED;
	struct curl_slist *headers;

	*ret_bytes = 0;
	transfer->received_bytes = 0;
	transfer->too_large = false;
	transfer->store_error = 0;
	transfer->message[0] = transfer->curl_message[0] = '\0';
	if (make_url(transfer, server, job, &url) < 0 || begin_upload(transfer, job) < 0) {
		transfer->upload = debuginfo_upload_free(transfer->upload);
		return TRANSFER_FAILED;
	}
	headers = make_headers(transfer, server, job);
	set_options(transfer, (const char *)url.data, headers);
	outcome = judge(transfer, server, job, curl_easy_perform(transfer->curl));
	curl_slist_free_all(headers);
	transfer->upload = debuginfo_upload_free(transfer->upload);
	*ret_bytes = transfer->received_bytes;
	return outcome;
}
