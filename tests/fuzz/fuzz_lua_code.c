/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_interpreter_lua */
/*
 * The first byte selects the version; the rest is the memory of a process: an address is an offset
 * in it, modulo its size.
 */
#include "agent/interpreter/lua/lua_code.h"

#include "tests/fuzz/hostile_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t versions[] = { 0x0501, 0x40502, 0x60503, 0x40504 };
	static uint8_t content[CODE_CONTENT_BYTES];
	struct bytes_view memory = { .data = data + 1, .size = size - 1 };
	struct lua_memory reader = { .read = read_memory, .arg = &memory };
	struct lua_caller caller = { .code = 1 << 20 };
	struct read_code code;

	if (size < 1)
		return 0;
	reader.layout = lua_layout_of(versions[data[0] % ARRAY_SIZE(versions)]);
	/* Addresses of the first page are never read. The caller is the function itself. */
	for (; caller.position < 16; caller.position++)
		if (lua_code_read(&reader, caller.code, &caller, 0, &code, content) == 1)
			assert(read_code_content_bytes(&code) <= sizeof(content));
	return 0;
}
