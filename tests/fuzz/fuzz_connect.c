/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbolizer_api */
#include "proto/querier.pb-c.h"
#include "symbolizer/api/connect.h"
#include "symbolizer/api/connect_error.h"
#include "tests/fuzz/allocation_failure.h"

static const char *const types[] = { "application/proto", "application/json", "text/plain" };

static const ProtobufCMessageDescriptor *const descriptors[] = {
	&pyroscope__select_merge_stacktraces_request__descriptor,
	&pyroscope__select_series_request__descriptor,
	&pyroscope__label_values_request__descriptor,
	&pyroscope__series_request__descriptor,
};

/* The first byte chooses the encoding and the message. A message that was read is written again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(http_response_release) struct http_response response;
	scoped(arena_freep) struct arena *arena = NULL;
	const uint8_t choice = size > 0 ? data[0] : 0;
	const struct http_field header = { "Content-Type", types[choice % ARRAY_SIZE(types)] };
	const struct http_request request = {
		.headers = &header,
		.n_headers = 1,
		.body = { data + (size > 0), size - (size > 0) },
	};
	const ProtobufCMessage *message;

	http_response_init(&response);
	response.error_style = connect_error;
	if (arena_new(1 << 20, &arena) < 0)
		return 0;
	message = connect_read(&request, descriptors[choice / 4 % ARRAY_SIZE(descriptors)], arena,
			       &response);
	assert((message == NULL) == (response.status != 200));
	if (message &&
	    message->descriptor != &pyroscope__select_merge_stacktraces_request__descriptor)
		connect_write(&request, message, &response);
	return 0;
}
