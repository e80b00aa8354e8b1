/* SPDX-License-Identifier: Apache-2.0 */

/* Requests lack the keys that the user did not give, so that the server's defaults apply. */

#include "symbolizer/cli/profile/profile_request.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/json_writer.h"
#include "common/log.h"
#include "symbolizer/cli/client/server_message.h"

/* Far more than the filters that people write. */
#define MAX_REQUEST_BYTES MIB

/* The server's message has at most 1535 bytes. */
#define DESCRIPTION_SIZE 2048

/* The server accepts 32 KiB for the request line and headers, many proxies only 8 KiB. */
#define MAX_PATH_BYTES (8 * KIB)

int profile_request_write(const struct selection_options *selection, enum profile_format format,
			  uint32_t max_nodes, struct bytes *out)
{
	struct json_writer json;

	json_writer_init(&json, out);
	json_object_begin(&json);
	if (selection->service)
		json_key_text(&json, "app_service", selection->service);
	json_key_text(&json, "profile_event_type", event_type_name(selection->event));
	json_key_text(&json, "profile_language_type", "eBPF");
	json_key_bool(&json, "function_starts", true);
	json_key_uint(&json, "time_start", selection->range.range.since_s);
	json_key_uint(&json, "time_end", selection->range.range.until_s);
	if (selection->filter)
		json_key_text(&json, "tag_filter", selection->filter);
	if (selection->by)
		json_key_text(&json, "group_by", selection->by);
	if (selection->callers_of)
		json_key_text(&json, "callers_of", selection->callers_of);
	if (selection->callees_of)
		json_key_text(&json, "callees_of", selection->callees_of);
	if (selection->fold_threads)
		json_key_bool(&json, "fold_threads", true);
	if (selection->no_inlines)
		json_key_bool(&json, "inlines", false);
	if (max_nodes > 0)
		json_key_uint(&json, "max_nodes", max_nodes);
	if (format == PROFILE_COLUMNS)
		json_key_bool(&json, "debug", true);
	json_key_text(&json, "format", format == PROFILE_COLUMNS ? "columns" : "nodes");
	json_object_end(&json);
	return bytes_error(out);
}

int profile_fetch(struct client *client, const struct selection_options *selection,
		  enum profile_format format, uint32_t max_nodes, struct bytes *ret_answer)
{
	scoped_bytes struct bytes request = BYTES_INIT(MAX_REQUEST_BYTES);
	int r = profile_request_write(selection, format, max_nodes, &request);

	if (r < 0)
		return log_error_errno(r, "cannot write the request: %m");
	return client_post_json(client, "/v1/profile/ProfileTracing", bytes_view_of(&request),
				ret_answer);
}

/* What requests of different paths add to the selection. */
struct path_of_profile {
	const char *path;
	const char *format;
	const char *max_nodes; /* "": none */
};

static int path_write(struct client *client, const struct selection_options *selection,
		      const struct path_of_profile *of, struct bytes *out)
{
	struct time_range_parameters range = time_range_parameters(&selection->range.range);

	return client_path(client, out, of->path, "service",
			   selection->service ? selection->service : "", "event",
			   selection->event == EVENT_NONE ? selection->other_event
							  : event_type_name(selection->event),
			   "filter", selection->filter ? selection->filter : "", "group_by",
			   selection->by ? selection->by : "", "callers_of",
			   selection->callers_of ? selection->callers_of : "", "callees_of",
			   selection->callees_of ? selection->callees_of : "", "fold_threads",
			   selection->fold_threads ? "true" : "", "inlines",
			   selection->no_inlines ? "false" : "", "since", range.since, "until",
			   range.until, "max_nodes", of->max_nodes, "format", of->format, NULL);
}

int profile_path_write(struct client *client, const struct selection_options *selection,
		       uint32_t max_nodes, struct bytes *out)
{
	char nodes[24];
	const struct path_of_profile of = { "/v1/flame", "columns", nodes };

	(void)snprintf(nodes, sizeof(nodes), "%u", max_nodes);
	return path_write(client, selection, &of, out);
}

int profile_export_path_write(struct client *client, const struct selection_options *selection,
			      const char *format, struct bytes *out)
{
	const struct path_of_profile of = { "/v1/export", format, "" };

	return path_write(client, selection, &of, out);
}

/*
 * Prefers GET /v1/flame, because its answer says how much of the time was sampled. Uses POST if the
 * filter is too long for a URL.
 */
static int fetch_columns(struct client *client, const struct selection_options *selection,
			 uint32_t max_nodes, struct bytes *ret_answer)
{
	scoped_bytes struct bytes path = BYTES_INIT(4 * MAX_REQUEST_BYTES);
	int r = profile_path_write(client, selection, max_nodes, &path);

	if (r < 0)
		return log_error_errno(r, "cannot write the request: %m");
	if (path.size > MAX_PATH_BYTES)
		return profile_fetch(client, selection, PROFILE_COLUMNS, max_nodes, ret_answer);
	return client_get(client, (const char *)path.data, ret_answer);
}

int profile_fetch_tree(struct client *client, const struct selection_options *selection,
		       uint32_t max_nodes, struct call_tree **ret_tree)
{
	scoped_bytes struct bytes answer = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	char description[DESCRIPTION_SIZE];
	int r;

	r = fetch_columns(client, selection, max_nodes, &answer);
	if (r < 0)
		return r;
	r = call_tree_from_answer(bytes_view_of(&answer), ret_tree, description,
				  sizeof(description));
	if (r < 0)
		return log_error_errno(
			r, "the answer is no profile (%m); is this a hearth-symbolizer?");
	if (r == 0)
		server_message_print_no_data(description, selection->event);
	else
		server_message_print_note(description);
	return r;
}
