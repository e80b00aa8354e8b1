/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/api/connect.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <strings.h>

#include "proto/proto_arena.h"
#include "symbolizer/api/proto_json.h"

static const char type_proto[] = "application/proto", type_json[] = "application/json";

static bool has_type(const struct http_request *request, const char *type)
{
	const char *value = http_request_header(request, "Content-Type");
	size_t length = strlen(type);

	return value && strncasecmp(value, type, length) == 0 &&
	       strchr("; \t", value[length]) != NULL;
}

bool connect_is_binary(const struct http_request *request)
{
	return has_type(request, type_proto);
}

static int read_enum(const json_t *value, const ProtobufCEnumDescriptor *descriptor,
		     int *ret_number)
{
	const char *text = json_string_value(value);
	const ProtobufCEnumValue *found;

	if (json_is_integer(value)) {
		*ret_number = (int)json_integer_value(value);
		return 0;
	}
	found = text ? protobuf_c_enum_descriptor_get_value_by_name(descriptor, text) : NULL;
	if (!found)
		return -EINVAL;
	*ret_number = found->value;
	return 0;
}

static int read_text(const json_t *value, struct arena *arena, char **ret_text)
{
	if (!json_is_string(value))
		return -EINVAL;
	*ret_text = arena_copy_text(arena, json_string_value(value), json_string_length(value));
	return *ret_text ? 0 : -ENOMEM;
}

static int read_texts(const json_t *value, struct arena *arena, char ***ret_texts,
		      size_t *ret_count)
{
	size_t count = json_array_size(value);
	char **texts = arena_alloc_array(arena, count + 1, sizeof(*texts));
	int r = json_is_array(value) ? 0 : -EINVAL;

	if (!texts)
		return -ENOMEM;
	for (size_t i = 0; i < count && r == 0; i++)
		r = read_text(json_array_get(value, i), arena, &texts[i]);
	*ret_texts = texts;
	*ret_count = count;
	return r;
}

static int read_field(const json_t *value, const ProtobufCFieldDescriptor *field,
		      struct arena *arena, ProtobufCMessage *message)
{
	void *member = (char *)message + field->offset;

	if (json_is_null(value))
		return 0;
	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		return read_texts(value, arena, member,
				  (size_t *)((char *)message + field->quantifier_offset));
	switch (field->type) {
	case PROTOBUF_C_TYPE_INT64:
		return proto_json_integer(value, member);
	case PROTOBUF_C_TYPE_DOUBLE:
		if (!json_is_number(value))
			return -EINVAL;
		*(double *)member = json_number_value(value);
		return 0;
	case PROTOBUF_C_TYPE_ENUM:
		return read_enum(value, field->descriptor, member);
	default:
		assert(field->type == PROTOBUF_C_TYPE_STRING);
		return read_text(value, arena, member);
	}
}

/* Returns the name of the field that is invalid, or NULL. */
static const char *read_fields(const json_t *json, struct arena *arena, ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *descriptor = message->descriptor;

	for (unsigned int i = 0; i < descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
		char name[PROTO_JSON_NAME_SIZE];
		const json_t *value;

		proto_json_name(field->name, name);
		value = json_object_get(json, name);
		if (!value)
			value = json_object_get(json, field->name);
		if (value && read_field(value, field, arena, message) < 0)
			return field->name;
	}
	return NULL;
}

static ProtobufCMessage *read_json(const struct http_request *request,
				   const ProtobufCMessageDescriptor *descriptor,
				   struct arena *arena, struct http_response *response)
{
	ProtobufCMessage *message = arena_alloc(arena, descriptor->sizeof_message);
	json_error_t error = {};
	const char *invalid;
	json_t *json;

	if (!message) {
		http_response_error(response, 500, "out of memory");
		return NULL;
	}
	protobuf_c_message_init(descriptor, message);
	if (request->body.size == 0)
		return message;
	json = json_loadb((const char *)request->body.data, request->body.size, 0, &error);
	if (!json_is_object(json)) {
		http_response_error(response, 400, "the body is no JSON object: %.100s",
				    json ? "it has another type" : error.text);
		json_decref(json);
		return NULL;
	}
	invalid = read_fields(json, arena, message);
	json_decref(json);
	if (!invalid)
		return message;
	http_response_error(response, 400, "the field %s has a wrong type or value", invalid);
	return NULL;
}

static ProtobufCMessage *read_binary(const struct http_request *request,
				     const ProtobufCMessageDescriptor *descriptor,
				     struct arena *arena, struct http_response *response)
{
	ProtobufCMessage *message = proto_arena_unpack(descriptor, arena, request->body, NULL);

	if (!message)
		http_response_error(response, 400, "the body is no %s", descriptor->short_name);
	return message;
}

ProtobufCMessage *connect_read(const struct http_request *request,
			       const ProtobufCMessageDescriptor *descriptor, struct arena *arena,
			       struct http_response *response)
{
	const char *encoding = http_request_header(request, "Content-Encoding");

	if (encoding && strcasecmp(encoding, "identity") != 0) {
		http_response_error(response, 501,
				    "requests with Content-Encoding '%.40s' are "
				    "not supported: send them uncompressed",
				    encoding);
		return NULL;
	}
	if (connect_is_binary(request))
		return read_binary(request, descriptor, arena, response);
	if (has_type(request, type_json))
		return read_json(request, descriptor, arena, response);
	http_response_error(response, 415, "the Content-Type is neither %s nor %s", type_proto,
			    type_json);
	return NULL;
}

void connect_write(const struct http_request *request, const ProtobufCMessage *message,
		   struct http_response *response)
{
	const bool is_binary = connect_is_binary(request);

	if (is_binary)
		response->content_type = type_proto;
	if (proto_write(message, !is_binary, &response->body) < 0)
		http_response_error(response, 500, "the answer is too large");
}
