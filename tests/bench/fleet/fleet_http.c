/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/fleet_http.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

/* The same timeout as that of the agent. */
#define ANSWER_TIMEOUT_S 60

/* An answer lists definitions that the server lacks: at most 5 bytes for each row of a batch. */
#define ANSWER_MAX_BYTES (64 * MIB)

struct connection {
	CURL *easy;
	struct bytes answer;
	uint64_t posted_ns;
};

struct fleet_http {
	CURLM *multi;
	struct curl_slist *headers;
	struct connection *connections; /* [n_agents] */
	uint32_t n_agents;
};

static size_t on_answer(char *data, size_t size, size_t count, void *argument)
{
	struct connection *connection = argument;

	return bytes_append(&connection->answer, data, size * count) < 0 ? 0 : size * count;
}

static int open_connection(struct fleet_http *http, const char *server, uint32_t agent)
{
	struct connection *connection = &http->connections[agent];
	char address[32], url[256];
	CURL *easy = curl_easy_init();

	if (!easy)
		return -ENOMEM;
	connection->easy = easy;
	connection->answer = BYTES_INIT(ANSWER_MAX_BYTES);
	(void)snprintf(url, sizeof(url), "%s/v1/ingest", server);
	(void)snprintf(address, sizeof(address), "host!127.%u.%u.%u", 1 + (agent >> 16) % 250,
		       (agent >> 8) & 255, 1 + agent % 254);
	(void)curl_easy_setopt(easy, CURLOPT_INTERFACE, address);
	(void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, http->headers);
	(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)ANSWER_TIMEOUT_S);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_answer);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, connection);
	(void)curl_easy_setopt(easy, CURLOPT_PRIVATE, (void *)(uintptr_t)agent);
	return curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK ? 0 : -ENOMEM;
}

static bool append_header(struct fleet_http *http, const char *line)
{
	struct curl_slist *longer = curl_slist_append(http->headers, line);

	if (longer)
		http->headers = longer;
	return longer;
}

int fleet_http_new(const char *server, uint32_t n_agents, struct fleet_http **ret_http)
{
	scoped(fleet_http_freep) struct fleet_http *http = NULL;
	int r = 0;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return -ENOMEM;
	http = calloc(1, sizeof(*http));
	if (!http)
		return -ENOMEM;
	http->multi = curl_multi_init();
	http->connections = calloc(n_agents, sizeof(*http->connections));
	http->n_agents = n_agents;
	if (!http->multi || !http->connections ||
	    !append_header(http, "Content-Type: application/x-protobuf") ||
	    !append_header(http, "Expect:"))
		return -ENOMEM;
	(void)curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, (long)n_agents + 16);
	for (uint32_t agent = 0; r == 0 && agent < n_agents; agent++)
		r = open_connection(http, server, agent);
	if (r < 0)
		return r;
	*ret_http = take_ptr(http);
	return 0;
}

struct fleet_http *fleet_http_free(struct fleet_http *http)
{
	if (!http)
		return NULL;
	for (uint32_t agent = 0; http->connections && agent < http->n_agents; agent++) {
		struct connection *connection = &http->connections[agent];

		if (!connection->easy)
			continue;
		(void)curl_multi_remove_handle(http->multi, connection->easy);
		curl_easy_cleanup(connection->easy);
		bytes_release(&connection->answer);
	}
	if (http->multi)
		(void)curl_multi_cleanup(http->multi);
	curl_slist_free_all(http->headers);
	free(http->connections);
	free(http);
	return NULL;
}

int fleet_http_post(struct fleet_http *http, uint32_t agent, struct bytes_view body)
{
	struct connection *connection = &http->connections[agent];

	bytes_clear(&connection->answer);
	(void)curl_easy_setopt(connection->easy, CURLOPT_POSTFIELDSIZE_LARGE,
			       (curl_off_t)body.size);
	(void)curl_easy_setopt(connection->easy, CURLOPT_POSTFIELDS, (const char *)body.data);
	connection->posted_ns = clock_monotonic_ns(&system_clock);
	return curl_multi_add_handle(http->multi, connection->easy) == CURLM_OK ? 0 : -ENOMEM;
}

static int finish(struct fleet_http *http, CURL *easy, CURLcode code,
		  fleet_answer_function function, void *argument)
{
	struct fleet_answer answer = {};
	struct connection *connection;
	void *agent = NULL;

	(void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&agent);
	answer.agent = (uint32_t)(uintptr_t)agent;
	connection = &http->connections[answer.agent];
	if (code == CURLE_OK)
		(void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer.status);
	answer.body = bytes_view_of(&connection->answer);
	answer.duration_ns = clock_monotonic_ns(&system_clock) - connection->posted_ns;
	(void)curl_multi_remove_handle(http->multi, easy);
	return function(argument, &answer);
}

int fleet_http_run(struct fleet_http *http, uint64_t wait_ns, fleet_answer_function function,
		   void *argument)
{
	int running, left, r = 0;
	const CURLMsg *message;

	if (curl_multi_perform(http->multi, &running) != CURLM_OK)
		return -EIO;
	while (r == 0 && (message = curl_multi_info_read(http->multi, &left)))
		if (message->msg == CURLMSG_DONE)
			r = finish(http, message->easy_handle, message->data.result, function,
				   argument);
	if (r < 0 || wait_ns == 0)
		return r;
	if (curl_multi_poll(http->multi, NULL, 0, (int)(wait_ns / NSEC_PER_MSEC), NULL) != CURLM_OK)
		return -EIO;
	return 0;
}
