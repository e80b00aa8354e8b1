/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory of a JVM: the tables are written as a JVM has them, from those that were read from
 * processes of OpenJDK 17.0.15 and 21.0.13 on x86-64 (jdk17.txt, jdk21.txt), and the objects to
 * which static fields point.
 */
#include "agent/interpreter/hotspot/hotspot_layout.h"
#include "tests/support/unit.h"

#define MEMORY_BYTES (256 * KIB)

#define STRUCT_BYTES 48
#define TYPE_BYTES   40

struct image {
	uint8_t bytes[MEMORY_BYTES];
	uint64_t base; /* address of the bytes in the process */
	size_t used;
	uint64_t symbols[HOTSPOT_N_SYMBOLS];
	uint64_t statics[HOTSPOT_N_STATICS]; /* addresses of the static fields */
	const char *recorded;                /* path of jdk17.txt or jdk21.txt */
	uint32_t version;                    /* of the JDK: 17 or 21 */
	const char *left_out;                /* a field that the tables lack */
};

static inline int read_image(void *arg, uint64_t address, void *buffer, size_t size)
{
	const struct image *image = arg;

	if (address < image->base || address - image->base > MEMORY_BYTES ||
	    size > MEMORY_BYTES - (address - image->base))
		return -EFAULT;
	memcpy(buffer, image->bytes + (address - image->base), size);
	return 0;
}

static inline uint64_t put(struct image *image, const void *bytes, size_t size)
{
	size_t at = (image->used + 7) & ~(size_t)7;

	assert_true(at + size <= MEMORY_BYTES);
	memcpy(image->bytes + at, bytes, size);
	image->used = at + size;
	return image->base + at;
}

static inline uint64_t put_word(struct image *image, uint64_t word)
{
	return put(image, &word, sizeof(word));
}

static inline uint64_t put_text(struct image *image, const char *text)
{
	return put(image, text, strlen(text) + 1);
}

static inline void set_word(struct image *image, uint64_t address, uint64_t word)
{
	memcpy(image->bytes + (address - image->base), &word, sizeof(word));
}

/* The variable behind a static field of the table; those that the agent does not use share one. */
static inline uint64_t address_of_static(struct image *image, const char *type, const char *field)
{
	static const struct {
		const char *type, *field;
	} names[] = {
#define X(id, type, field) { type, field },
		HOTSPOT_STATICS(X)
#undef X
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i].type, type) == 0 && strcmp(names[i].field, field) == 0)
			return image->statics[i];
	return image->base;
}

struct recorded {
	uint64_t structs[512][STRUCT_BYTES / 8];
	uint64_t types[64][TYPE_BYTES / 8];
	size_t n_structs, n_types;
};

static inline void read_recorded(struct image *image, struct recorded *recorded)
{
	scoped(scoped_fclose) FILE *file = fopen(image->recorded, "re");
	char line[256], type[128], field[128];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		uint64_t *entry;
		unsigned int is_static;
		uint64_t number;

		if (sscanf(line, "type|%127[^|]|%zu", type, &number) == 2) {
			entry = recorded->types[recorded->n_types++];
			entry[0] = put_text(image, type);
			entry[3] = number;
			continue;
		}
		assert_int_equal(sscanf(line, "field|%127[^|]|%127[^|]|%u|%zu", type, field,
					&is_static, &number),
				 4);
		if (image->left_out && strcmp(image->left_out, field) == 0)
			continue;
		entry = recorded->structs[recorded->n_structs++];
		entry[0] = put_text(image, type);
		entry[1] = put_text(image, field);
		entry[3] = is_static;
		entry[4] = number;
		entry[5] = is_static ? address_of_static(image, type, field) : 0;
	}
	assert_true(recorded->n_structs > 100 && recorded->n_types > 8);
}

static inline void put_tables(struct image *image)
{
	static const uint64_t struct_offsets[] = { 0, 8, 24, 32, 40, STRUCT_BYTES };
	static const uint64_t type_offsets[] = { 0, 24, TYPE_BYTES };
	static struct recorded recorded;

	recorded = (struct recorded){};
	for (size_t i = 0; i < HOTSPOT_N_STATICS; i++)
		image->statics[i] = put_word(image, 0);
	read_recorded(image, &recorded);
	image->symbols[HOTSPOT_SYMBOL_STRUCTS] = put_word(
		image, put(image, recorded.structs, (recorded.n_structs + 1) * STRUCT_BYTES));
	image->symbols[HOTSPOT_SYMBOL_TYPES] =
		put_word(image, put(image, recorded.types, (recorded.n_types + 1) * TYPE_BYTES));
	for (size_t i = 0; i < ARRAY_SIZE(struct_offsets); i++)
		image->symbols[HOTSPOT_SYMBOL_STRUCT_TYPE + i] = put_word(image, struct_offsets[i]);
	for (size_t i = 0; i < ARRAY_SIZE(type_offsets); i++)
		image->symbols[HOTSPOT_SYMBOL_TYPE_NAME + i] = put_word(image, type_offsets[i]);
}

/* Two heaps and the interpreter. In JDK 21 the fields of CodeHeap are 8 bytes lower. */
static inline void put_objects(struct image *image)
{
	uint8_t heap[2][264] = {}, array[16] = {}, queue[40] = {};
	const uint64_t ranges[2][3] = {
		{ 0x1000000, 0x2000000, 0x9000000 },
		{ 0x2000000, 0x3000000, 0x9800000 },
	};
	const uint32_t shift = 7, n_heaps = 2, interpreter_bytes = 0x18000;
	const size_t at_memory = image->version == 17 ? 8 : 0;
	const uint64_t interpreter = 0x1008b80;
	uint64_t items[2], at;

	for (size_t i = 0; i < 2; i++) {
		memcpy(heap[i] + at_memory, &ranges[i][0], 8);
		memcpy(heap[i] + at_memory + 8, &ranges[i][1], 8);
		memcpy(heap[i] + at_memory + 112, &ranges[i][2], 8);
		memcpy(heap[i] + at_memory + 248, &shift, sizeof(shift));
		items[i] = put(image, heap[i], sizeof(heap[i]));
	}
	at = put(image, items, sizeof(items));
	memcpy(array, &n_heaps, sizeof(n_heaps));
	memcpy(array + 8, &at, sizeof(at));
	set_word(image, image->statics[HOTSPOT_STATIC_HEAPS], put(image, array, sizeof(array)));
	memcpy(queue + 8, &interpreter, sizeof(interpreter));
	memcpy(queue + 20, &interpreter_bytes, sizeof(interpreter_bytes));
	set_word(image, image->statics[HOTSPOT_STATIC_INTERPRETER],
		 put(image, queue, sizeof(queue)));
	set_word(image, image->statics[HOTSPOT_STATIC_CALL_STUB_RETURN], 0x1000cc9);
	set_word(image, image->statics[HOTSPOT_STATIC_VM_MAJOR], image->version);
}

/* @base 0: the image is in the memory of this process. */
static inline struct image *image_new_of(uint32_t version, const char *recorded, uint64_t base,
					 const char *left_out)
{
	struct image *image = calloc(1, sizeof(*image));

	assert_non_null(image);
	image->base = base ? base : (uintptr_t)image->bytes;
	image->version = version;
	image->recorded = recorded;
	image->left_out = left_out;
	put_tables(image);
	put_objects(image);
	return image;
}

/* An image of JDK 17. */
static inline struct image *image_new(const char *recorded, uint64_t base, const char *left_out)
{
	return image_new_of(17, recorded, base, left_out);
}
