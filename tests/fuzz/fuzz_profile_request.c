/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbolizer_api */

/* Parses the input as the body of POST /v1/profile/ProfileTracing, and checks the guarantees for
 * accepted requests. */

#include "symbolizer/api/tracing_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(arena_freep) struct arena *arena = NULL;
	char message[TRACING_MESSAGE_SIZE] = "";
	struct tracing_request request;
	int r;

	if (arena_new(4 * MIB, &arena) < 0)
		return 0;
	r = tracing_request_parse((struct bytes_view){ .data = data, .size = size }, arena,
				  &request, message);
	if (r > 0) {
		assert(request.profile.type != EVENT_NONE || request.event_name[0]);
		assert(request.profile.from_slot < request.profile.to_slot);
		assert(request.profile.max_kernel_stack_depth >= -1);
		assert(!request.profile.service || request.profile.service[0]);
	} else {
		assert(r == -ENOMEM || message[0]);
	}
	return 0;
}
