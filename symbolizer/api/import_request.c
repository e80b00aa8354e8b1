/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/api/import_request.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "symbolizer/api/ingest_answer.h"
#include "symbolizer/api/proto_json.h"
#include "symbolizer/import/gunzip.h"

static_assert(PROTO_JSON_REASON_SIZE == FOREIGN_REASON_SIZE, "a reason is that of a result");

void import_release(struct import *import)
{
	bytes_release(&import->expanded);
	bytes_release(&import->packed);
	import_result_release(&import->result);
}

/* Returns false after answering. */
static bool accept(struct import *import, int r)
{
	const char *reason = import->result.reason;

	if (r < 0)
		ingest_refuse(import->context, import->response, r,
			      reason[0] ? reason : "no memory to decode the profile");
	return r == 0;
}

/* Undoes the header Content-Encoding. */
static bool expand_body(struct import *import)
{
	const char *encoding = http_request_header(import->request, "Content-Encoding");
	int r;

	import->body = import->request->body;
	if (!encoding || strcasecmp(encoding, "identity") == 0)
		return true;
	if (strcasecmp(encoding, "gzip") != 0) {
		http_response_error(import->response, 415,
				    "Content-Encoding '%.40s': the server reads gzip and identity",
				    encoding);
		return false;
	}
	r = gunzip(import->request->body, &import->expanded);
	if (r == -EBADMSG)
		(void)snprintf(import->result.reason, sizeof(import->result.reason),
			       "the body is no gzip, damaged, or cut short");
	if (r == -EFBIG)
		(void)snprintf(import->result.reason, sizeof(import->result.reason),
			       "the body has more than %llu MiB when expanded",
			       (unsigned long long)(IMPORT_MAX_PLAIN_BYTES / MIB));
	import->body = bytes_view_of(&import->expanded);
	return accept(import, r);
}

/* Reads a time as unix seconds, or by the number of its digits as ms, us or ns. */
static bool read_time(struct import *import, const char *name, uint64_t *ret_ns)
{
	const char *text = http_request_parameter(import->request, name);
	const size_t digits = text ? strspn(text, "0123456789") : 0;
	uint64_t value = 0, unit = NSEC_PER_SEC;

	*ret_ns = 0;
	if (!text)
		return true;
	for (size_t i = 0; i < digits && digits <= 19; i++)
		value = value * 10 + (uint64_t)(text[i] - '0');
	for (size_t i = 10; i < digits && unit > 1; i += 3)
		unit /= 1000;
	if (digits == 0 || digits > 19 || text[digits] != '\0' ||
	    __builtin_mul_overflow(value, unit, ret_ns)) {
		http_response_error(import->response, 400,
				    "%s: '%.40s' is no time in seconds since 1970", name, text);
		return false;
	}
	return true;
}

bool import_begin(struct import *import)
{
	const struct http_request *request = import->request;
	const char *rate = http_request_parameter(request, "sampleRate");

	api_count(import->context, API_METRIC_INGEST_BYTES, request->body.size);
	import->expanded = import->packed = (struct bytes){ .ceiling = IMPORT_MAX_PLAIN_BYTES,
							    .budget = import->context->memory };
	import->parameters.now_ns = clock_wall_ns(import->context->clock);
	import->parameters.name = http_request_parameter(request, "name");
	import->parameters.program = http_request_parameter(request, "spyName");
	import->parameters.units = http_request_parameter(request, "units");
	import->parameters.memory = import->context->memory;
	for (size_t i = 0; rate && i < 10 && rate[i] >= '0' && rate[i] <= '9'; i++)
		import->parameters.sample_rate_hz =
			import->parameters.sample_rate_hz * 10 + (uint64_t)(rate[i] - '0');
	return read_time(import, "from", &import->parameters.from_ns) &&
	       read_time(import, "until", &import->parameters.until_ns) && expand_body(import);
}

int import_pack_json(struct import *import, const ProtobufCMessageDescriptor *descriptor)
{
	int r = proto_json_pack(import->body, descriptor, &import->packed, import->result.reason);

	import->body = bytes_view_of(&import->packed);
	return r;
}

bool import_store(struct import *import, int r)
{
	if (!accept(import, r))
		return false;
	api_count(import->context, API_METRIC_INGEST_BAD, import->result.n_rejected);
	for (size_t i = 0; i < import->result.batches.count; i++) {
		scoped(bytes_release) struct bytes unused = BYTES_INIT(MIB);
		const struct ingest_request call = {
			.tenant = import->request->caller->tenant,
			.body = bytes_view_of(&import->result.batches.items[i]),
			.waited_ns = import->request->waited_ns,
			.is_imported = true,
		};
		struct ingest_result result;
		r = ingest_batch(import->context->ingest, &call, &unused, &result);

		if (r < 0) {
			ingest_refuse(import->context, import->response, r,
				      result.message[0] ? result.message : strerror(-r));
			return false;
		}
		ingest_count(import->context, &result);
		import->n_stored += result.stored;
		import->n_duplicates += !result.stored;
	}
	return true;
}
