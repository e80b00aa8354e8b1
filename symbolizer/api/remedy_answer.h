/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Collects the facts about a file without function names, and finds the remedy (query/remedy.h). */

#include "common/json_writer.h"
#include "symbolizer/api/api.h"
#include "symbolizer/query/remedy.h"

struct remedy_subject {
	enum frame_status reason;                  /* not FRAME_NAMED */
	const struct store_executable *executable; /* NULL: the code is in no file */
	const char *path;                          /* "": unknown */
	bool kernel;
};

/* Finds the remedy. The remedy's command contains the URL that the client of @request used.
 * Returns 0 or a negative errno. */
int remedy_answer_find(struct api_context *context, const struct http_request *request,
		       const struct remedy_subject *subject, struct remedy *ret_remedy);

/* Writes the members "why", "remedy" and "command". */
void remedy_answer_members(struct json_writer *json, const struct remedy *remedy);
