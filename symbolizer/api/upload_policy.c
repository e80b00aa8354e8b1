/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Decides whether an upload is allowed, and answers it. An upload can fail because of the client
 * (HTTP status 400, 403 or 413), a full disk (507) or the server (503).
 */

#include "symbolizer/api/upload_policy.h"

#include <inttypes.h>
#include <string.h>

#include "common/log.h"
#include "symbolizer/api/debuginfo_answer.h"

enum debuginfo_origin upload_origin(const struct http_request *request)
{
	const char *header = http_request_header(request, "X-Hearth-Origin");

	if (header && strcmp(header, "agent-user") == 0)
		return DEBUGINFO_FROM_USER;
	if (!(request->caller->scopes & HTTP_SCOPE_UPLOAD))
		return DEBUGINFO_FROM_AGENT;
	return header && strcmp(header, "agent") == 0 ? DEBUGINFO_FROM_AGENT
						      : DEBUGINFO_FROM_PIPELINE;
}

bool upload_is_allowed(struct api_context *context, const struct http_request *request,
		       uint64_t bytes, struct http_response *response)
{
	if (upload_origin(request) <= DEBUGINFO_FROM_AGENT && !context->agents_may_upload) {
		http_response_error(response, 403,
				    "this server takes no debuginfo from agents; "
				    "debuginfo.from_agents allows it");
		return false;
	}
	if (bytes != UINT64_MAX && bytes > context->max_upload_bytes) {
		http_response_error(response, 413,
				    "the file is larger than debuginfo.max_upload_size, %" PRIu64
				    " bytes",
				    context->max_upload_bytes);
		return false;
	}
	return true;
}

enum api_metric upload_answer_failure(struct http_response *response, int error,
				      const char *message)
{
	const char *reason = message[0] ? message : strerror(-error);

	if (error == -EBADMSG || error == -EINVAL || error == -EFBIG || error == -EPERM) {
		http_response_error(response, error == -EFBIG ? 413 : 400, "%s", reason);
		return API_METRIC_UPLOADS_REFUSED;
	}
	http_response_header(response, "Retry-After", "60");
	http_response_error(response, error == -ENOSPC || error == -EDQUOT ? 507 : 503, "%s",
			    reason);
	(void)log_error_errno(error, "cannot store uploaded debuginfo: %s: %m", reason);
	return API_METRIC_UPLOADS_FAILED;
}

enum api_metric upload_answer(struct http_response *response, bool stored,
			      const struct debuginfo_entry *entry, const char *message)
{
	struct json_writer json;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key_bool(&json, "stored", stored);
	json_key_text(&json, "message", message);
	json_key(&json, "debuginfo");
	if (stored)
		debuginfo_answer_entry(&json, entry, NULL);
	else
		json_null_value(&json);
	json_object_end(&json);
	return stored ? API_METRIC_UPLOADS_STORED : API_METRIC_UPLOADS_NOT_BETTER;
}
