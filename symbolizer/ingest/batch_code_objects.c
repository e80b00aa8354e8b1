/* SPDX-License-Identifier: Apache-2.0 */
/* The code objects of a batch. Line tables stay as they are: only a query decodes them. */

#include <string.h>

#include "symbolizer/ingest/batch_checks.h"

/*
 * XXH3-128 of the hashes of the parts, and of the first line: the same content has the same hash on
 * every host.
 */
static struct hash128 content_hash(const struct batch_code_object *object)
{
	struct {
		struct hash128 parts[5];
		uint8_t first_line[4]; /* little-endian */
	} input = {
		.parts = {
			hash128_of(object->language, strlen(object->language)),
			hash128_of(object->function, strlen(object->function)),
			hash128_of(object->qualified_name, strlen(object->qualified_name)),
			hash128_of(object->file, strlen(object->file)),
			hash128_of(object->line_table.data, object->line_table.size),
		},
	};

	static_assert(sizeof(input) == 5 * sizeof(struct hash128) + 4, "no padding is hashed");
	for (size_t i = 0; i < sizeof(input.first_line); i++)
		input.first_line[i] = (uint8_t)(object->first_line >> (8 * i));
	return hash128_of(&input, sizeof(input));
}

static int decode_code_object(struct decode *decode, size_t index, struct batch_code_object *out)
{
	const Hearth__V1__CodeObject *object = decode->message->code_objects[index];
	const struct {
		uint32_t string;
		const char *field;
		const char **ret_text;
	} texts[] = {
		{ object->language, "code_objects.language", &out->language },
		{ object->function, "code_objects.function", &out->function },
		{ object->qualified_name, "code_objects.qualified_name", &out->qualified_name },
		{ object->file, "code_objects.file", &out->file },
	};

	if (object->number == 0 || object->number >= FRAME_CODE_OBJECT)
		return decode_bad(decode, "code_objects[%zu].number is %u", index, object->number);
	if (object->line_table.len > MAX_LINE_TABLE_BYTES)
		return decode_bad(decode, "code_objects[%zu].line_table has %zu bytes, at most %d",
				  index, object->line_table.len, (int)MAX_LINE_TABLE_BYTES);
	out->number = object->number;
	out->first_line = object->first_line;
	out->line_table = (struct bytes_view){ .data = object->line_table.data,
					       .size = object->line_table.len };
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		int r = decode_string(decode, texts[i].string, texts[i].field, index,
				      texts[i].ret_text);

		if (r < 0)
			return r;
	}
	out->hash = content_hash(out);
	return 0;
}

int decode_code_objects(struct decode *decode)
{
	size_t count = decode->message->n_code_objects;
	struct batch_code_object *objects = decode_array(decode, count, sizeof(*objects));
	int r = 0;

	if (!objects)
		return decode_no_room(decode);
	for (size_t i = 0; i < count && r == 0; i++)
		r = decode_code_object(decode, i, &objects[i]);
	if (r < 0)
		return r;
	decode->batch->code_objects = objects;
	decode->batch->n_code_objects = (uint32_t)count;
	return 0;
}
