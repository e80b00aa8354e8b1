/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/hotspot/hotspot_layout.h"

#include <string.h>

#include "agent/interpreter/runtime/words.h"

/* JDK 17 has 788 fields and 768 types. */
#define MAX_ENTRIES 8192

/* Longer names are of no interest. */
#define NAME_BYTES 64

#define MAX_ENTRY_BYTES 256
#define PAGE_BYTES      4096

static const struct {
	const char *type, *field, *other_type, *other_field;
} fields[] = {
#define X(id, type, field, other_type, other_field) { type, field, other_type, other_field },
	HOTSPOT_FIELDS(X)
#undef X
};

static const struct {
	const char *type, *field;
} statics[] = {
#define X(id, type, field) { type, field },
	HOTSPOT_STATICS(X)
#undef X
};

static const char *const sizes[] = {
#define X(id, type) type,
	HOTSPOT_SIZES(X)
#undef X
};

struct tables {
	const struct hotspot_memory *memory;
	uint64_t symbols[HOTSPOT_N_SYMBOLS]; /* the values of the exported variables */
	struct hotspot_layout layout;
	uint64_t statics[HOTSPOT_N_STATICS];
	bool has_field[HOTSPOT_N_FIELDS];
	bool has_size[HOTSPOT_N_SIZES];
};

/* Reads the text at @address, at most NAME_BYTES - 1 bytes of it. */
static int read_name(const struct hotspot_memory *memory, uint64_t address, char to[NAME_BYTES])
{
	size_t used = 0;

	memset(to, 0, NAME_BYTES);
	while (used < NAME_BYTES - 1) {
		size_t size = MIN(NAME_BYTES - 1 - used,
				  (size_t)(PAGE_BYTES - (address + used) % PAGE_BYTES));
		int r = memory->read(memory->arg, address + used, to + used, size);

		if (r < 0)
			return r;
		if (memchr(to + used, '\0', size))
			return 0;
		used += size;
	}
	return 0;
}

static bool is_equal(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
}

static void take_field(struct tables *tables, const char *type, const char *field, bool is_static,
		       uint64_t offset, uint64_t address)
{
	for (size_t i = 0; !is_static && i < ARRAY_SIZE(fields); i++) {
		bool is_first = is_equal(fields[i].type, type) && is_equal(fields[i].field, field);

		if (!is_first && (!is_equal(fields[i].other_type, type) ||
				  !is_equal(fields[i].other_field, field) || tables->has_field[i]))
			continue;
		if (offset < HOTSPOT_MAX_OFFSET) {
			tables->layout.offset[i] = (uint16_t)offset;
			tables->has_field[i] = true;
		}
	}
	for (size_t i = 0; is_static && i < ARRAY_SIZE(statics); i++)
		if (is_equal(statics[i].type, type) && is_equal(statics[i].field, field))
			tables->statics[i] = address;
}

static bool fits(uint64_t offset, uint64_t stride)
{
	return stride <= MAX_ENTRY_BYTES && offset <= stride && stride - offset >= sizeof(uint64_t);
}

static int read_structs(struct tables *tables)
{
	const struct hotspot_memory *memory = tables->memory;
	const uint64_t *symbols = tables->symbols;
	const uint64_t stride = symbols[HOTSPOT_SYMBOL_STRUCT_STRIDE];
	char type[NAME_BYTES] = "", field[NAME_BYTES];
	uint8_t entry[MAX_ENTRY_BYTES];
	uint64_t last_type = 0;

	for (size_t i = HOTSPOT_SYMBOL_STRUCT_TYPE; i <= HOTSPOT_SYMBOL_STRUCT_ADDRESS; i++)
		if (!fits(symbols[i], stride))
			return -EBADMSG;
	for (uint64_t i = 0; i < MAX_ENTRIES; i++) {
		uint64_t type_name, field_name;
		int r = memory->read(memory->arg, symbols[HOTSPOT_SYMBOL_STRUCTS] + i * stride,
				     entry, stride);

		if (r < 0)
			return r;
		type_name = word_at(entry, symbols[HOTSPOT_SYMBOL_STRUCT_TYPE]);
		field_name = word_at(entry, symbols[HOTSPOT_SYMBOL_STRUCT_FIELD]);
		if (type_name == 0 || field_name == 0)
			return 0;
		r = type_name != last_type ? read_name(memory, type_name, type) : 0;
		if (r == 0)
			r = read_name(memory, field_name, field);
		if (r < 0)
			return r;
		last_type = type_name;
		take_field(tables, type, field,
			   (uint32_t)word_at(entry, symbols[HOTSPOT_SYMBOL_STRUCT_IS_STATIC]) != 0,
			   word_at(entry, symbols[HOTSPOT_SYMBOL_STRUCT_OFFSET]),
			   word_at(entry, symbols[HOTSPOT_SYMBOL_STRUCT_ADDRESS]));
	}
	return -EBADMSG;
}

static int read_types(struct tables *tables)
{
	const struct hotspot_memory *memory = tables->memory;
	const uint64_t *symbols = tables->symbols;
	const uint64_t stride = symbols[HOTSPOT_SYMBOL_TYPE_STRIDE];
	uint8_t entry[MAX_ENTRY_BYTES];
	char type[NAME_BYTES];

	if (!fits(symbols[HOTSPOT_SYMBOL_TYPE_NAME], stride) ||
	    !fits(symbols[HOTSPOT_SYMBOL_TYPE_SIZE], stride))
		return -EBADMSG;
	for (uint64_t i = 0; i < MAX_ENTRIES; i++) {
		uint64_t name, size;
		int r = memory->read(memory->arg, symbols[HOTSPOT_SYMBOL_TYPES] + i * stride, entry,
				     stride);

		if (r < 0)
			return r;
		name = word_at(entry, symbols[HOTSPOT_SYMBOL_TYPE_NAME]);
		if (name == 0)
			return 0;
		r = read_name(memory, name, type);
		if (r < 0)
			return r;
		size = word_at(entry, symbols[HOTSPOT_SYMBOL_TYPE_SIZE]);
		for (size_t at = 0; at < ARRAY_SIZE(sizes); at++) {
			if (strcmp(sizes[at], type) != 0 || size >= HOTSPOT_MAX_OFFSET)
				continue;
			tables->layout.size[at] = (uint16_t)size;
			tables->has_size[at] = true;
		}
	}
	return -EBADMSG;
}

static bool has_all(const struct tables *tables)
{
	bool has = true;

	for (size_t i = 0; i < HOTSPOT_N_FIELDS; i++)
		has &= tables->has_field[i];
	for (size_t i = 0; i < HOTSPOT_N_STATICS; i++)
		has &= tables->statics[i] != 0;
	for (size_t i = 0; i < HOTSPOT_N_SIZES; i++)
		has &= tables->has_size[i];
	return has;
}

/* *ret_word: of 64 bits; *ret_half: of 32 bits. */
static int read_word(const struct tables *tables, uint64_t address, void *ret_word)
{
	return tables->memory->read(tables->memory->arg, address, ret_word, sizeof(uint64_t));
}

static int read_half(const struct tables *tables, uint64_t address, void *ret_half)
{
	return tables->memory->read(tables->memory->arg, address, ret_half, sizeof(uint32_t));
}

static int read_heap(const struct tables *tables, uint64_t heap, struct abi_code_heap *ret_heap)
{
	const uint16_t *offset = tables->layout.offset;
	const uint64_t memory = heap + offset[HOTSPOT_HEAP_MEMORY];
	const uint64_t map = heap + offset[HOTSPOT_HEAP_SEGMENT_MAP];
	int r = read_word(tables, memory + offset[HOTSPOT_SPACE_LOW], &ret_heap->low);

	if (r == 0)
		r = read_word(tables, memory + offset[HOTSPOT_SPACE_HIGH], &ret_heap->high);
	if (r == 0)
		r = read_word(tables, map + offset[HOTSPOT_SPACE_LOW], &ret_heap->segment_map);
	if (r == 0)
		r = read_half(tables, heap + offset[HOTSPOT_HEAP_SEGMENT_SHIFT],
			      &ret_heap->segment_shift);
	if (r == 0 && (ret_heap->low >= ret_heap->high || ret_heap->segment_shift >= 32))
		r = -EBADMSG;
	return r;
}

/* 1: all heaps were read; 0: there are none yet. */
static int read_heaps(const struct tables *tables, struct abi_jvm *jvm)
{
	const uint16_t *offset = tables->layout.offset;
	uint64_t array, items, heap;
	uint32_t n_heaps;
	int r = read_word(tables, tables->statics[HOTSPOT_STATIC_HEAPS], &array);

	if (r < 0 || array == 0)
		return r;
	r = read_half(tables, array + offset[HOTSPOT_ARRAY_LENGTH], &n_heaps);
	if (r == 0)
		r = read_word(tables, array + offset[HOTSPOT_ARRAY_DATA], &items);
	if (r < 0 || n_heaps == 0)
		return r;
	if (n_heaps > ABI_MAX_CODE_HEAPS)
		return -EBADMSG;
	for (uint32_t i = 0; r == 0 && i < n_heaps; i++) {
		r = read_word(tables, items + i * sizeof(heap), &heap);
		if (r == 0)
			r = read_heap(tables, heap, &jvm->heaps[i]);
	}
	return r < 0 ? r : 1;
}

/* 1: read; 0: the JVM has not made its interpreter yet. */
static int read_code(const struct tables *tables, struct abi_jvm *jvm)
{
	const uint16_t *offset = tables->layout.offset;
	uint64_t queue;
	int r = read_word(tables, tables->statics[HOTSPOT_STATIC_CALL_STUB_RETURN],
			  &jvm->call_stub_return);

	if (r == 0)
		r = read_word(tables, tables->statics[HOTSPOT_STATIC_INTERPRETER], &queue);
	if (r < 0 || jvm->call_stub_return == 0 || queue == 0)
		return r;
	r = read_word(tables, queue + offset[HOTSPOT_QUEUE_BUFFER], &jvm->interpreter.start);
	if (r < 0)
		return r;
	/* The limit is a number of bytes. */
	uint32_t bytes;

	r = read_half(tables, queue + offset[HOTSPOT_QUEUE_LIMIT], &bytes);
	if (r < 0)
		return r;
	jvm->interpreter.end = jvm->interpreter.start + bytes;
	return 1;
}

static void fill_walk(const struct hotspot_layout *layout, struct abi_jvm *jvm)
{
	const uint16_t *offset = layout->offset;

	jvm->layout = (struct abi_hotspot_layout){
		.heap_block_bytes = layout->size[HOTSPOT_SIZE_HEAP_BLOCK],
		.blob_name = offset[HOTSPOT_BLOB_NAME],
		.blob_code = offset[HOTSPOT_BLOB_CODE],
		.blob_frame_size = offset[HOTSPOT_BLOB_FRAME_SIZE],
		.blob_frame_complete = offset[HOTSPOT_BLOB_FRAME_COMPLETE],
		.nmethod_deopt = offset[HOTSPOT_NMETHOD_DEOPT],
		.nmethod_orig_pc = offset[HOTSPOT_NMETHOD_ORIG_PC],
		.method_const = offset[HOTSPOT_METHOD_CONST],
		.const_method_bytes = layout->size[HOTSPOT_SIZE_CONST_METHOD],
	};
}

bool hotspot_layout_is_valid(const struct hotspot_layout *layout)
{
	static const enum hotspot_field of_blob[] = {
		HOTSPOT_BLOB_NAME,       HOTSPOT_BLOB_CODE,           HOTSPOT_BLOB_CODE_END,
		HOTSPOT_BLOB_FRAME_SIZE, HOTSPOT_BLOB_FRAME_COMPLETE, HOTSPOT_NMETHOD_DEOPT,
	};
	bool valid = true;

	for (size_t i = 0; i < HOTSPOT_N_FIELDS; i++)
		valid &= layout->offset[i] < HOTSPOT_MAX_OFFSET;
	for (size_t i = 0; i < HOTSPOT_N_SIZES; i++)
		valid &= layout->size[i] > 0 && layout->size[i] < HOTSPOT_MAX_OFFSET;
	for (size_t i = 0; i < ARRAY_SIZE(of_blob); i++)
		valid &= layout->offset[of_blob[i]] <= ABI_CODE_BLOB_BYTES - sizeof(uint64_t);
	return valid && layout->offset[HOTSPOT_BLOB_NAME] % 8 == 0 &&
	       layout->offset[HOTSPOT_BLOB_CODE] % 8 == 0 &&
	       layout->offset[HOTSPOT_BLOB_FRAME_SIZE] % 4 == 0 &&
	       layout->offset[HOTSPOT_BLOB_FRAME_COMPLETE] % 4 == 0 &&
	       layout->offset[HOTSPOT_NMETHOD_DEOPT] % 8 == 0;
}

static int read_version(struct tables *tables)
{
	uint32_t version;
	int r = read_half(tables, tables->statics[HOTSPOT_STATIC_VM_MAJOR], &version);

	if (r < 0)
		return r;
	if (version == 0 || version > UINT16_MAX)
		return -ENOTSUP;
	tables->layout.version = (uint16_t)version;
	return 0;
}

int hotspot_layout_read(const struct hotspot_memory *memory,
			const uint64_t symbols[HOTSPOT_N_SYMBOLS],
			struct hotspot_layout *ret_layout, struct abi_jvm *ret_jvm)
{
	struct tables tables = { .memory = memory };
	struct abi_jvm jvm = {};
	int r = 0;

	for (size_t i = 0; r == 0 && i < HOTSPOT_N_SYMBOLS; i++)
		r = read_word(&tables, symbols[i], &tables.symbols[i]);
	if (r == 0 && tables.symbols[HOTSPOT_SYMBOL_STRUCT_STRIDE] == 0)
		return 0;
	if (r == 0)
		r = read_structs(&tables);
	if (r == 0)
		r = read_types(&tables);
	if (r < 0)
		return r;
	if (!has_all(&tables) || !hotspot_layout_is_valid(&tables.layout))
		return -ENOTSUP;
	r = read_version(&tables);
	if (r == 0)
		r = read_heaps(&tables, &jvm);
	if (r == 1)
		r = read_code(&tables, &jvm);
	if (r != 1)
		return r;
	fill_walk(&tables.layout, &jvm);
	*ret_layout = tables.layout;
	*ret_jvm = jvm;
	return 1;
}
