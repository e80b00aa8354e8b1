/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/api/otlp_error.h"

#include "common/json_writer.h"
#include "proto/otlp.pb-c.h"

/* Codes of gRPC, which google.rpc.Status has. */
enum grpc_code {
	GRPC_UNKNOWN = 2,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_NOT_FOUND = 5,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
	GRPC_UNAUTHENTICATED = 16,
};

static enum grpc_code code_of(unsigned int status)
{
	static const struct {
		unsigned int status;
		enum grpc_code code;
	} codes[] = {
		{ 400, GRPC_INVALID_ARGUMENT },   { 401, GRPC_UNAUTHENTICATED },
		{ 403, GRPC_PERMISSION_DENIED },  { 404, GRPC_NOT_FOUND },
		{ 413, GRPC_RESOURCE_EXHAUSTED }, { 415, GRPC_INVALID_ARGUMENT },
		{ 429, GRPC_RESOURCE_EXHAUSTED }, { 500, GRPC_INTERNAL },
		{ 503, GRPC_UNAVAILABLE },        { 507, GRPC_UNAVAILABLE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (status == codes[i].status)
			return codes[i].code;
	return GRPC_UNKNOWN;
}

void otlp_error(struct http_response *response, unsigned int status, const char *message)
{
	Otlp__Status body = OTLP__STATUS__INIT;

	body.code = (int32_t)code_of(status);
	body.message = (char *)message;
	response->content_type = "application/x-protobuf";
	if (bytes_reserve(&response->body, otlp__status__get_packed_size(&body)) == 0)
		response->body.size = otlp__status__pack(&body, response->body.data);
}

void otlp_error_json(struct http_response *response, unsigned int status, const char *message)
{
	struct json_writer json;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key_int(&json, "code", code_of(status));
	json_key_text(&json, "message", message);
	json_object_end(&json);
}
