/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One easy handle in one multi handle. The multi interface allows another thread to wake this one,
 * and the watch function to run during a transfer. The easy handle is reset for every request; its
 * connection stays with the multi handle.
 */
#include "agent/upload/http_client.h"

#include <curl/curl.h>
#include <string.h>

#define CONNECT_TIMEOUT_S 5

/* A transfer without a total limit fails if it moves less than 1 byte/s for this long. */
#define STALL_S 60

/* Longest time between two calls of the watch function. */
#define WATCH_INTERVAL_MS 200

/* Most bytes of one call of read(); the size of curl's own buffer. */
#define UPLOAD_PIECE_BYTES ((long)(64 * KIB))

struct http_client {
	CURLM *multi;
	CURL *easy;
	char *server;
	char *authorization; /* the whole header line, or NULL */
	char *ca_file;
	bool insecure_tls;
	bool bypasses_proxy;
};

struct transfer {
	const struct http_request *request;
	struct http_answer *answer;
	uint64_t left; /* of the upload */
	int error;     /* of read(), rewind(), or of appending to the body */
};

/* The environment's proxies are not used for connections within the host. */
static bool is_loopback(const char *server)
{
	static const char *const hosts[] = { "://127.", "://localhost", "://[::1]" };

	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
		if (strstr(server, hosts[i]))
			return true;
	return false;
}

static char *without_slash(const char *server)
{
	size_t length = strlen(server);

	while (length > 0 && server[length - 1] == '/')
		length--;
	return strndup(server, length);
}

static int copy_options(struct http_client *client, const struct http_client_options *options)
{
	client->server = without_slash(options->server);
	if (!client->server)
		return -ENOMEM;
	if (options->token && *options->token &&
	    asprintf(&client->authorization, "Authorization: Bearer %s", options->token) < 0) {
		client->authorization = NULL;
		return -ENOMEM;
	}
	if (options->ca_file && *options->ca_file) {
		client->ca_file = strdup(options->ca_file);
		if (!client->ca_file)
			return -ENOMEM;
	}
	client->insecure_tls = options->insecure_tls;
	client->bypasses_proxy = is_loopback(options->server);
	return 0;
}

int http_client_new(const struct http_client_options *options, struct http_client **ret_client)
{
	scoped(http_client_freep) struct http_client *client = NULL;
	int r;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return -ENOMEM;
	client = calloc(1, sizeof(*client));
	if (!client) {
		curl_global_cleanup();
		return -ENOMEM;
	}
	r = copy_options(client, options);
	if (r < 0)
		return r;
	client->multi = curl_multi_init();
	client->easy = curl_easy_init();
	if (!client->multi || !client->easy)
		return -ENOMEM;
	*ret_client = take_ptr(client);
	return 0;
}

struct http_client *http_client_free(struct http_client *client)
{
	if (!client)
		return NULL;
	if (client->easy)
		curl_easy_cleanup(client->easy);
	if (client->multi)
		(void)curl_multi_cleanup(client->multi);
	free(client->server);
	free(client->authorization);
	free(client->ca_file);
	free(client);
	curl_global_cleanup();
	return NULL;
}

void http_client_wake(struct http_client *client)
{
	(void)curl_multi_wakeup(client->multi);
}

static size_t on_body(char *data, size_t size, size_t count, void *argument)
{
	struct transfer *transfer = argument;
	int r = bytes_append(&transfer->answer->body, data, size * count);

	if (r < 0) {
		transfer->error = r;
		return 0;
	}
	return size * count;
}

static size_t on_read(char *buffer, size_t size, size_t count, void *argument)
{
	struct transfer *transfer = argument;
	size_t wanted = (size_t)MIN((uint64_t)(size * count), transfer->left);

	if (wanted == 0)
		return 0;
	transfer->error = transfer->request->read(transfer->request->argument, buffer, wanted);
	if (transfer->error < 0)
		return CURL_READFUNC_ABORT;
	transfer->left -= wanted;
	return wanted;
}

/* curl starts again if a kept connection turns out to be closed. */
static int on_seek(void *argument, curl_off_t offset, int origin)
{
	struct transfer *transfer = argument;

	if (offset != 0 || origin != SEEK_SET)
		return CURL_SEEKFUNC_CANTSEEK;
	transfer->error = transfer->request->rewind(transfer->request->argument);
	if (transfer->error < 0)
		return CURL_SEEKFUNC_FAIL;
	transfer->left = transfer->request->size;
	return CURL_SEEKFUNC_OK;
}

static bool append_header(struct curl_slist **headers, const char *line)
{
	struct curl_slist *longer = line ? curl_slist_append(*headers, line) : *headers;

	if (line && !longer)
		return false;
	*headers = longer;
	return true;
}

static void scoped_free_headers(struct curl_slist **headers)
{
	curl_slist_free_all(*headers);
}

static int make_headers(const struct http_client *client, const struct http_request *request,
			struct curl_slist **headers)
{
	char content_type[128];

	if (request->get)
		return append_header(headers, client->authorization) ? 0 : -ENOMEM;
	(void)snprintf(content_type, sizeof(content_type), "Content-Type: %s",
		       request->content_type);
	/* A batch is sent at once. An upload first waits for the server's "100 Continue". */
	if (!append_header(headers, content_type) || !append_header(headers, request->header) ||
	    !append_header(headers, client->authorization) ||
	    (!request->read && !append_header(headers, "Expect:")))
		return -ENOMEM;
	return 0;
}

static void set_connection(const struct http_client *client, CURL *easy)
{
	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
	(void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "hearth-agent/" HEARTH_VERSION);
	if (client->bypasses_proxy)
		(void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
	if (client->ca_file)
		(void)curl_easy_setopt(easy, CURLOPT_CAINFO, client->ca_file);
	if (client->insecure_tls) {
		(void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
		(void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

static void set_limits(CURL *easy, const struct http_request *request)
{
	if (request->timeout_ns) {
		(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
				       (long)(request->timeout_ns / NSEC_PER_MSEC));
	} else {
		(void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
		(void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)STALL_S);
	}
	if (request->max_bytes_per_s)
		(void)curl_easy_setopt(easy, CURLOPT_MAX_SEND_SPEED_LARGE,
				       (curl_off_t)request->max_bytes_per_s);
}

static void set_content(CURL *easy, struct transfer *transfer)
{
	const struct http_request *request = transfer->request;

	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	if (request->get)
		return;
	if (!request->read) {
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				       (curl_off_t)request->body.size);
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
				       request->body.size ? (const char *)request->body.data : "");
		return;
	}
	(void)curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_PIECE_BYTES);
	(void)curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->size);
	(void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
	(void)curl_easy_setopt(easy, CURLOPT_READDATA, transfer);
	(void)curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
	(void)curl_easy_setopt(easy, CURLOPT_SEEKDATA, transfer);
}

static bool find_result(CURLM *multi, CURLcode *ret_code)
{
	int left;
	const CURLMsg *message;

	while ((message = curl_multi_info_read(multi, &left))) {
		if (message->msg != CURLMSG_DONE)
			continue;
		*ret_code = message->data.result;
		return true;
	}
	return false;
}

/* Runs the transfer until it ends. */
static int drive(CURLM *multi, const struct http_request *request, CURLcode *ret_code)
{
	for (;;) {
		int running;

		if (curl_multi_perform(multi, &running) != CURLM_OK)
			return -EIO;
		if (find_result(multi, ret_code))
			return 0;
		if (request->watch && !request->watch(request->argument))
			return -ECANCELED;
		if (curl_multi_poll(multi, NULL, 0, WATCH_INTERVAL_MS, NULL) != CURLM_OK)
			return -EIO;
	}
}

/* Stores curl's description of the error. */
static void describe(struct http_answer *answer, CURLcode code, const char *details)
{
	(void)snprintf(answer->message, sizeof(answer->message), "%s",
		       *details ? details : curl_easy_strerror(code));
}

static int perform(struct http_client *client, struct transfer *transfer)
{
	char details[CURL_ERROR_SIZE] = "";
	CURLcode code = CURLE_OK;
	int r;

	(void)curl_easy_setopt(client->easy, CURLOPT_ERRORBUFFER, details);
	if (curl_multi_add_handle(client->multi, client->easy) != CURLM_OK)
		return -ENOMEM;
	r = drive(client->multi, transfer->request, &code);
	(void)curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &transfer->answer->status);
	(void)curl_multi_remove_handle(client->multi, client->easy);
	(void)curl_easy_setopt(client->easy, CURLOPT_ERRORBUFFER, NULL);
	if (r < 0)
		return r;
	/* A server that refuses an upload may answer and close before it has read all of it. */
	if (code == CURLE_OK || (code == CURLE_SEND_ERROR && transfer->answer->status >= 400))
		return 0;
	describe(transfer->answer, code, details);
	if (code == CURLE_OUT_OF_MEMORY)
		return -ENOMEM;
	return transfer->error < 0 ? transfer->error : -EIO;
}

int http_client_request(struct http_client *client, const struct http_request *request,
			struct http_answer *answer)
{
	scoped(scoped_free_headers) struct curl_slist *headers = NULL;
	struct transfer transfer = { .request = request, .answer = answer, .left = request->size };
	scoped_free char *url = NULL;
	int r;

	bytes_clear(&answer->body);
	answer->status = 0;
	answer->message[0] = '\0';
	r = make_headers(client, request, &headers);
	if (r < 0)
		return r;
	if (asprintf(&url, "%s%s", client->server, request->path) < 0) {
		url = NULL;
		return -ENOMEM;
	}

	curl_easy_reset(client->easy);
	set_connection(client, client->easy);
	set_limits(client->easy, request);
	set_content(client->easy, &transfer);
	(void)curl_easy_setopt(client->easy, CURLOPT_HTTPHEADER, headers);
	if (curl_easy_setopt(client->easy, CURLOPT_URL, url) != CURLE_OK)
		return -ENOMEM;
	return perform(client, &transfer);
}
