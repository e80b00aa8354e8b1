/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/debuginfo/upstream/upstream_servers.h"

#include <stdio.h>
#include <string.h>

#include "common/file.h"
#include "common/hash.h"
#include "symbolizer/debuginfo/debuginfo_error.h"
#include "symbolizer/debuginfo/upstream/debuginfo_upstream.h"

/* How long a server is skipped that could not be reached: after the first failure, and at most. */
#define SKIP_FIRST_NS (5 * NSEC_PER_SEC)
#define SKIP_MAX_NS   (600 * NSEC_PER_SEC)

#define MAX_TOKEN_BYTES 4096

int debuginfo_upstream_check_url(const char *url, size_t length,
				 char ret_message[DEBUGINFO_MESSAGE_SIZE])
{
	static const char *const schemes[] = { "http://", "https://" };

	length = MIN(length, strcspn(url, " "));
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t prefix = strlen(schemes[i]);

		if (length > prefix && strncmp(url, schemes[i], prefix) == 0 &&
		    !memchr(url, '"', length) && url[prefix] != '/')
			return 0;
	}
	return debuginfo_fail(ret_message, -EINVAL,
			      "'%.*s' is no address of a debuginfod server; it looks like "
			      "http://HOST:8002, followed by a blank and a file with a token if "
			      "the server requires one",
			      (int)MIN(length, (size_t)100), url);
}

static int read_token(const char *path, char **ret_authorization, char *message)
{
	scoped(bytes_release) struct bytes token = BYTES_INIT(MAX_TOKEN_BYTES);
	int r;

	r = file_read(path, &token);
	while (r == 0 && token.size > 0 && strchr(" \t\r\n", token.data[token.size - 1]))
		token.size--;
	if (r == 0 &&
	    (token.size == 0 || memchr(token.data, '\n', token.size) ||
	     memchr(token.data, '\r', token.size) || memchr(token.data, '\0', token.size)))
		r = -EINVAL;
	if (r < 0)
		return debuginfo_fail_errno(message, r,
					    "cannot read the token file of an upstream server");
	return asprintf(ret_authorization, "Authorization: Bearer %.*s", (int)token.size,
			(const char *)token.data) < 0
		       ? -ENOMEM
		       : 0;
}

/* @text is "URL" or "URL TOKEN_FILE". */
static int add_server(struct upstream_servers *servers, const char *text, size_t length,
		      char *message)
{
	struct upstream_server *server = &servers->items[servers->count];
	size_t url_length = MIN(length, strcspn(text, " "));
	int r;

	if (servers->count == UPSTREAM_MAX_SERVERS)
		return debuginfo_fail(message, -EINVAL, "more than %d upstream servers",
				      UPSTREAM_MAX_SERVERS);
	r = debuginfo_upstream_check_url(text, length, message);
	if (r < 0)
		return r;
	/* From here on upstream_servers_release() frees the server, also after a failure below. */
	servers->count++;
	if (url_length < length) {
		scoped_free char *path = strndup(text + url_length + 1, length - url_length - 1);

		r = path ? read_token(path, &server->authorization, message) : -ENOMEM;
		if (r < 0)
			return r;
	}
	while (url_length > 0 && text[url_length - 1] == '/')
		url_length--;
	server->url = strndup(text, url_length);
	if (!server->url)
		return -ENOMEM;
	backoff_init(&server->backoff, SKIP_FIRST_NS, SKIP_MAX_NS, hash_seed() | 1);
	return 0;
}

int upstream_servers_init(struct upstream_servers *servers, const char *list, char *message)
{
	*servers = (struct upstream_servers){};
	(void)pthread_mutex_init(&servers->lock, NULL);
	while (*list) {
		size_t length = strcspn(list, "\n");
		int r = add_server(servers, list, length, message);

		if (r < 0)
			return r;
		list += length;
		list += *list == '\n';
	}
	return 0;
}

void upstream_servers_release(struct upstream_servers *servers)
{
	for (unsigned int i = 0; i < servers->count; i++) {
		free(servers->items[i].url);
		free(servers->items[i].authorization);
	}
	servers->count = 0;
	(void)pthread_mutex_destroy(&servers->lock);
}

bool upstream_server_is_due(struct upstream_servers *servers, unsigned int i, uint64_t now_ns)
{
	bool due;

	(void)pthread_mutex_lock(&servers->lock);
	due = servers->items[i].not_before_ns <= now_ns;
	(void)pthread_mutex_unlock(&servers->lock);
	return due;
}

void upstream_server_asked(struct upstream_servers *servers, unsigned int i, uint64_t now_ns,
			   bool failed)
{
	struct upstream_server *server = &servers->items[i];

	(void)pthread_mutex_lock(&servers->lock);
	if (failed)
		server->not_before_ns = now_ns + backoff_failed(&server->backoff);
	else
		backoff_succeeded(&server->backoff);
	(void)pthread_mutex_unlock(&servers->lock);
}
