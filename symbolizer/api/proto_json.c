/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/api/proto_json.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_writer.h"
#include "common/scoped.h"
#include "symbolizer/import/import_limits.h"

/* Types of fields on the wire. */
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

/* Names that fields of OTLP's profiles had before 1.9. */
static const struct {
	const char *name, *former;
} former_names[] = { { "samples", "sample" }, { "lines", "line" } };

void proto_json_name(const char *name, char ret_name[PROTO_JSON_NAME_SIZE])
{
	size_t used = 0;

	for (size_t i = 0; name[i] && used + 1 < PROTO_JSON_NAME_SIZE; i++) {
		if (name[i] == '_')
			continue;
		ret_name[used] = name[i];
		if (i > 0 && name[i - 1] == '_')
			ret_name[used] = (char)toupper((unsigned char)name[i]);
		used++;
	}
	ret_name[used] = '\0';
}

int proto_json_integer(const json_t *value, int64_t *ret_integer)
{
	const char *text = json_string_value(value);
	char *end;
	double number;

	if (json_is_integer(value)) {
		*ret_integer = json_integer_value(value);
		return 0;
	}
	if (text) {
		errno = 0;
		*ret_integer = strtoll(text, &end, 10);
		return *text && !*end && errno == 0 ? 0 : -EINVAL;
	}
	number = json_real_value(value);
	if (!json_is_real(value) || number < -9e15 || number > 9e15 ||
	    number != (double)(int64_t)number)
		return -EINVAL;
	*ret_integer = (int64_t)number;
	return 0;
}

/* Like proto_json_integer(), for all 64 bits. */
static int read_unsigned(const json_t *value, uint64_t *ret_number)
{
	const char *text = json_string_value(value);
	int64_t integer;
	char *end;
	int r;

	if (text && text[0] >= '0' && text[0] <= '9') {
		errno = 0;
		*ret_number = strtoull(text, &end, 10);
		return !*end && errno == 0 ? 0 : -EINVAL;
	}
	r = proto_json_integer(value, &integer);
	if (r < 0 || integer < 0)
		return -EINVAL;
	*ret_number = (uint64_t)integer;
	return 0;
}

static void append_tag(struct bytes *out, const ProtobufCFieldDescriptor *field, unsigned int type)
{
	(void)bytes_append_varint(out, field->id << 3 | type);
}

static int append_bytes(struct bytes *out, const ProtobufCFieldDescriptor *field,
			struct bytes_view content)
{
	append_tag(out, field, WIRE_BYTES);
	(void)bytes_append_varint(out, content.size);
	return bytes_append(out, content.data, content.size);
}

/* The value of a character, also of the alphabet for URLs; -1: none. */
static int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

static int base64_decode(const char *text, size_t length, struct bytes *out)
{
	uint32_t bits = 0;
	unsigned int n_bits = 0;

	while (length > 0 && text[length - 1] == '=')
		length--;
	for (size_t i = 0; i < length; i++) {
		const int digit = base64_digit(text[i]);

		if (digit < 0)
			return -EINVAL;
		bits = bits << 6 | (uint32_t)digit;
		n_bits += 6;
		if (n_bits < 8)
			continue;
		n_bits -= 8;
		(void)bytes_append_byte(out, (uint8_t)(bits >> n_bits));
	}
	return bytes_error(out);
}

static int pack_base64(const json_t *value, const ProtobufCFieldDescriptor *field,
		       struct bytes *out)
{
	scoped(bytes_release) struct bytes raw = BYTES_INIT(IMPORT_MAX_BODY_BYTES);
	int r = -EINVAL;

	if (json_is_string(value))
		r = base64_decode(json_string_value(value), json_string_length(value), &raw);
	return r < 0 ? r : append_bytes(out, field, bytes_view_of(&raw));
}

static int pack_text(const json_t *value, const ProtobufCFieldDescriptor *field, struct bytes *out)
{
	if (!json_is_string(value))
		return -EINVAL;
	return append_bytes(out, field,
			    (struct bytes_view){ (const uint8_t *)json_string_value(value),
						 json_string_length(value) });
}

/* Appends a number without its tag. */
static int append_number(const json_t *value, ProtobufCType type, struct bytes *out)
{
	int64_t integer = 0;
	uint64_t number = 0;
	int r = 0;

	switch (type) {
	case PROTOBUF_C_TYPE_BOOL:
		r = json_is_boolean(value) ? 0 : -EINVAL;
		number = json_is_true(value);
		break;
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_INT64:
		r = proto_json_integer(value, &integer);
		if (type == PROTOBUF_C_TYPE_INT32 && (integer < INT32_MIN || integer > INT32_MAX))
			r = -EINVAL;
		number = (uint64_t)integer;
		break;
	case PROTOBUF_C_TYPE_UINT32:
		r = read_unsigned(value, &number);
		if (number > UINT32_MAX)
			r = -EINVAL;
		break;
	default:
		r = read_unsigned(value, &number);
	}
	if (r < 0)
		return r;
	return type == PROTOBUF_C_TYPE_FIXED64 ? bytes_append(out, &number, sizeof(number))
					       : bytes_append_varint(out, number);
}

static int pack_message(char *reason, const json_t *object,
			const ProtobufCMessageDescriptor *descriptor, struct bytes *out);

/* Packs a value with its tag. -EINVAL: it has a wrong type. */
static int pack_value(char *reason, const json_t *value, const ProtobufCFieldDescriptor *field,
		      struct bytes *out)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(IMPORT_MAX_PLAIN_BYTES);
	int r;

	switch (field->type) {
	case PROTOBUF_C_TYPE_STRING:
		return pack_text(value, field, out);
	case PROTOBUF_C_TYPE_BYTES:
		return pack_base64(value, field, out);
	case PROTOBUF_C_TYPE_MESSAGE:
		r = pack_message(reason, value, field->descriptor, &content);
		return r < 0 ? r : append_bytes(out, field, bytes_view_of(&content));
	default:
		append_tag(out, field,
			   field->type == PROTOBUF_C_TYPE_FIXED64 ? WIRE_FIXED64 : WIRE_VARINT);
		return append_number(value, field->type, out);
	}
}

static bool is_number(const ProtobufCFieldDescriptor *field)
{
	return field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_BYTES &&
	       field->type != PROTOBUF_C_TYPE_MESSAGE;
}

static int pack_array(char *reason, const json_t *array, const ProtobufCFieldDescriptor *field,
		      struct bytes *out)
{
	scoped(bytes_release) struct bytes packed = BYTES_INIT(IMPORT_MAX_PLAIN_BYTES);
	const size_t count = json_array_size(array);
	int r = json_is_array(array) ? 0 : -EINVAL;

	if (!is_number(field)) {
		for (size_t i = 0; i < count && r == 0; i++)
			r = pack_value(reason, json_array_get(array, i), field, out);
		return r;
	}
	for (size_t i = 0; i < count && r == 0; i++)
		r = append_number(json_array_get(array, i), field->type, &packed);
	return r < 0 || count == 0 ? r : append_bytes(out, field, bytes_view_of(&packed));
}

static const json_t *find_value(const json_t *object, const ProtobufCFieldDescriptor *field)
{
	char name[PROTO_JSON_NAME_SIZE];
	const json_t *value;

	proto_json_name(field->name, name);
	value = json_object_get(object, name);
	if (!value)
		value = json_object_get(object, field->name);
	for (size_t i = 0; i < ARRAY_SIZE(former_names) && !value; i++)
		if (strcmp(field->name, former_names[i].name) == 0)
			value = json_object_get(object, former_names[i].former);
	return json_is_null(value) ? NULL : value;
}

static int pack_message(char *reason, const json_t *object,
			const ProtobufCMessageDescriptor *descriptor, struct bytes *out)
{
	if (!json_is_object(object))
		return -EINVAL;
	for (unsigned int i = 0; i < descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
		const json_t *value = find_value(object, field);
		int r = 0;

		if (value)
			r = field->label == PROTOBUF_C_LABEL_REPEATED
				    ? pack_array(reason, value, field, out)
				    : pack_value(reason, value, field, out);
		if (r == -EINVAL) {
			(void)snprintf(reason, PROTO_JSON_REASON_SIZE,
				       "%s.%s has a wrong type or value", descriptor->short_name,
				       field->name);
			return -EBADMSG;
		}
		if (r < 0)
			return r;
	}
	return bytes_error(out);
}

int proto_json_pack(struct bytes_view json, const ProtobufCMessageDescriptor *descriptor,
		    struct bytes *out, char ret_reason[PROTO_JSON_REASON_SIZE])
{
	json_error_t error = {};
	json_t *object;
	int r;

	if (json.size > PROTO_JSON_MAX_BYTES) {
		(void)snprintf(ret_reason, PROTO_JSON_REASON_SIZE,
			       "the body has more than %llu MiB of JSON: send protobuf",
			       (unsigned long long)(PROTO_JSON_MAX_BYTES / MIB));
		return -EFBIG;
	}
	object = json_loadb((const char *)json.data, json.size, JSON_REJECT_DUPLICATES, &error);
	r = pack_message(ret_reason, object, descriptor, out);
	if (r == -EINVAL) {
		(void)snprintf(ret_reason, PROTO_JSON_REASON_SIZE, "the body is no JSON object");
		r = -EBADMSG;
	}
	json_decref(object);
	return r;
}

static void write_message(struct json_writer *json, const ProtobufCMessage *message);

static void write_member(struct json_writer *json, const ProtobufCFieldDescriptor *field,
			 const void *member)
{
	char text[24];

	switch (field->type) {
	case PROTOBUF_C_TYPE_INT64:
		(void)snprintf(text, sizeof(text), "%lld", (long long)*(const int64_t *)member);
		json_text(json, text);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		json_double(json, *(const double *)member);
		break;
	case PROTOBUF_C_TYPE_STRING:
		json_text(json, *(const char *const *)member);
		break;
	default:
		assert(field->type == PROTOBUF_C_TYPE_MESSAGE);
		write_message(json, *(const ProtobufCMessage *const *)member);
	}
}

static size_t size_of(const ProtobufCFieldDescriptor *field)
{
	return field->type == PROTOBUF_C_TYPE_INT64 || field->type == PROTOBUF_C_TYPE_DOUBLE
		       ? sizeof(int64_t)
		       : sizeof(void *);
}

static void write_message(struct json_writer *json, const ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *descriptor = message->descriptor;

	json_object_begin(json);
	for (unsigned int i = 0; i < descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
		const char *member = (const char *)message + field->offset;
		const char *items = *(const char *const *)member;
		char name[PROTO_JSON_NAME_SIZE];
		size_t count;

		if (field->type == PROTOBUF_C_TYPE_MESSAGE &&
		    field->label != PROTOBUF_C_LABEL_REPEATED && !items)
			continue;
		proto_json_name(field->name, name);
		json_key(json, name);
		if (field->label != PROTOBUF_C_LABEL_REPEATED) {
			write_member(json, field, member);
			continue;
		}
		count = *(const size_t *)((const char *)message + field->quantifier_offset);
		json_array_begin(json);
		for (size_t k = 0; k < count; k++)
			write_member(json, field, items + k * size_of(field));
		json_array_end(json);
	}
	json_object_end(json);
}

static int append_packed(const ProtobufCMessage *message, struct bytes *out)
{
	size_t size = protobuf_c_message_get_packed_size(message);
	uint8_t *packed = malloc(size + 1);
	int r = packed ? 0 : -ENOMEM;

	if (packed) {
		(void)protobuf_c_message_pack(message, packed);
		r = bytes_append(out, packed, size);
	}
	free(packed);
	return r;
}

int proto_write(const ProtobufCMessage *message, bool as_json, struct bytes *out)
{
	struct json_writer json;

	if (!as_json)
		return append_packed(message, out);
	json_writer_init(&json, out);
	write_message(&json, message);
	return bytes_error(out);
}
