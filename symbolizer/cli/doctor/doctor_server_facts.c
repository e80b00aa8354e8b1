/* SPDX-License-Identifier: Apache-2.0 */

/* Fetches facts from the server: whether it is one, and what it stores about this host. */

#include "common/clock.h"
#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/doctor/doctor.h"
#include "symbolizer/cli/print/scoped_json.h"

/* Number of files without names that are requested; the server sends the largest ones. */
#define MAX_FILES "5"

static long get(struct client *client, const char *path, struct client_answer *answer)
{
	(void)client_exchange(client,
			      &(struct client_request){ .method = "GET", .path = path, .fd = -1 },
			      answer);
	return answer->status;
}

static json_t *parse(const struct client_answer *answer)
{
	return json_loadb((const char *)answer->body.data, answer->body.size, 0, NULL);
}

static void fetch_files(struct client *client, const char *host, struct server_facts *facts)
{
	scoped_bytes struct bytes path = BYTES_INIT(64 * KIB);
	scoped_bytes struct bytes filter = BYTES_INIT(KIB);
	struct client_answer answer;

	/* Host names with a quote are not worth escaping: query the whole fleet instead. */
	if (host && !strchr(host, '\''))
		(void)bytes_append_format(&filter, "host = '%s'", host);
	(void)bytes_append_byte(&filter, '\0');
	if (bytes_error(&filter) < 0 ||
	    client_path(client, &path, "/v1/unresolved", "last", "15m", "limit", MAX_FILES,
			"filter", (const char *)filter.data, NULL) < 0)
		return;
	facts->unresolved_status = get(client, (const char *)path.data, &answer);
	if (facts->unresolved_status == 200)
		facts->unresolved = parse(&answer);
	bytes_release(&answer.body);
}

static void fetch_facts(struct client *client, const char *boot_id, struct server_facts *ret_facts)
{
	struct server_facts facts = *ret_facts;
	struct client_answer answer;
	const json_t *host;

	facts.status = get(client, "/v1/hosts", &answer);
	facts.date_s = answer.date_s;
	memcpy(facts.message, answer.message, sizeof(facts.message));
	if (facts.status == 200)
		facts.hosts = parse(&answer);
	bytes_release(&answer.body);
	host = server_facts_host(&facts, boot_id);
	if (json_is_array(json_object_get(facts.hosts, "hosts")))
		fetch_files(client, host ? list_text(host, "name") : NULL, &facts);
	*ret_facts = facts;
}

int server_facts_read(const struct connection_options *options, const char *boot_id,
		      struct server_facts *ret_facts)
{
	scoped(client_freep) struct client *client = NULL;
	struct connection_options usable = *options;
	struct server_facts facts = {
		.url = options->server,
		.has_token = options->token || options->token_file,
		.local_s = clock_wall_ns(&system_clock) / NSEC_PER_SEC,
	};
	int r = client_check_token(options, facts.token_message);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		usable.token = NULL;
		usable.token_file = NULL;
	}
	r = client_new(&usable, &client);
	if (r < 0)
		return r;
	fetch_facts(client, boot_id, &facts);
	*ret_facts = facts;
	return 0;
}

void server_facts_release(struct server_facts *facts)
{
	json_decref(facts->hosts);
	json_decref(facts->unresolved);
}

const json_t *server_facts_host(const struct server_facts *facts, const char *boot_id)
{
	const json_t *rows = json_object_get(facts->hosts, "hosts");
	const json_t *found = NULL;

	for (size_t i = 0; boot_id[0] && i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (strcmp(list_text(row, "boot_id"), boot_id) == 0 &&
		    (!found || list_number(row, "last_time") > list_number(found, "last_time")))
			found = row;
	}
	return found;
}
