/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The JSON body of POST /v1/profile/ProfileTracing. Keys match without regard to case, unknown ones
 * are ignored, null is as good as absent, and what follows the JSON value is not read.
 */

#include "common/arena.h"
#include "common/bytes.h"
#include "symbolizer/query/profile.h"

struct tracing_request {
	struct profile_request profile; /* tenant is the caller's to set; texts in the arena */
	bool columns;                   /* format */
	bool debug;
};

#define TRACING_MESSAGE_SIZE 512

/*
 * A pure function of the bytes. 0; -EINVAL with a message that names every missing key, or the key
 * at fault and what is expected of it; -ENOMEM.
 */
int tracing_request_parse(struct bytes_view body, struct arena *arena,
			  struct tracing_request *ret_request,
			  char ret_message[TRACING_MESSAGE_SIZE]);

/* EVENT_NONE and a message that lists the names for a name that is no event type. */
enum event_type event_type_of_request(const char *name, char *ret_message, size_t message_size);
