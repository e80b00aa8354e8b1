/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper/protocol.h"

#include <limits.h>
#include <string.h>

void finder_request_begin(struct helper_message *message, enum finder_operation operation)
{
	const struct finder_request request = { .operation = operation };

	memcpy(message->bytes, &request, sizeof(request));
	message->size = sizeof(request);
	message->n_fds = 0;
}

bool finder_request_add(struct helper_message *message, const struct finder_item *item,
			const char *path)
{
	const size_t path_bytes = strlen(path) + 1;
	const size_t size = ROUND_UP(sizeof(*item) + path_bytes, 8);
	struct finder_request request;
	struct finder_item copy = *item;

	if (path_bytes > PATH_MAX || size > sizeof(message->bytes) - message->size)
		return false;
	memcpy(&request, message->bytes, sizeof(request));
	if (request.n_items == FINDER_MAX_ITEMS)
		return false;
	request.n_items++;
	copy.path_bytes = (uint32_t)path_bytes;
	memcpy(message->bytes, &request, sizeof(request));
	memset(message->bytes + message->size, 0, size);
	memcpy(message->bytes + message->size, &copy, sizeof(copy));
	memcpy(message->bytes + message->size + sizeof(copy), path, path_bytes);
	message->size += size;
	return true;
}

bool finder_request_next(const struct helper_message *message, size_t *offset,
			 struct finder_item *ret_item, const char **ret_path)
{
	size_t at = *offset ? *offset : sizeof(struct finder_request);
	struct finder_item item;

	if (at > message->size || message->size - at < sizeof(item))
		return false;
	memcpy(&item, message->bytes + at, sizeof(item));
	at += sizeof(item);
	if (item.path_bytes == 0 || item.path_bytes > message->size - at ||
	    message->bytes[at + item.path_bytes - 1] != '\0')
		return false;
	*ret_path = (const char *)message->bytes + at;
	*ret_item = item;
	*offset = ROUND_UP(at + item.path_bytes, 8);
	return true;
}

/* Whether executable_id_set() with the kind and bytes of @id gives exactly @id. */
static bool is_valid_id(const struct executable_id *id)
{
	struct executable_id made;

	return id->size <= sizeof(id->bytes) &&
	       executable_id_set(&made, id->kind, id->bytes, id->size) == 0 &&
	       memcmp(&made, id, sizeof(made)) == 0;
}

static bool is_valid_interpreter(const struct interpreter_facts *facts)
{
	bool valid = facts->runtime == INTERPRETER_PYTHON || facts->runtime == INTERPRETER_V8 ||
		     facts->runtime == INTERPRETER_PHP || facts->runtime == INTERPRETER_RUBY ||
		     facts->runtime == INTERPRETER_PERL || facts->runtime == INTERPRETER_LUA;

	if (facts->runtime == INTERPRETER_HOTSPOT)
		return true;
	for (size_t i = 0; i < ABI_LOOP_PARTS; i++)
		valid &= facts->loop[i].start <= facts->loop[i].end;
	return valid;
}

int parser_identity_decode(const struct helper_message *message, struct file_identity *ret_identity)
{
	struct file_identity identity = {};
	struct parser_identity answer;

	if (message->size != sizeof(answer))
		return 0;
	memcpy(&answer, message->bytes, sizeof(answer));
	if (answer.header.result != 1 || !is_valid_id(&answer.id) ||
	    answer.n_segments > MAX_LOAD_SEGMENTS)
		return 0;
	for (size_t i = 0; i < answer.n_segments; i++)
		if (!load_segment_is_valid(&answer.segments[i]))
			return 0;
	identity.id = answer.id;
	identity.content = answer.content;
	if (is_valid_interpreter(&answer.interpreter))
		identity.interpreter = answer.interpreter;
	if (answer.n_segments > 0) {
		identity.segments = calloc(answer.n_segments, sizeof(*identity.segments));
		if (!identity.segments)
			return -ENOMEM;
		memcpy(identity.segments, answer.segments,
		       answer.n_segments * sizeof(*identity.segments));
		identity.n_segments = answer.n_segments;
	}
	*ret_identity = identity;
	return 1;
}

int parser_text_decode(const struct helper_message *message, struct executable_id *ret_id)
{
	struct parser_identity answer;

	*ret_id = (struct executable_id){};
	if (message->size != sizeof(answer))
		return 0;
	memcpy(&answer, message->bytes, sizeof(answer));
	if (answer.header.result != 1 || !is_valid_id(&answer.id))
		return 0;
	*ret_id = answer.id;
	return 1;
}

int parser_source_decode(const struct helper_message *message, struct parser_source *ret_source)
{
	struct parser_source answer;

	if (message->size != sizeof(answer))
		return 0;
	memcpy(&answer, message->bytes, sizeof(answer));
	if (answer.header.result != 1 || answer.key_result > 1 || answer.key_result < -MAX_ERRNO)
		return 0;
	*ret_source = answer;
	return 1;
}

int parser_table_decode(const struct helper_message *message, uint64_t *ret_cpu_ns)
{
	struct parser_table answer;

	if (message->size != sizeof(answer))
		return -EBADMSG;
	memcpy(&answer, message->bytes, sizeof(answer));
	if (answer.header.result > 1 || answer.header.result < -MAX_ERRNO)
		return -EBADMSG;
	*ret_cpu_ns = answer.cpu_ns;
	return answer.header.result;
}

int parser_extract_decode(const struct helper_message *message)
{
	struct parser_answer answer;

	if (message->size != sizeof(answer))
		return -EBADMSG;
	memcpy(&answer, message->bytes, sizeof(answer));
	if (answer.result > 0 || answer.result < -MAX_ERRNO)
		return -EBADMSG;
	return answer.result;
}

static bool is_valid_code(const struct read_code *code)
{
	return code->function_bytes <= CODE_NAME_BYTES &&
	       code->qualified_name_bytes <= CODE_NAME_BYTES &&
	       code->file_bytes <= CODE_FILE_BYTES &&
	       code->line_table_bytes <= MAX_LINE_TABLE_BYTES;
}

void reader_request_write(struct helper_message *message, uint32_t pid, enum reader_file file,
			  const void *body, size_t size)
{
	const struct reader_request request = { .pid = pid, .file = file };

	assert(size <= sizeof(message->bytes) - sizeof(request));
	memcpy(message->bytes, &request, sizeof(request));
	if (size > 0)
		memcpy(message->bytes + sizeof(request), body, size);
	message->size = sizeof(request) + size;
	message->n_fds = 0;
}

bool reader_code_next(const struct helper_message *message, size_t *offset,
		      struct reader_code *ret_code, const uint8_t **ret_content)
{
	size_t at = *offset;
	size_t size = 0;

	if (message->size < at || message->size - at < sizeof(*ret_code))
		return false;
	memcpy(ret_code, message->bytes + at, sizeof(*ret_code));
	at += sizeof(*ret_code);
	if (ret_code->result == 1) {
		if (!is_valid_code(&ret_code->code))
			return false;
		size = reader_code_padded(read_code_content_bytes(&ret_code->code));
	}
	if (message->size - at < size)
		return false;
	*ret_content = message->bytes + at;
	*offset = at + size;
	return true;
}

int reader_jvm_decode(const struct helper_message *message, struct reader_jvm *ret_jvm)
{
	if (message->size != sizeof(*ret_jvm))
		return -EBADMSG;
	memcpy(ret_jvm, message->bytes, sizeof(*ret_jvm));
	if (ret_jvm->result > 1 || ret_jvm->result < -MAX_ERRNO ||
	    (ret_jvm->result == 1 && !hotspot_layout_is_valid(&ret_jvm->layout)))
		return -EBADMSG;
	return ret_jvm->result;
}

bool reader_compiled_frames_get(const struct helper_message *message, size_t index,
				struct reader_compiled_frames *ret_frames)
{
	if (index >= message->size / sizeof(*ret_frames))
		return false;
	memcpy(ret_frames, message->bytes + index * sizeof(*ret_frames), sizeof(*ret_frames));
	return ret_frames->result <= COMPILED_MAX_INLINED && ret_frames->result >= -MAX_ERRNO;
}
