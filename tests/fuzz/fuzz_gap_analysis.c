/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_unwind */
/* The first byte is the distance of the addresses tried as functions; the rest is code. */
#include "agent/unwind/x86_code/gap_analysis.h"

#define TEXT UINT64_C(0x1000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(gap_analysis_freep) struct gap_analysis *analysis = NULL;
	struct code_range code = { .vaddr = TEXT };
	const struct unwind_builder_row *rows;
	size_t count;

	if (size < 2)
		return 0;
	code.bytes = (struct bytes_view){ data + 1, MIN(size - 1, GAP_ANALYSIS_MAX_BYTES) };
	if (gap_analysis_new(&analysis) < 0 || gap_analysis_begin(analysis, &code) < 0)
		return 0;
	for (size_t at = 0; at < code.bytes.size; at += data[0] + 1u)
		if (gap_analysis_try(analysis, TEXT + at) < 0)
			return 0;
	if (gap_analysis_complete(analysis) < 0 || gap_analysis_rows(analysis, &rows, &count) < 0)
		return 0;
	assert(count > 0 && rows[0].start == TEXT);
	for (size_t i = 1; i < count; i++)
		assert(rows[i].start > rows[i - 1].start && rows[i].start - TEXT < code.bytes.size);
	return 0;
}
