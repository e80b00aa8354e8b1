/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_interpreter_python */
/*
 * The first byte selects the version; the rest is the memory of a process: an address is an offset
 * in it, modulo its size. The code object is at its beginning.
 */
#include "agent/interpreter/python/python_code.h"

#include "tests/fuzz/hostile_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	struct bytes_view memory = { .data = data + 1, .size = size - 1 };
	struct read_code code;

	if (size < 2)
		return 0;
	for (uint32_t minor = 8; minor <= 14; minor++) {
		const struct python_memory reader = {
			.layout = &python_layout_of(3 << 8 | minor)->code,
			.read = read_memory,
			.arg = &memory,
		};

		if (data[0] % 7 == minor - 8 &&
		    python_code_read(&reader, 0, 0, &code, content) == 1)
			assert(read_code_content_bytes(&code) <= sizeof(content));
	}
	return 0;
}
