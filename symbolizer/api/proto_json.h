/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The JSON form of Protocol Buffers: fields in lowerCamelCase (the original names are valid too),
 * 64-bit integers as texts, bytes as base64. Missing fields are empty, unknown ones are ignored.
 * The descriptors of protobuf-c have all that is needed.
 */

#include <jansson.h>
#include <protobuf-c/protobuf-c.h>

#include "common/bytes.h"

#define PROTO_JSON_REASON_SIZE 256
#define PROTO_JSON_NAME_SIZE   64

/*
 * Largest text that is converted. jansson takes up to 16 bytes of memory for each byte of a list of
 * small numbers, outside of the budget of requests.
 */
#define PROTO_JSON_MAX_BYTES (8 * MIB)

/* The name of a field in JSON: "label_names" becomes "labelNames". */
void proto_json_name(const char *name, char ret_name[PROTO_JSON_NAME_SIZE]);

/* Reads a number, or a text with one. 0 or -EINVAL. */
int proto_json_integer(const json_t *value, int64_t *ret_integer);

/*
 * Converts a message in JSON to protobuf, and appends it to @out. Fields of floating-point numbers
 * and enums are not read. Returns 0; -EBADMSG, -EFBIG or -ENOMEM with a reason.
 */
int proto_json_pack(struct bytes_view json, const ProtobufCMessageDescriptor *descriptor,
		    struct bytes *out, char ret_reason[PROTO_JSON_REASON_SIZE]);

/*
 * Appends a message to @out, in JSON or in protobuf. Its fields are texts, 64-bit integers,
 * floating-point numbers and messages. 0, -ENOMEM or -EFBIG.
 */
int proto_write(const ProtobufCMessage *message, bool as_json, struct bytes *out);
