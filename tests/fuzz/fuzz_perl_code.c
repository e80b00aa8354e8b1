/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_interpreter_perl */
/*
 * The first byte selects the version; the rest is the memory of a process: an address is an offset
 * in it, modulo its size.
 */
#include "agent/interpreter/perl/perl_code.h"

#include "tests/fuzz/hostile_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t versions[] = { 0x051c, 0x0520, 0x0524, 0x0528 };
	static uint8_t content[CODE_CONTENT_BYTES];
	struct bytes_view memory = { .data = data + 1, .size = size - 1 };
	struct perl_memory reader = { .read = read_memory, .arg = &memory };
	struct read_code code;

	if (size < 1)
		return 0;
	reader.layout = perl_layout_of(versions[data[0] % ARRAY_SIZE(versions)]);
	reader.has_threads = data[0] & 0x80;
	/* Addresses of the first page are never read. With the marks of all kinds of frames. */
	for (uint64_t address = 1 << 20; address < (1 << 20) + 64; address++)
		if (perl_code_read(&reader, address, 0, &code, content) == 1)
			assert(read_code_content_bytes(&code) <= sizeof(content));
	return 0;
}
