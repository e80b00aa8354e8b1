/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_interpreter_php */
/*
 * The first byte selects the version; the rest is the memory of a process: an address is an offset
 * in it, modulo its size. The function is at its beginning.
 */
#include "agent/interpreter/php/php_code.h"

#include "tests/fuzz/hostile_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t versions[] = { 0x0704, 0x0800, 0x0802, 0x0803, 0x0804 };
	static uint8_t content[CODE_CONTENT_BYTES];
	struct bytes_view memory = { .data = data + 1, .size = size - 1 };
	struct php_memory reader = { .read = read_memory, .arg = &memory };
	struct read_code code;

	if (size < 2)
		return 0;
	reader.layout = &php_layout_of(versions[data[0] % ARRAY_SIZE(versions)])->code;
	if (php_code_read(&reader, 0, 0, &code, content) == 1)
		assert(read_code_content_bytes(&code) <= sizeof(content));
	return 0;
}
