/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbols_elf */
#include <elf.h>

#include "symbolizer/symbols/elf/nameless_functions.h"
#include "symbolizer/symbols/symbol_limits.h"
#include "tests/fuzz/allocation_failure.h"

#define CODE_START UINT64_C(0x1000)
#define CODE_END   UINT64_C(0x200000)

/* The input is an .eh_frame. Ranges must be sorted, without overlap, and within the code. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct code_section text = { 1, CODE_START, CODE_END };
	const struct code_section_vec code = { .items = &text, .count = 1 };
	struct elf_image_section section = { .name = ".eh_frame",
					     .type = SHT_PROGBITS,
					     .elf_addr = 0x100000,
					     .size = size,
					     .stored = { data, size } };
	char message[SYMBOL_COMPILE_MESSAGE_SIZE];
	struct elf_image image = {
		.is_64 = true, .sections = &section, .n_sections = 1, .message = message
	};
	struct nameless_vec functions = {};
	uint64_t end = CODE_START;
	int r = nameless_functions_read(&image, &code, &functions);

	assert(r == 0 || allocation_failed());
	for (size_t i = 0; i < functions.count; i++) {
		assert(functions.items[i].start >= end);
		assert(functions.items[i].end > functions.items[i].start);
		end = functions.items[i].end;
	}
	assert(end <= CODE_END);
	vec_release(&functions);
	return 0;
}
