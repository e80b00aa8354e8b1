/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_helper */
#include <stdlib.h>
#include <string.h>

#include "agent/helper/jit_protocol.h"
#include "agent/helper/protocol.h"

static void read_request(const struct helper_message *message)
{
	struct finder_item item;
	const char *path;
	size_t offset = 0;

	while (finder_request_next(message, &offset, &item, &path)) {
		assert(offset > sizeof(struct finder_request));
		assert(strlen(path) < message->size);
	}
}

static void read_answers(const struct helper_message *message)
{
	scoped(file_identity_release) struct file_identity identity = {};
	struct parser_source source;
	struct executable_id id;
	uint64_t cpu_ns;

	if (parser_identity_decode(message, &identity) == 1)
		assert(identity.n_segments <= MAX_LOAD_SEGMENTS &&
		       identity.id.size <= sizeof(identity.id.bytes));
	if (parser_text_decode(message, &id) == 1)
		assert(id.size <= sizeof(id.bytes));
	if (parser_source_decode(message, &source) == 1)
		assert(source.key_result <= 1);
	assert(parser_table_decode(message, &cpu_ns) <= 1);
}

static void read_jit_answers(const struct helper_message *message)
{
	static struct jit_codes codes;
	struct jit_read_answer answer;
	struct jit_named_texts name;
	size_t offset = 0;

	if (jit_read_answer_decode(message, &answer, &codes) == 0)
		assert(codes.count <= JIT_MAX_CODES);
	if (jit_names_answer_decode(message) < 0)
		return;
	while (jit_names_answer_next(message, &offset, &name)) {
		assert(offset <= message->size);
		if (name.result == 0)
			assert(strlen(name.file) < message->size);
	}
}

/* Bytes from the other end of a helper's socket are decoded within their bounds, or refused. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct helper_message *message = calloc(1, sizeof(*message));

	if (!message || size > sizeof(message->bytes)) {
		free(message);
		return 0;
	}
	memcpy(message->bytes, data, size);
	message->size = size;
	read_request(message);
	read_answers(message);
	read_jit_answers(message);
	free(message);
	return 0;
}
