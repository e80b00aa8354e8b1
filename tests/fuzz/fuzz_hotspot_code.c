/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_interpreter_hotspot */
/*
 * The first byte selects the version, the next ones are the layout; the rest is the memory of a
 * process: an address is an offset in it, modulo its size.
 */
#include "agent/interpreter/hotspot/hotspot_code.h"
#include "bpf/abi/jvm.h"

#include "tests/fuzz/hostile_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	const size_t head = 1 + HOTSPOT_N_FIELDS + HOTSPOT_N_SIZES;
	struct bytes_view memory = { .data = data + head, .size = size - head };
	struct hotspot_layout layout = {};
	const struct hotspot_memory reader = { .layout = &layout,
					       .read = read_memory,
					       .arg = &memory };
	const uint64_t symbols[HOTSPOT_N_SYMBOLS] = { 0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80 };
	struct compiled_frame frames[COMPILED_MAX_INLINED];
	struct hotspot_layout found;
	struct read_code code;
	struct abi_jvm jvm;

	if (size < head)
		return 0;
	layout.version = data[0] & 1 ? 17 : 21;
	for (size_t i = 0; i < HOTSPOT_N_FIELDS; i++)
		layout.offset[i] = data[1 + i];
	for (size_t i = 0; i < HOTSPOT_N_SIZES; i++)
		layout.size[i] = data[1 + HOTSPOT_N_FIELDS + i];
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
