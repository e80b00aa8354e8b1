/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_interpreter_v8 */
/*
 * The first byte selects the version; the rest is the memory of a process: an address is an offset
 * in it, modulo its size.
 */
#include "agent/interpreter/v8/v8_code.h"

#include "tests/fuzz/hostile_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t versions[] = { 10 << 8 | 2, 11 << 8 | 3, 12 << 8 | 4, 13 << 8 | 6 };
	static uint8_t content[CODE_CONTENT_BYTES];
	static struct v8_lines lines;
	struct bytes_view memory = { .data = data + 1, .size = size - 1 };
	struct v8_memory reader = { .read = read_memory, .arg = &memory };
	struct read_code code;

	if (size < 1)
		return 0;
	lines = (struct v8_lines){};
	reader.layout = v8_layout_of(versions[data[0] % ARRAY_SIZE(versions)]);
	for (uint64_t pointer = 1; pointer < 64; pointer += 8)
		if (v8_code_read(&reader, &lines, pointer, 0, &code, content) == 1)
			assert(read_code_content_bytes(&code) <= sizeof(content));
	return 0;
}
