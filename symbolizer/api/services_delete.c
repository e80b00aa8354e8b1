/* SPDX-License-Identifier: Apache-2.0 */

/* DELETE /v1/services: deletes all samples of a service of the token's tenant. */

#include <string.h>

#include "common/log.h"
#include "symbolizer/api/answer.h"

static void delete_failed(struct api_context *context, struct http_response *response, int error,
			  const char *service)
{
	if (error == -EOPNOTSUPP) {
		http_response_error(
			response, 501,
			"the store 'sqlite' cannot delete a single service: retention removes "
			"whole days, and the store 'segments' can delete services");
		return;
	}
	api_count(context, API_METRIC_STORE_ERRORS, 1);
	(void)log_error_errno(
		error, "cannot delete service '%s', a part of its samples may be deleted: %m",
		service);
	http_response_error(
		response, 500,
		"cannot delete service '%s': the sample store failed: %s; a part of its "
		"samples may be deleted, try again",
		service, strerror(-error));
}

static void write_deleted(const struct http_request *request, const char *service,
			  struct http_response *response)
{
	struct json_writer json;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key_text(&json, "deleted", service);
	json_object_end(&json);
	log_info("deleted all samples of service '%s' of tenant '%s', requested by %s%s", service,
		 request->caller->tenant,
		 request->caller->anonymous ? "a client without token" : "token ",
		 request->caller->name);
}

void api_services_delete(struct api_context *context, const struct http_request *request,
			 struct http_response *response)
{
	const char *service = http_request_parameter(request, "service");
	int r;

	if (!service || !*service) {
		http_response_error(response, 400,
				    "name the service: DELETE /v1/services?service=NAME");
		return;
	}
	r = store_delete_service(context->store, request->caller->tenant, service);
	if (r < 0)
		delete_failed(context, response, r, service);
	else if (r == 0)
		http_response_error(response, 404, "there are no samples of service '%s'", service);
	else
		write_deleted(request, service, response);
}
