/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The common part of the handlers of debuginfo: the build ID in the path, an entry as JSON, and
 * failures of the store.
 */

#include "common/json_writer.h"
#include "symbolizer/api/api.h"

/* Parses the build ID in the request's argument. Returns false after filling @response with an
 * error. */
bool debuginfo_answer_id(const struct http_request *request, struct http_response *response,
			 struct executable_id *ret_id);

/* Logs and answers a failure of the store. @attempt is a verb, such as "read". */
void debuginfo_answer_failure(struct http_response *response, int error, const char *attempt);

/*
 * Returns the base name of the executable with the identity @id, as reported by agents of the
 * view's tenant; "" if none reported it, the sample store failed, or @view is NULL because it could
 * not be opened. The name is only for display, so a failure is ignored. It is allocated in @arena.
 */
const char *debuginfo_answer_file_name(struct store_view *view, const struct executable_id *id,
				       struct arena *arena);

/* Writes the members of an entry into the caller's object. @file: the file name; NULL leaves the
 * member out. */
void debuginfo_answer_members(struct json_writer *json, const struct debuginfo_entry *entry,
			      const char *file);

/* Writes an entry as an object. */
void debuginfo_answer_entry(struct json_writer *json, const struct debuginfo_entry *entry,
			    const char *file);

/* Writes an array of entries under @key. All entries have the name @file. */
void debuginfo_answer_entries(struct json_writer *json, const char *key,
			      const struct debuginfo_entry *entries, size_t count,
			      const char *file);
