/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_interpreter_hotspot */
/*
 * The first byte selects the form of numbers, the next ones are the layout; the rest is the memory
 * of a process: an address is an offset in it, modulo its size.
 */
#include "agent/interpreter/hotspot/hotspot_code.h"
#include "bpf/abi/jvm.h"

#include "tests/fuzz/hostile_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Which bytes are the layout. */
enum {
	AT_SIZES = HOTSPOT_N_FIELDS,
	AT_BASES = AT_SIZES + HOTSPOT_N_SIZES,
	AT_PLACES = AT_BASES + HOTSPOT_N_BASES,
	LAYOUT_BYTES = AT_PLACES + 2 * HOTSPOT_N_PLACES,
};

static struct hotspot_layout layout_of(const uint8_t *data, bool excludes_zero)
{
	struct hotspot_layout layout = { .excludes_zero = excludes_zero };

	for (size_t i = 0; i < HOTSPOT_N_FIELDS; i++)
		layout.offset[i] = data[i];
	for (size_t i = 0; i < HOTSPOT_N_SIZES; i++)
		layout.size[i] = data[AT_SIZES + i];
	for (size_t i = 0; i < HOTSPOT_N_BASES; i++)
		layout.base[i] = data[AT_BASES + i];
	for (size_t i = 0; i < HOTSPOT_N_PLACES; i++)
		layout.place[i] =
			(struct hotspot_place){ .base = data[AT_PLACES + 2 * i] % HOTSPOT_N_BASES,
						.offset = data[AT_PLACES + 2 * i + 1] };
	return layout;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	const size_t head = 1 + LAYOUT_BYTES;
	struct bytes_view memory = { .data = data + head, .size = size - head };
	struct hotspot_layout layout = {};
	const struct hotspot_memory reader = { .layout = &layout,
					       .read = read_memory,
					       .arg = &memory };
	const uint64_t symbols[HOTSPOT_N_SYMBOLS] = {
		0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88
	};
	struct compiled_frame frames[COMPILED_MAX_INLINED];
	struct hotspot_layout found;
	struct read_code code;
	struct abi_jvm jvm;

	if (size < head)
		return 0;
	layout = layout_of(data + 1, data[0] & 1);
	if (hotspot_layout_is_valid(&layout)) {
		if (hotspot_code_read(&reader, 0, 0, &code, content) == 1)
			assert(read_code_content_bytes(&code) <= sizeof(content));
		(void)hotspot_code_read(&reader, ABI_HOTSPOT_STUB, 0, &code, content);
		assert(hotspot_frames_read(&reader, 0, data[0], frames) <= COMPILED_MAX_INLINED);
	}
	if (hotspot_layout_read(&reader, symbols, &found, &jvm) == 1)
		assert(hotspot_layout_is_valid(&found));
	return 0;
}
