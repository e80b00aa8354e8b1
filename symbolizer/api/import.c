/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Profiles of other profilers. A request is decoded as a whole (symbolizer/import/), and then its
 * profiles are stored one after another. If that fails in between, the client sends the request
 * again, and the profiles that were stored are recognized as duplicates.
 */

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/json_writer.h"
#include "proto/otlp.pb-c.h"
#include "proto/push.pb-c.h"
#include "symbolizer/api/import_request.h"
#include "symbolizer/api/otlp_error.h"
#include "symbolizer/api/proto_json.h"
#include "symbolizer/import/gunzip.h"
#include "symbolizer/import/multipart.h"

/* That sent requests of OTLP. */
#define OTLP_PROGRAM "OpenTelemetry"

static bool has_type(const struct http_request *request, const char *type)
{
	const char *value = http_request_header(request, "Content-Type");
	const size_t length = strlen(type);

	return value && strncasecmp(value, type, length) == 0 &&
	       strchr("; \t", value[length]) != NULL;
}

static void write_summary(struct import *import)
{
	struct json_writer json;

	import->response->content_type = "application/json";
	json_writer_init(&json, &import->response->body);
	json_object_begin(&json);
	json_key_uint(&json, "profiles_stored", import->n_stored);
	json_key_uint(&json, "profiles_known", import->n_duplicates);
	json_key_uint(&json, "since", import->result.from_ns / NSEC_PER_SEC);
	json_key_uint(&json, "until", import->result.until_ns / NSEC_PER_SEC);
	json_key_uint(&json, "values", import->result.n_values);
	json_key_uint(&json, "labels_left_out", import->result.n_labels_left_out);
	if (import->result.n_rejected > 0) {
		json_key_uint(&json, "profiles_rejected", import->result.n_rejected);
		json_key_text(&json, "reason", import->result.reason);
	}
	json_object_end(&json);
}

static int import_file(struct import *import, bool is_otlp)
{
	if (is_otlp)
		return import_otlp(&import->parameters, import->body, &import->result);
	return import_pprof(&import->parameters, import->body, &import->result);
}

void api_import_pprof(struct api_context *context, const struct http_request *request,
		      struct http_response *response)
{
	scoped(import_release) struct import import = { .context = context,
							.request = request,
							.response = response };
	const char *format = http_request_parameter(request, "format");
	const bool is_otlp = format && strcmp(format, "otlp") == 0;

	if (format && !is_otlp && strcmp(format, "pprof") != 0) {
		http_response_error(response, 400,
				    "format '%.40s': the server reads pprof and otlp", format);
		return;
	}
	if (!import_begin(&import))
		return;
	import.parameters.name = http_request_parameter(request, "service");
	import.parameters.program = is_otlp ? OTLP_PROGRAM : "pprof";
	if (!import.parameters.name && !is_otlp) {
		http_response_error(response, 400, "the parameter service is missing");
		return;
	}
	if (import_store(&import, import_file(&import, is_otlp)))
		write_summary(&import);
}

/* The profile of the body, which may be a form. Returns false after answering. */
static bool find_profile(struct import *import)
{
	const char *type = http_request_header(import->request, "Content-Type");
	int r;

	if (!multipart_is_form(type))
		return true;
	r = multipart_find(type, import->body, "profile", &import->body);
	if (r <= 0)
		http_response_error(import->response, 400,
				    r == 0 ? "the form has no field 'profile'"
					   : "the form is malformed or cut short");
	return r > 0;
}

/* Pyroscope's clients mostly name the format, but a form has a profile of pprof without it. */
static int import_by_format(struct import *import)
{
	const char *format = http_request_parameter(import->request, "format");
	const char *type = http_request_header(import->request, "Content-Type");

	if (!format)
		format = is_gzip(import->body) || multipart_is_form(type) ? "pprof" : "folded";
	if (strcmp(format, "pprof") == 0)
		return import_pprof(&import->parameters, import->body, &import->result);
	if (strcmp(format, "folded") == 0 || strcmp(format, "lines") == 0)
		return import_folded(&import->parameters, import->body, format[0] == 'f',
				     &import->result);
	(void)snprintf(import->result.reason, sizeof(import->result.reason),
		       "format '%.40s': the server reads pprof, folded and lines", format);
	return -EBADMSG;
}

void api_import_pyroscope(struct api_context *context, const struct http_request *request,
			  struct http_response *response)
{
	scoped(import_release) struct import import = { .context = context,
							.request = request,
							.response = response };

	if (!import_begin(&import))
		return;
	if (!import.parameters.name) {
		http_response_error(response, 400, "the parameter name is missing");
		return;
	}
	if (!find_profile(&import) || !import_store(&import, import_by_format(&import)))
		return;
	response->content_type = "application/json";
	(void)bytes_append_text(&response->body, "{}");
}

void api_import_push(struct api_context *context, const struct http_request *request,
		     struct http_response *response)
{
	scoped(import_release) struct import import = { .context = context,
							.request = request,
							.response = response };
	const bool is_json = has_type(request, "application/json");
	int r = 0;

	if (!import_begin(&import))
		return;
	if (is_json)
		r = import_pack_json(&import, &push__push_request__descriptor);
	if (r == 0)
		r = import_push(&import.parameters, import.body, &import.result);
	if (!import_store(&import, r))
		return;
	response->content_type = is_json ? "application/json" : "application/proto";
	/* An empty message is no bytes in protobuf. */
	if (is_json)
		(void)bytes_append_text(&response->body, "{}");
}

/* Writes an ExportProfilesServiceResponse. */
static void write_otlp_answer(struct import *import, bool is_json)
{
	const struct import_result *result = &import->result;
	Otlp__PartialSuccess partial = OTLP__PARTIAL_SUCCESS__INIT;
	Otlp__Response message = OTLP__RESPONSE__INIT;

	import->response->content_type = is_json ? "application/json" : "application/x-protobuf";
	partial.rejected_profiles = (int64_t)result->n_rejected;
	partial.error_message = (char *)result->reason;
	if (result->n_rejected > 0)
		message.partial_success = &partial;
	if (proto_write(&message.base, is_json, &import->response->body) < 0)
		http_response_error(import->response, 500, "out of memory");
}

void api_import_otlp(struct api_context *context, const struct http_request *request,
		     struct http_response *response)
{
	scoped(import_release) struct import import = { .context = context,
							.request = request,
							.response = response };
	const bool is_json = has_type(request, "application/json");
	int r = 0;

	if (is_json)
		response->error_style = otlp_error_json;
	if (!is_json && !has_type(request, "application/x-protobuf")) {
		http_response_error(response, 415,
				    "the Content-Type is neither application/x-protobuf nor "
				    "application/json");
		return;
	}
	if (!import_begin(&import))
		return;
	import.parameters.program = OTLP_PROGRAM;
	if (is_json)
		r = import_pack_json(&import, &otlp__request__descriptor);
	if (r == 0)
		r = import_otlp(&import.parameters, import.body, &import.result);
	if (import_store(&import, r))
		write_otlp_answer(&import, is_json);
	/* Clients of OTLP send a request again after 429, 502, 503 and 504 only. */
	else if (response->status == 507)
		response->status = 503;
}
