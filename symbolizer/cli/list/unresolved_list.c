/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/list/unresolved_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/print/scoped_json.h"

#define MAX_PATH_BYTES MIB
#define NUMBER_SIZE    24

/* A shorter text is more likely a name than the prefix of a build-ID. */
#define MIN_ID_CHARACTERS 4

static int request(struct client *client, const struct selection_options *selection,
		   uint32_t max_rows, struct bytes *ret_answer)
{
	scoped_bytes struct bytes path = BYTES_INIT(MAX_PATH_BYTES);
	struct time_range_parameters range = time_range_parameters(&selection->range.range);
	char limit[NUMBER_SIZE];
	int r;

	(void)snprintf(limit, sizeof(limit), "%" PRIu32, max_rows);
	r = client_path(client, &path, "/v1/unresolved", "service",
			selection->service ? selection->service : "", "event",
			event_type_name(selection->event), "filter",
			selection->filter ? selection->filter : "", "since", range.since, "until",
			range.until, "limit", limit, NULL);
	if (r < 0)
		return log_error_errno(r, "cannot request the files without names: %m");
	return client_get(client, (const char *)path.data, ret_answer);
}

int unresolved_fetch(struct client *client, const struct selection_options *selection,
		     uint32_t max_rows, json_t **ret_root)
{
	scoped_bytes struct bytes answer = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	json_t *root;
	int r;

	r = request(client, selection, max_rows, &answer);
	if (r < 0)
		return r;
	root = json_loadb((const char *)answer.data, answer.size, 0, NULL);
	if (!json_is_array(json_object_get(root, "files"))) {
		json_decref(root);
		return log_error_errno(-EBADMSG, "the server's answer is no list of files: %m");
	}
	*ret_root = root;
	return 0;
}

const char *unresolved_reason_words(const char *reason)
{
	static const struct {
		const char *reason, *words;
	} rows[] = {
		{ "no_debuginfo", "no debuginfo" },      { "stripped", "stripped file" },
		{ "outside", "no function there" },      { "pending", "table being made" },
		{ "table_failed", "no table possible" }, { "no_mapping", "made at run time" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strcmp(rows[i].reason, reason) == 0)
			return rows[i].words;
	}
	return reason;
}

const char *unresolved_base_name(const json_t *row)
{
	const char *file = list_text(row, "file");
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

bool unresolved_is_file(const json_t *row)
{
	return list_text(row, "build_id")[0] || list_text(row, "file")[0] == '/';
}

bool unresolved_matches(const json_t *row, const char *text)
{
	const char *id = list_text(row, "build_id");

	return strcmp(list_text(row, "file"), text) == 0 ||
	       strcmp(unresolved_base_name(row), text) == 0 ||
	       (strlen(text) >= MIN_ID_CHARACTERS && strncmp(id, text, strlen(text)) == 0);
}
