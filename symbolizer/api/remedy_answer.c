/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/api/remedy_answer.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/*
 * The default of --server in the `hearth` command. A remedy's command for this server has no
 * --server.
 */
#define DEFAULT_SERVER "http://127.0.0.1:20416"

/*
 * Whether @text has only characters of host names and ports. The text is sent by the client, and
 * becomes part of a shell command that a user may copy.
 */
static bool is_authority(const char *text)
{
	for (const char *c = text; *c; c++) {
		if (!isalnum((unsigned char)*c) && !strchr(".-_:[]", *c))
			return false;
	}
	return text[0] != '\0';
}

/*
 * Writes the URL by which the client reached this server; "" if the URL is DEFAULT_SERVER, or if
 * the request has no valid Host header.
 */
static void server_of(const struct http_request *request, char ret_server[REMEDY_SERVER_SIZE])
{
	const char *host = http_request_header(request, "Host");
	const char *scheme = http_request_header(request, "X-Forwarded-Proto");
	int length;

	ret_server[0] = '\0';
	if (!host || !is_authority(host))
		return;
	length = snprintf(ret_server, REMEDY_SERVER_SIZE, "%s://%s",
			  scheme && strcmp(scheme, "https") == 0 ? "https" : "http", host);
	if (length >= REMEDY_SERVER_SIZE || strcmp(ret_server, DEFAULT_SERVER) == 0)
		ret_server[0] = '\0';
}

/* Adds the bits of enum remedy_fact that the debuginfo store knows for the file with this ID. */
static int add_store_facts(struct api_context *context, const struct executable_id *id,
			   unsigned int *facts)
{
	struct debuginfo_search search;
	struct debuginfo_entry best;
	int r;

	r = debuginfo_search_of(context->debuginfo, id, &search);
	if (r < 0)
		return r;
	/* Upstream debuginfod servers index files by GNU build-ID only. */
	if (search.has_upstream && id->kind == EXECUTABLE_ID_GNU)
		*facts |= REMEDY_UPSTREAM;
	if (*facts & REMEDY_UPSTREAM && search.n_upstream_misses > 0)
		*facts |= REMEDY_LACKED;
	if (search.agents_again_wall_ns > 0)
		*facts |= REMEDY_ASKED;
	r = debuginfo_find(context->debuginfo, id, &best);
	if (r > 0 && best.richness >= DEBUGINFO_LINES)
		*facts |= REMEDY_LINES;
	return MIN(r, 0);
}

int remedy_answer_find(struct api_context *context, const struct http_request *request,
		       const struct remedy_subject *subject, struct remedy *ret_remedy)
{
	const struct store_executable *executable = subject->executable;
	char build_id[EXECUTABLE_ID_TEXT_SIZE] = "";
	char server[REMEDY_SERVER_SIZE];
	struct table_status table = {};
	struct remedy_case about = {
		.reason = subject->reason,
		.facts = remedy_facts_of_file(executable, subject->path, subject->kernel),
		.path = subject->path,
		.build_id = build_id,
		.table_why = "",
		.server = server,
	};
	int r = 0;

	server_of(request, server);
	if (context->agents_may_upload)
		about.facts |= REMEDY_AGENTS;
	if (about.facts & REMEDY_ID) {
		executable_id_format(&executable->identity, build_id);
		r = add_store_facts(context, &executable->identity, &about.facts);
	}
	if (r == 0 && about.facts & REMEDY_ID && subject->reason == FRAME_TABLE_FAILED) {
		r = resolver_status(context->resolver, &executable->identity, &table);
		about.table_why = table.row.why;
	}
	if (r == 0)
		remedy_find(&about, ret_remedy);
	return r;
}

void remedy_answer_members(struct json_writer *json, const struct remedy *remedy)
{
	json_key_text(json, "why", remedy->why);
	json_key_text(json, "remedy", remedy->remedy);
	json_key_text(json, "command", remedy->command);
}
