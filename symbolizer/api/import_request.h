/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the handlers of profiles of other profilers share (import_request.c). */

#include <protobuf-c/protobuf-c.h>

#include "symbolizer/api/api.h"
#include "symbolizer/import/import.h"

/* A request whose body is expanded, and what became of its profiles. */
struct import {
	struct api_context *context;
	const struct http_request *request;
	struct http_response *response;
	struct import_request parameters;
	struct bytes expanded, packed;
	struct bytes_view body;
	struct import_result result;
	uint32_t n_stored, n_duplicates;
};

void import_release(struct import *import);

/* Reads the parameters, and expands the body. Returns false after answering. */
bool import_begin(struct import *import);

/*
 * Converts the body from JSON to a message of this type. Returns 0, or the error of
 * proto_json_pack() for import_store().
 */
int import_pack_json(struct import *import, const ProtobufCMessageDescriptor *descriptor);

/*
 * Stores the batches of the result, if @r, which the decoder returned, is 0. Returns false after
 * answering with an error.
 */
bool import_store(struct import *import, int r);
