/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_interpreter_ruby */
/*
 * The first byte selects the version; the rest is the memory of a process: an address is an offset
 * in it, modulo its size.
 */
#include "agent/interpreter/ruby/ruby_code.h"

#include "tests/fuzz/hostile_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t versions[] = { 0x0207, 0x0300, 0x0301, 0x0302, 0x0303 };
	static uint8_t content[CODE_CONTENT_BYTES];
	struct bytes_view memory = { .data = data + 1, .size = size - 1 };
	struct ruby_memory reader = { .read = read_memory, .arg = &memory };
	struct read_code code;

	if (size < 1)
		return 0;
	reader.layout = ruby_layout_of(versions[data[0] % ARRAY_SIZE(versions)]);
	for (uint64_t address = 0; address < 64; address += 8)
		if (ruby_code_read(&reader, address, 0, &code, content) == 1)
			assert(read_code_content_bytes(&code) <= sizeof(content));
	return 0;
}
