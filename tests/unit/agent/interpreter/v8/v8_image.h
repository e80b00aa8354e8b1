/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Invented objects of V8 in an array of words. The object at word i has the address
 * IMAGE_START + 8 * i.
 */

#include "agent/interpreter/v8/v8_heap.h"
#include "tests/support/unit.h"

#define IMAGE_START UINT64_C(0x10000)
#define IMAGE_WORDS 4096

struct v8_image {
	uint64_t words[IMAGE_WORDS];
	size_t used;
};

static inline uint64_t pointer_to(size_t index)
{
	return IMAGE_START + 8 * (uint64_t)index + 1;
}

static inline uint64_t smi(uint32_t value)
{
	return (uint64_t)value << 32;
}

static inline int read_image(void *arg, uint64_t address, void *buffer, size_t size)
{
	const struct v8_image *image = arg;

	if (address < IMAGE_START || address - IMAGE_START > sizeof(image->words) ||
	    sizeof(image->words) - (address - IMAGE_START) < size)
		return -EFAULT;
	memcpy(buffer, (const uint8_t *)image->words + (address - IMAGE_START), size);
	return 0;
}

/* Adds an object of @n_words fields and its map, and returns the pointer to it. */
static inline uint64_t add_object(struct v8_image *image, uint16_t type, const uint64_t *fields,
				  size_t n_fields)
{
	const size_t map = image->used, object = map + 2;

	assert_true(object + 1 + n_fields <= IMAGE_WORDS);
	memcpy((uint8_t *)&image->words[map] + 12, &type, sizeof(type));
	image->words[object] = pointer_to(map);
	memcpy(&image->words[object + 1], fields, n_fields * sizeof(*fields));
	image->used = object + 1 + n_fields;
	return pointer_to(object);
}

#define ONE_BYTE_SEQUENTIAL 0x08
#define TWO_BYTE_SEQUENTIAL 0x00

static inline uint64_t add_text(struct v8_image *image, const char *text)
{
	uint64_t fields[64] = { smi((uint32_t)strlen(text)) };

	assert_true(strlen(text) <= sizeof(fields) - sizeof(fields[0]));
	memcpy(&fields[1], text, strlen(text));
	return add_object(image, ONE_BYTE_SEQUENTIAL, fields, 1 + (strlen(text) + 7) / 8);
}
