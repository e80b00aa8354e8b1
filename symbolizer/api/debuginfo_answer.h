/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the handlers of debuginfo have in common: the build ID in the path, an entry as JSON, and
 * whose fault it is when something fails.
 */

#include "common/json_writer.h"
#include "symbolizer/api/api.h"

/* Of the request's argument; false after answering that it is none. */
bool debuginfo_answer_id(const struct http_request *request, struct http_response *response,
			 struct executable_id *ret_id);

/* The store failed to @attempt ("read"). */
void debuginfo_answer_failure(struct http_response *response, int error, const char *attempt);

/*
 * The base name of the executable with the identity @id, as agents of the caller's tenant reported
 * it with samples; "" where none did, or the sample store cannot say: it is there for people, and
 * no reason to fail. In @arena.
 */
const char *debuginfo_answer_file_name(struct api_context *context,
				       const struct http_request *request,
				       const struct executable_id *id, struct arena *arena);

/* The members of an entry, within an object of the caller's. @file: the name; NULL: the member is
 * left out. */
void debuginfo_answer_members(struct json_writer *json, const struct debuginfo_entry *entry,
			      const char *file);
void debuginfo_answer_entry(struct json_writer *json, const struct debuginfo_entry *entry,
			    const char *file);

/* The entries of one identity. */
void debuginfo_answer_entries(struct json_writer *json, const char *key,
			      const struct debuginfo_entry *entries, size_t count,
			      const char *file);
