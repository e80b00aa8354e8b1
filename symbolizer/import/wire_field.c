/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/import/wire_field.h"

/* The highest number that a field may have. */
#define MAX_FIELD_NUMBER ((UINT64_C(1) << 29) - 1)

int wire_next(struct bytes_reader *reader, const uint8_t *begin, struct wire_field *ret_field)
{
	struct wire_field field = {};
	uint64_t tag, size = 0;

	if (reader->next == reader->end)
		return 0;
	field.tag_at = (size_t)(reader->next - begin);
	tag = bytes_read_varint(reader);
	field.number = (uint32_t)(tag >> 3);
	field.type = (enum wire_type)(tag & 7);
	if (tag >> 3 == 0 || tag >> 3 > MAX_FIELD_NUMBER)
		return -EBADMSG;
	switch (field.type) {
	case WIRE_VARINT:
		(void)bytes_read_varint(reader);
		break;
	case WIRE_FIXED64:
		size = sizeof(uint64_t);
		break;
	case WIRE_FIXED32:
		size = sizeof(uint32_t);
		break;
	case WIRE_BYTES:
		size = bytes_read_varint(reader);
		break;
	default:
		return -EBADMSG;
	}
	if (reader->error || size > (size_t)(reader->end - reader->next))
		return -EBADMSG;
	if (field.type == WIRE_BYTES)
		field.content = (struct bytes_view){ reader->next, (size_t)size };
	reader->next += size;
	*ret_field = field;
	return 1;
}
