/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory of a JVM: the tables are written as a JVM has them, from those that were read from
 * processes of OpenJDK 8u504, 11.0.33, 17.0.15, 21.0.13 and 25.0.5 on x86-64 (jdk8.txt to
 * jdk25.txt), and the objects to which static fields point.
 */
#include "agent/interpreter/hotspot/hotspot_layout.h"
#include "tests/support/unit.h"

#define MEMORY_BYTES (256 * KIB)

#define STRUCT_BYTES 48
#define TYPE_BYTES   40

struct recorded {
	uint64_t structs[512][STRUCT_BYTES / 8];
	uint64_t types[64][TYPE_BYTES / 8];
	size_t n_structs, n_types;
};

struct image {
	uint8_t bytes[MEMORY_BYTES];
	uint64_t base; /* address of the bytes in the process */
	size_t used;
	uint64_t symbols[HOTSPOT_N_SYMBOLS];
	uint64_t statics[HOTSPOT_N_STATICS]; /* addresses of the static fields */
	struct recorded recorded;
	const char *path;     /* of jdk17.txt or another such file */
	uint32_t version;     /* that the JVM says; JDK 8 says 25 */
	const char *left_out; /* a field that the tables lack */
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
#define X(id, type, field, ...) { type, field },
		HOTSPOT_STATICS(X)
#undef X
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i].type, type) == 0 && strcmp(names[i].field, field) == 0)
			return image->statics[i];
	return image->base;
}

static inline void read_recorded(struct image *image)
{
	scoped(scoped_fclose) FILE *file = fopen(image->path, "re");
	struct recorded *recorded = &image->recorded;
	char line[256], type[128], field[128], field_type[128];

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
		assert_int_equal(sscanf(line, "field|%127[^|]|%127[^|]|%u|%zu|%127[^|\n]", type,
					field, &is_static, &number, field_type),
				 5);
		if (image->left_out && strcmp(image->left_out, field) == 0)
			continue;
		entry = recorded->structs[recorded->n_structs++];
		entry[0] = put_text(image, type);
		entry[1] = put_text(image, field);
		entry[2] = put_text(image, field_type);
		entry[3] = is_static;
		entry[4] = number;
		entry[5] = is_static ? address_of_static(image, type, field) : 0;
	}
	assert_true(recorded->n_structs > 100 && recorded->n_types > 8);
}

static inline void put_tables(struct image *image)
{
	static const uint64_t struct_offsets[] = { 0, 8, 16, 24, 32, 40, STRUCT_BYTES };
	static const uint64_t type_offsets[] = { 0, 24, TYPE_BYTES };
	const struct recorded *recorded = &image->recorded;

	for (size_t i = 0; i < HOTSPOT_N_STATICS; i++)
		image->statics[i] = put_word(image, 0);
	read_recorded(image);
	image->symbols[HOTSPOT_SYMBOL_STRUCTS] = put_word(
		image, put(image, recorded->structs, (recorded->n_structs + 1) * STRUCT_BYTES));
	image->symbols[HOTSPOT_SYMBOL_TYPES] =
		put_word(image, put(image, recorded->types, (recorded->n_types + 1) * TYPE_BYTES));
	for (size_t i = 0; i < ARRAY_SIZE(struct_offsets); i++)
		image->symbols[HOTSPOT_SYMBOL_STRUCT_TYPE + i] = put_word(image, struct_offsets[i]);
	for (size_t i = 0; i < ARRAY_SIZE(type_offsets); i++)
		image->symbols[HOTSPOT_SYMBOL_TYPE_NAME + i] = put_word(image, type_offsets[i]);
}

/* The entry of a field; NULL: it was left out, so that the layout is refused. */
static inline const uint64_t *entry_of(const struct image *image, const char *type,
				       const char *field)
{
	const char *bytes = (const char *)image->bytes;

	for (size_t i = 0; i < image->recorded.n_structs; i++) {
		const uint64_t *entry = image->recorded.structs[i];

		if (strcmp(bytes + (entry[0] - image->base), type) == 0 &&
		    strcmp(bytes + (entry[1] - image->base), field) == 0)
			return entry;
	}
	assert_non_null(image->left_out);
	return NULL;
}

static inline size_t offset_of(const struct image *image, const char *type, const char *field)
{
	const uint64_t *entry = entry_of(image, type, field);

	return entry ? entry[4] : 0;
}

static inline uint64_t put_heap(struct image *image, uint64_t low, uint64_t high, uint64_t map)
{
	const size_t memory = offset_of(image, "CodeHeap", "_memory");
	const size_t at_low = offset_of(image, "VirtualSpace", "_low_boundary");
	const uint32_t shift = 7;
	uint8_t heap[320] = {};

	memcpy(heap + memory + at_low, &low, 8);
	memcpy(heap + memory + offset_of(image, "VirtualSpace", "_high_boundary"), &high, 8);
	memcpy(heap + offset_of(image, "CodeHeap", "_segmap") + at_low, &map, 8);
	memcpy(heap + offset_of(image, "CodeHeap", "_log2_segment_size"), &shift, sizeof(shift));
	return put(image, heap, sizeof(heap));
}

/* Two heaps, or the single heap of JDK 8, and the interpreter. */
static inline void put_objects(struct image *image)
{
	const uint32_t n_heaps = 2, interpreter_bytes = 0x18000;
	const uint64_t interpreter = 0x1008b80;
	uint64_t items[2] = { put_heap(image, 0x1000000, 0x2000000, 0x9000000),
			      put_heap(image, 0x2000000, 0x3000000, 0x9800000) };
	uint8_t array[32] = {}, queue[40] = {};
	uint64_t at = put(image, items, sizeof(items));

	memcpy(array, &n_heaps, sizeof(n_heaps));
	memcpy(array + offset_of(image, "GrowableArray<int>", "_data"), &at, sizeof(at));
	set_word(image, image->statics[HOTSPOT_STATIC_HEAPS], put(image, array, sizeof(array)));
	set_word(image, image->statics[HOTSPOT_STATIC_HEAP], items[0]);
	memcpy(queue + 8, &interpreter, sizeof(interpreter));
	memcpy(queue + offset_of(image, "StubQueue", "_buffer_limit"), &interpreter_bytes,
	       sizeof(interpreter_bytes));
	memcpy(queue + offset_of(image, "StubQueue", "_queue_end"), &interpreter_bytes,
	       sizeof(interpreter_bytes));
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
	image->path = recorded;
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
