/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads a protobuf message field by field, for decisions that must be made before it can be
 * unpacked. Pure functions over borrowed bytes.
 */

#include "common/bytes.h"

/* Types of fields on the wire. */
enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
	WIRE_FIXED32 = 5,
};

struct wire_field {
	uint32_t number;
	enum wire_type type;
	struct bytes_view content; /* of WIRE_BYTES; else empty */
	size_t tag_at;             /* offset of the field in the message */
};

/*
 * Takes the next field. @begin is where the message begins. 1: taken; 0: the message ends;
 * -EBADMSG: it is malformed or cut short.
 */
int wire_next(struct bytes_reader *reader, const uint8_t *begin, struct wire_field *ret_field);
