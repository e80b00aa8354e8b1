/* SPDX-License-Identifier: Apache-2.0 */
#include "common/executable_id.h"

#include <string.h>

#include "common/hash.h"

/* A shorter GNU build-ID is a defect of the file, and would collide easily. */
#define GNU_MIN_BYTES 4

#define GO_PREFIX      "go-"
#define TEXT_PREFIX    "text-"
#define HTLHASH_PREFIX "htlhash-"

static const char *kind_prefix(unsigned int kind)
{
	switch (kind) {
	case EXECUTABLE_ID_GNU:
		return "";
	case EXECUTABLE_ID_GO:
		return GO_PREFIX;
	case EXECUTABLE_ID_TEXT:
		return TEXT_PREFIX;
	case EXECUTABLE_ID_HTLHASH:
		return HTLHASH_PREFIX;
	default:
		return NULL;
	}
}

int executable_id_set(struct executable_id *id, unsigned int kind, const void *bytes, size_t size)
{
	struct executable_id new_id = {};

	if (!kind_prefix(kind) || size == 0 || size > EXECUTABLE_ID_MAX_BYTES)
		return -EINVAL;
	if (kind == EXECUTABLE_ID_GNU && size < GNU_MIN_BYTES)
		return -EINVAL;
	if (kind == EXECUTABLE_ID_HTLHASH && size != EXECUTABLE_ID_HTLHASH_BYTES)
		return -EINVAL;

	new_id.kind = (uint8_t)kind;
	new_id.size = (uint8_t)size;
	memcpy(new_id.bytes, bytes, size);
	*id = new_id;
	return 0;
}

bool executable_id_equal(const struct executable_id *a, const struct executable_id *b)
{
	return a->kind == b->kind && a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

void executable_id_format(const struct executable_id *id, char ret_text[EXECUTABLE_ID_TEXT_SIZE])
{
	const char *prefix = kind_prefix(id->kind);
	size_t prefix_length;

	if (!prefix) {
		ret_text[0] = '\0';
		return;
	}
	assert(id->size <= EXECUTABLE_ID_MAX_BYTES);
	prefix_length = strlen(prefix);
	memcpy(ret_text, prefix, prefix_length);
	hex_encode(id->bytes, id->size, ret_text + prefix_length);
}

int executable_id_parse(const char *text, struct executable_id *ret_id)
{
	uint8_t bytes[EXECUTABLE_ID_MAX_BYTES];
	unsigned int kind = EXECUTABLE_ID_GNU;
	int size;

	if (strncmp(text, GO_PREFIX, strlen(GO_PREFIX)) == 0)
		kind = EXECUTABLE_ID_GO;
	else if (strncmp(text, TEXT_PREFIX, strlen(TEXT_PREFIX)) == 0)
		kind = EXECUTABLE_ID_TEXT;
	else if (strncmp(text, HTLHASH_PREFIX, strlen(HTLHASH_PREFIX)) == 0)
		kind = EXECUTABLE_ID_HTLHASH;
	text += strlen(kind_prefix(kind));

	size = hex_decode(text, strlen(text), bytes, sizeof(bytes));
	if (size < 0)
		return -EINVAL;
	return executable_id_set(ret_id, kind, bytes, (size_t)size);
}
