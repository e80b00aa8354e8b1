/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The JSON body of POST /v1/profile/ProfileTracing. Keys are matched without regard to case,
 * unknown keys are ignored, null counts as absent, and text after the JSON value is ignored.
 */

#include "common/arena.h"
#include "common/bytes.h"
#include "symbolizer/query/profile.h"

struct tracing_request {
	struct profile_request profile; /* texts are in the arena */
	const char *event_name;         /* if profile.type is EVENT_NONE: not in event_type.h */
	bool columns;                   /* format is "columns" */
	bool debug;
};

#define TRACING_MESSAGE_SIZE 512

/*
 * Parses @body. Returns 1; 0 with a message that names the key, if the request is valid but no
 * sample can meet it; -ENOMEM; or -EINVAL with a message that names all missing keys, or the
 * invalid key and its expected value. A pure function of its input.
 */
int tracing_request_parse(struct bytes_view body, struct arena *arena,
			  struct tracing_request *ret_request,
			  char ret_message[TRACING_MESSAGE_SIZE]);
