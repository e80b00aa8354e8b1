/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/api/envelope.h"

#include <string.h>

void envelope_begin(struct json_writer *json, struct http_response *response, const char *status,
		    const char *description)
{
	json_writer_init(json, &response->body);
	json_object_begin(json);
	json_key_text(json, "OPT_STATUS", status);
	json_key_text(json, "DESCRIPTION", description);
	json_key(json, "result");
}

void envelope_debug(struct json_writer *json)
{
	json_key(json, "debug");
}

void envelope_end(struct json_writer *json)
{
	json_object_end(json);
}

static void write_empty(struct http_response *response, const char *status, const char *description)
{
	struct json_writer json;

	envelope_begin(&json, response, status, description);
	json_null_value(&json);
	envelope_debug(&json);
	json_null_value(&json);
	envelope_end(&json);
}

void envelope_store_failed(struct http_response *response, const char *description)
{
	response->status = 500;
	bytes_clear(&response->body);
	write_empty(response, "FAIL", description);
}

bool envelope_check_organization(const struct http_request *request, struct http_response *response)
{
	const char *organization = http_request_header(request, "X-Org-Id");

	if (!organization || !*organization || strcmp(organization, "1") == 0)
		return true;
	http_response_error(response, 400, "X-Org-Id: only 1 is valid: the token gives the tenant");
	return false;
}

void envelope_error(struct http_response *response, unsigned int status, const char *message)
{
	if (status == 400 || status == 413)
		write_empty(response, "INVALID_POST_DATA", message);
	else if (status == 500)
		write_empty(response, "SERVER_ERROR", message);
	else
		write_empty(response, "FAIL", message);
}
