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

/* The members of an entry, within an object of the caller's. */
void debuginfo_answer_members(struct json_writer *json, const struct debuginfo_entry *entry);
void debuginfo_answer_entry(struct json_writer *json, const struct debuginfo_entry *entry);
void debuginfo_answer_entries(struct json_writer *json, const char *key,
			      const struct debuginfo_entry *entries, size_t count);
