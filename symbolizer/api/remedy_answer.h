/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds why code has no function name and what the user can do: collects the facts about its file,
 * and looks up the remedy for them (query/remedy.h).
 */

#include "common/json_writer.h"
#include "symbolizer/api/api.h"
#include "symbolizer/query/remedy.h"

struct remedy_subject {
	enum frame_status reason;                  /* not FRAME_NAMED */
	const struct store_executable *executable; /* NULL: the code is in no file */
	const char *path;                          /* "": unknown */
	bool kernel;
};

/*
 * Finds the remedy. Its command contains the URL by which the client of @request reached the
 * server, unless that is the default. Returns 0 or a negative errno.
 */
int remedy_answer_find(struct api_context *context, const struct http_request *request,
		       const struct remedy_subject *subject, struct remedy *ret_remedy);

/* Writes the members "why", "remedy" and "command". */
void remedy_answer_members(struct json_writer *json, const struct remedy *remedy);
