/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/fleet_totals.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "common/bytes.h"
#include "common/scoped.h"

#define ANSWER_MAX_BYTES (2 * GIB)
#define TIMEOUT_S        600

static const char group_prefix[] = "[g] host=";

static size_t on_answer(char *data, size_t size, size_t count, void *argument)
{
	return bytes_append(argument, data, size * count) < 0 ? 0 : size * count;
}

static void scoped_cleanup_easy(CURL **easy)
{
	if (*easy)
		curl_easy_cleanup(*easy);
}

static void scoped_json_decref(json_t **json)
{
	json_decref(*json);
}

static int post(const char *url, const char *request, struct bytes *answer)
{
	scoped(scoped_cleanup_easy) CURL *easy = curl_easy_init();
	CURLcode code;

	if (!easy)
		return -ENOMEM;
	(void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)TIMEOUT_S);
	(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_answer);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, answer);
	(void)curl_easy_setopt(easy, CURLOPT_URL, url);
	code = curl_easy_perform(easy);
	if (code == CURLE_OK)
		return 0;
	fprintf(stderr, "cannot ask '%s': %s\n", url, curl_easy_strerror(code));
	return -EIO;
}

static int add_node(const json_t *node, struct hash_table *sums, uint64_t *total)
{
	const char *label = json_string_value(json_object_get(node, "profile_location_str"));
	const char *parent = json_string_value(json_object_get(node, "parent_node_id"));
	uint64_t value = (uint64_t)json_integer_value(json_object_get(node, "total_value"));
	char key[FLEET_HOST_SIZE] = "";
	uint64_t *sum;
	int r;

	if (!label || !parent)
		return -EBADMSG;
	if (strcmp(parent, "-1") == 0)
		*total = value;
	if (*parent || strncmp(label, group_prefix, sizeof(group_prefix) - 1) != 0)
		return 0;
	(void)snprintf(key, sizeof(key), "%s", label + sizeof(group_prefix) - 1);
	r = hash_table_insert(sums, key, (void **)&sum);
	if (r >= 0)
		*sum += value;
	return MIN(r, 0);
}

int fleet_totals_fetch(const char *server, enum event_type type, uint64_t from_s, uint64_t to_s,
		       struct hash_table *ret_sums, uint64_t *ret_total)
{
	scoped(bytes_release) struct bytes answer = BYTES_INIT(ANSWER_MAX_BYTES);
	scoped(scoped_json_decref) json_t *json = NULL;
	char request[512], url[256];
	const json_t *nodes;
	int r;

	(void)snprintf(request, sizeof(request),
		       "{\"app_service\":\"Total\",\"profile_event_type\":\"%s\","
		       "\"profile_language_type\":\"eBPF\",\"time_start\":%" PRIu64
		       ",\"time_end\":%" PRIu64 ",\"group_by\":\"host\",\"max_nodes\":10000000}",
		       event_type_name(type), from_s, to_s);
	(void)snprintf(url, sizeof(url), "%s/v1/profile/ProfileTracing", server);
	r = post(url, request, &answer);
	if (r < 0)
		return r;
	json = json_loadb((const char *)answer.data, answer.size, 0, NULL);
	nodes = json_object_get(json, "result");
	*ret_total = 0;
	if (json_is_null(nodes))
		return 0;
	if (!json_is_array(nodes)) {
		fprintf(stderr, "no profile: %.*s\n", (int)MIN(answer.size, (size_t)600),
			answer.data ? (const char *)answer.data : "");
		return -EBADMSG;
	}
	for (size_t i = 0; r == 0 && i < json_array_size(nodes); i++)
		r = add_node(json_array_get(nodes, i), ret_sums, ret_total);
	return r;
}
