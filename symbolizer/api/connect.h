/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unary calls of the Connect protocol (connectrpc.com), in both encodings: application/proto and
 * application/json (the JSON form of proto3). Messages are those of protobuf-c; their descriptors
 * have all that the JSON form needs.
 */

#include <protobuf-c/protobuf-c.h>

#include "common/arena.h"
#include "symbolizer/http/message.h"

/*
 * Decodes the body of @request into a message of this type, allocated in @arena. Unknown fields are
 * ignored; an empty body is a message without fields. Requests have fields of numbers, texts, enums
 * and lists of texts only. Returns NULL after filling @response with an error.
 */
ProtobufCMessage *connect_read(const struct http_request *request,
			       const ProtobufCMessageDescriptor *descriptor, struct arena *arena,
			       struct http_response *response);

/* Writes the message in the encoding of the request. */
void connect_write(const struct http_request *request, const ProtobufCMessage *message,
		   struct http_response *response);

/* Whether the request has the binary encoding. */
bool connect_is_binary(const struct http_request *request);
