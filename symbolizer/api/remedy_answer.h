/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the server knows of a file whose code has no names, as facts for the table of remedies
 * (query/remedy.h). */

#include "common/json_writer.h"
#include "symbolizer/api/api.h"
#include "symbolizer/query/remedy.h"

struct remedy_subject {
	enum frame_status reason;                  /* not FRAME_NAMED */
	const struct store_executable *executable; /* NULL: the code lies in no file */
	const char *path;                          /* "" not known */
	bool kernel;
};

/* The command names the server as @request does. 0 or negative errno. */
int remedy_answer_find(struct api_context *context, const struct http_request *request,
		       const struct remedy_subject *subject, struct remedy *ret_remedy);

/* The members "why", "remedy" and "command". */
void remedy_answer_members(struct json_writer *json, const struct remedy *remedy);
