/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_code/gap_rows.h"

#include <stdlib.h>

#include "agent/unwind/x86_code/cfi_gaps.h"
#include "agent/unwind/x86_code/function_starts.h"
#include "agent/unwind/x86_code/gap_analysis.h"
#include "common/file.h"
#include "common/scoped.h"
#include "common/search.h"

struct gap_rows {
	struct unwind_builder *builder;
	const struct elf_file *elf;
	struct cfi_gap_vec gaps;
	struct code_address_vec starts;
	struct gap_analysis *code;
};

int gap_rows_are_needed(const struct elf_file *elf)
{
	struct cfi_gap_vec gaps = {};
	int r = cfi_gaps_find(elf, &gaps);

	vec_release(&gaps);
	return r;
}

/* The index of the first start that is not before @address. */
static size_t start_from(const struct gap_rows *gap, uint64_t address)
{
	return lower_bound(at, gap->starts.count, gap->starts.items[at] < address);
}

/* A gap that is longer than a range is cut at a function. */
static uint64_t end_of_piece(const struct gap_rows *gap, const struct cfi_gap *whole,
			     uint64_t start)
{
	uint64_t end = start + GAP_ANALYSIS_MAX_BYTES;
	size_t after;

	if (whole->end - start <= GAP_ANALYSIS_MAX_BYTES)
		return whole->end;
	after = start_from(gap, end);
	if (after > 0 && gap->starts.items[after - 1] > start + GAP_ANALYSIS_MAX_BYTES / 2)
		end = gap->starts.items[after - 1];
	return end;
}

static bool has_rules(const struct unwind_builder_row *rows, size_t count)
{
	return count > 1 || (count == 1 && rows[0].rule.cfa != UNWIND_CFA_NONE);
}

static int add_piece(struct gap_rows *gap, const struct code_range *range)
{
	uint64_t end = range->vaddr + range->bytes.size;
	const struct unwind_builder_row *rows;
	size_t count;
	int r = gap_analysis_begin(gap->code, range);

	for (size_t i = start_from(gap, range->vaddr); r >= 0 && i < gap->starts.count; i++) {
		if (gap->starts.items[i] >= end)
			break;
		r = gap_analysis_try(gap->code, gap->starts.items[i]);
	}
	if (r < 0)
		return r;
	r = gap_analysis_complete(gap->code);
	if (r < 0)
		return r;
	r = gap_analysis_rows(gap->code, &rows, &count);
	if (r < 0 || !has_rules(rows, count))
		return r;
	return unwind_builder_add_rows(gap->builder, rows, count, end);
}

static int add_gap(struct gap_rows *gap, const struct cfi_gap *whole)
{
	size_t capacity = (size_t)MIN(whole->end - whole->start, (uint64_t)GAP_ANALYSIS_MAX_BYTES);
	scoped_free uint8_t *bytes = malloc(capacity);
	uint64_t start = whole->start;
	int r = bytes ? 0 : -ENOMEM;

	while (r == 0 && start < whole->end) {
		uint64_t end = end_of_piece(gap, whole, start);
		const struct code_range range = { .bytes = { bytes, (size_t)(end - start) },
						  .vaddr = start };

		r = pread_all(gap->elf->fd, bytes, range.bytes.size,
			      whole->file_offset + (start - whole->start));
		if (r == 0)
			r = add_piece(gap, &range);
		start = end;
	}
	return r;
}

static int add_gaps(struct gap_rows *gap)
{
	int r = cfi_gaps_find(gap->elf, &gap->gaps);

	if (r <= 0)
		return r;
	r = function_starts_find(gap->elf, &gap->gaps, &gap->starts);
	if (r < 0)
		return r;
	r = gap_analysis_new(&gap->code);
	for (size_t i = 0; r == 0 && i < gap->gaps.count; i++)
		r = add_gap(gap, &gap->gaps.items[i]);
	return r < 0 ? r : 1;
}

int gap_rows_add(const struct elf_file *elf, struct unwind_builder *builder)
{
	struct gap_rows gap = { .elf = elf, .builder = builder };
	int r = add_gaps(&gap);

	(void)gap_analysis_free(gap.code);
	vec_release(&gap.gaps);
	vec_release(&gap.starts);
	return r;
}
