/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/hotspot/hotspot_layout.h"

#include "agent/interpreter/hotspot/hotspot_tables.h"

/*
 * JDK 9 divided the code cache into several heaps, and added the class of the method to the frames
 * of the interpreter, above the address of the byte code. On arm64 also another word was added,
 * which keeps the stack pointer aligned to 16 bytes.
 */
#if defined(__aarch64__)
#define BYTE_CODE_BELOW_FP 72
#else
#define BYTE_CODE_BELOW_FP 64
#endif
#define BYTE_CODE_BELOW_FP_JDK8 56

/* From JDK 20 on, compressed numbers have no byte 0. */
#define FIRST_WITHOUT_ZERO 20

/* Of the buffer with the interpreter, when it is complete. 100 KiB are unused before. */
#define MAX_UNUSED_BYTES 4096

static bool is_before_9(const struct hotspot_tables *tables)
{
	return tables->statics[HOTSPOT_STATIC_HEAPS] == 0;
}

/* *ret_word: of 64 bits; *ret_half: of 32 bits. */
static int read_word(const struct hotspot_tables *tables, uint64_t address, void *ret_word)
{
	return tables->memory->read(tables->memory->arg, address, ret_word, sizeof(uint64_t));
}

static int read_half(const struct hotspot_tables *tables, uint64_t address, void *ret_half)
{
	return tables->memory->read(tables->memory->arg, address, ret_half, sizeof(uint32_t));
}

static int read_heap(const struct hotspot_tables *tables, uint64_t heap,
		     struct abi_code_heap *ret_heap)
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

/* As read_heaps(). */
static int read_only_heap(const struct hotspot_tables *tables, struct abi_jvm *jvm)
{
	uint64_t heap;
	int r = read_word(tables, tables->statics[HOTSPOT_STATIC_HEAP], &heap);

	if (r < 0 || heap == 0)
		return r;
	r = read_heap(tables, heap, &jvm->heaps[0]);
	return r < 0 ? r : 1;
}

/* 1: all heaps were read; 0: there are none yet. */
static int read_heaps(const struct hotspot_tables *tables, struct abi_jvm *jvm)
{
	const uint16_t *offset = tables->layout.offset;
	uint64_t array, items, heap;
	uint32_t n_heaps;
	int r;

	if (is_before_9(tables))
		return read_only_heap(tables, jvm);
	r = read_word(tables, tables->statics[HOTSPOT_STATIC_HEAPS], &array);

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

/*
 * Reads the range of the interpreter: the buffer of @queue. 1; 0: the JVM still generates it. From
 * JDK 9 on, the JVM then frees the unused part of the buffer, and puts other code there.
 */
static int read_interpreter(const struct hotspot_tables *tables, uint64_t queue,
			    struct abi_code_range *ret_range)
{
	const uint16_t *offset = tables->layout.offset;
	uint32_t size, used;
	uint64_t start;
	int r = read_word(tables, queue + offset[HOTSPOT_QUEUE_BUFFER], &start);

	if (r == 0)
		r = read_half(tables, queue + offset[HOTSPOT_QUEUE_LIMIT], &size);
	if (r == 0)
		r = read_half(tables, queue + offset[HOTSPOT_QUEUE_END], &used);
	if (r < 0)
		return r;
	if (!is_before_9(tables) && (used > size || size - used > MAX_UNUSED_BYTES))
		return 0;
	*ret_range = (struct abi_code_range){ .start = start, .end = start + size };
	return 1;
}

/* As read_interpreter(). */
static int read_code(const struct hotspot_tables *tables, struct abi_jvm *jvm)
{
	uint64_t queue;
	int r = read_word(tables, tables->statics[HOTSPOT_STATIC_CALL_STUB_RETURN],
			  &jvm->call_stub_return);

	if (r == 0)
		r = read_word(tables, tables->statics[HOTSPOT_STATIC_INTERPRETER], &queue);
	if (r < 0 || jvm->call_stub_return == 0 || queue == 0)
		return r;
	return read_interpreter(tables, queue, &jvm->interpreter);
}

static void fill_walk(const struct hotspot_tables *tables, struct abi_jvm *jvm)
{
	const struct hotspot_layout *layout = &tables->layout;
	const uint16_t *offset = layout->offset;

	jvm->layout = (struct abi_hotspot_layout){
		.heap_block_bytes = layout->size[HOTSPOT_SIZE_HEAP_BLOCK],
		.blob_name = offset[HOTSPOT_BLOB_NAME],
		.blob_code = layout->place[HOTSPOT_PLACE_CODE].offset,
		.blob_frame_size = offset[HOTSPOT_BLOB_FRAME_SIZE],
		.blob_frame_complete = offset[HOTSPOT_BLOB_FRAME_COMPLETE],
		.nmethod_deopt = layout->place[HOTSPOT_PLACE_DEOPT].offset,
		.nmethod_orig_pc = offset[HOTSPOT_NMETHOD_ORIG_PC],
		.method_const = offset[HOTSPOT_METHOD_CONST],
		.const_method_bytes = layout->size[HOTSPOT_SIZE_CONST_METHOD],
		.places_are_relative = layout->place[HOTSPOT_PLACE_CODE].base == HOTSPOT_BASE_BLOB,
		.byte_code_below_fp =
			is_before_9(tables) ? BYTE_CODE_BELOW_FP_JDK8 : BYTE_CODE_BELOW_FP,
	};
}

static bool is_in_blob(size_t offset, size_t size)
{
	return offset <= ABI_CODE_BLOB_BYTES - sizeof(uint64_t) && offset % size == 0;
}

/* Whether the unwinder can use the places: it reads them from the beginning of a blob. */
static bool places_of_walk_are_valid(const struct hotspot_layout *layout)
{
	const struct hotspot_place *code = &layout->place[HOTSPOT_PLACE_CODE];
	const struct hotspot_place *deopt = &layout->place[HOTSPOT_PLACE_DEOPT];
	const size_t size = code->base == HOTSPOT_BASE_NONE ? sizeof(uint64_t) : sizeof(uint32_t);

	return code->base <= HOTSPOT_BASE_BLOB && code->base == deopt->base &&
	       is_in_blob(code->offset, size) && is_in_blob(deopt->offset, size);
}

bool hotspot_layout_is_valid(const struct hotspot_layout *layout)
{
	bool valid = layout->excludes_zero <= 1;

	for (size_t i = 0; i < HOTSPOT_N_FIELDS; i++)
		valid &= layout->offset[i] < HOTSPOT_MAX_OFFSET;
	for (size_t i = 0; i < HOTSPOT_N_SIZES; i++)
		valid &= layout->size[i] > 0 && layout->size[i] < HOTSPOT_MAX_OFFSET;
	for (size_t i = 0; i < HOTSPOT_N_BASES; i++)
		valid &= layout->base[i] < HOTSPOT_MAX_OFFSET;
	for (size_t i = 0; i < HOTSPOT_N_PLACES; i++)
		valid &= layout->place[i].base < HOTSPOT_N_BASES &&
			 layout->place[i].offset < HOTSPOT_MAX_OFFSET;
	return valid && places_of_walk_are_valid(layout) &&
	       is_in_blob(layout->offset[HOTSPOT_BLOB_NAME], sizeof(uint64_t)) &&
	       is_in_blob(layout->offset[HOTSPOT_BLOB_FRAME_SIZE], sizeof(uint32_t)) &&
	       is_in_blob(layout->offset[HOTSPOT_BLOB_FRAME_COMPLETE], sizeof(uint16_t));
}

static int read_version(struct hotspot_tables *tables)
{
	uint32_t version;
	int r = read_half(tables, tables->statics[HOTSPOT_STATIC_VM_MAJOR], &version);

	if (r < 0)
		return r;
	/* JDK 8 has the version of HotSpot here: 25. */
	tables->layout.excludes_zero = !is_before_9(tables) && version >= FIRST_WITHOUT_ZERO;
	return 0;
}

int hotspot_layout_read(const struct hotspot_memory *memory,
			const uint64_t symbols[HOTSPOT_N_SYMBOLS],
			struct hotspot_layout *ret_layout, struct abi_jvm *ret_jvm)
{
	struct hotspot_tables tables = { .memory = memory };
	struct abi_jvm jvm = {};
	int r = hotspot_tables_read(&tables, symbols);

	if (r != 1)
		return r;
	if (!hotspot_layout_is_valid(&tables.layout))
		return -ENOTSUP;
	r = read_version(&tables);
	if (r == 0)
		r = read_heaps(&tables, &jvm);
	if (r == 1)
		r = read_code(&tables, &jvm);
	if (r != 1)
		return r;
	fill_walk(&tables, &jvm);
	*ret_layout = tables.layout;
	*ret_jvm = jvm;
	return 1;
}
