/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_unwind */
/*
 * The first byte is the end of the first function; the rest is code. Functions that it refers to
 * are analyzed too.
 */
#include "agent/unwind/x86_code/function_analysis.h"

#define TEXT UINT64_C(0x1000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(function_analysis_freep) struct function_analysis *analysis = NULL;
	struct code_address_vec found = {};
	struct code_range code = { .vaddr = TEXT };
	const struct unwind_builder_row *rows;
	uint64_t end;
	size_t count;

	if (size < 2)
		return 0;
	code.bytes = (struct bytes_view){ data + 1, size - 1 };
	if (function_analysis_new(&code, &analysis) < 0)
		return 0;
	if (function_analysis_run(analysis, TEXT, TEXT + data[0] * 16u, &found, &end) < 0)
		return 0;
	for (size_t i = 0; i < found.count && i < 64; i++) {
		uint64_t start = found.items[i];

		assert(start >= TEXT && start - TEXT < code.bytes.size);
		if (function_analysis_run(analysis, start, UINT64_MAX, &found, &end) != 1)
			continue;
		rows = function_analysis_rows(analysis, &count);
		assert(count > 0 && rows[0].start == start && end > start &&
		       end - TEXT <= code.bytes.size);
	}
	vec_release(&found);
	return 0;
}
