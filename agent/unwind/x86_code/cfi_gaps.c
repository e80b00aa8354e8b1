/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_code/cfi_gaps.h"

#include <elf.h>
#include <stdlib.h>

#include "agent/unwind/cfi/eh_frame_file.h"
#include "common/scoped.h"
#include "common/search.h"

/*
 * Padding between functions is shorter, and so are the rests that the linker leaves when it merges
 * sections.
 */
#define MIN_GAP_BYTES 64

/*
 * Files with less are not searched. The compiler's runtime adds 200 bytes to each library, which
 * crt_rows.c analyzes.
 */
#define MIN_ALL_GAPS_BYTES 1024

/* libx265 has 12 MiB. */
#define MAX_ALL_GAPS_BYTES (16 * MIB)

#define MAX_GAPS 8192

/*
 * Files with more code are not searched, because the search for pointers to functions reads all
 * code. Browsers have three times as much.
 */
#define MAX_CODE_BYTES (64 * MIB)

/*
 * Maximum number of runs of code with FDEs. A run ends at a gap, or where FDEs are not in the order
 * of addresses.
 */
#define MAX_RUNS (1u << 20)

struct run {
	uint64_t start, end;
};

VEC_DEFINE(run_vec, struct run);

bool cfi_gaps_section_is_code(const struct elf_file *elf, const struct elf_section *section)
{
	return section->type == SHT_PROGBITS && section->flags & SHF_EXECINSTR &&
	       section->file_offset <= elf->file_size &&
	       section->size <= elf->file_size - section->file_offset &&
	       section->vaddr <= UINT64_MAX - section->size;
}

static uint64_t code_bytes(const struct elf_file *elf)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < elf->n_sections; i++)
		if (cfi_gaps_section_is_code(elf, &elf->sections[i]))
			bytes += elf->sections[i].size;
	return bytes;
}

/* Most FDEs continue the run of the previous FDE. */
static int add_fde(void *argument, const struct eh_frame_fde *fde)
{
	struct run_vec *runs = argument;
	struct run *last = runs->count > 0 ? &runs->items[runs->count - 1] : NULL;
	struct run run = { fde->program.start, fde->program.end };

	if (last && run.start >= last->start &&
	    (run.start <= last->end || run.start - last->end < MIN_GAP_BYTES)) {
		last->end = MAX(last->end, run.end);
		return 0;
	}
	if (runs->count == MAX_RUNS)
		return -E2BIG;
	return vec_push(runs, run);
}

static int compare_runs(const void *left, const void *right)
{
	const struct run *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->end > b->end) - (a->end < b->end);
}

static int add_gap(const struct elf_section *section, uint64_t start, uint64_t end,
		   struct cfi_gap_vec *gaps)
{
	if (end <= start || end - start < MIN_GAP_BYTES || gaps->count == MAX_GAPS)
		return 0;
	return vec_push(gaps, (struct cfi_gap){ start, end,
						section->file_offset + (start - section->vaddr) });
}

static int add_gaps_of(const struct elf_section *section, const struct run_vec *runs,
		       struct cfi_gap_vec *gaps)
{
	uint64_t end = section->vaddr + section->size;
	uint64_t position = section->vaddr;
	int r = 0;

	for (size_t i = 0; r == 0 && i < runs->count && runs->items[i].start < end; i++) {
		r = add_gap(section, position, runs->items[i].start, gaps);
		position = MAX(position, runs->items[i].end);
	}
	return r == 0 ? add_gap(section, position, end, gaps) : r;
}

static int compare_gaps(const void *left, const void *right)
{
	const struct cfi_gap *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

/* Removes gaps that overlap, as sections of a damaged file may. Returns how many bytes are left. */
static uint64_t keep_disjoint(struct cfi_gap_vec *gaps)
{
	uint64_t bytes = 0;
	size_t count = 0;

	if (gaps->count > 1)
		qsort(gaps->items, gaps->count, sizeof(*gaps->items), compare_gaps);
	for (size_t i = 0; i < gaps->count; i++) {
		const struct cfi_gap gap = gaps->items[i];

		if ((count > 0 && gap.start < gaps->items[count - 1].end) ||
		    bytes + (gap.end - gap.start) > MAX_ALL_GAPS_BYTES)
			continue;
		bytes += gap.end - gap.start;
		gaps->items[count++] = gap;
	}
	gaps->count = count;
	return bytes;
}

int cfi_gaps_find(const struct elf_file *elf, struct cfi_gap_vec *gaps)
{
	struct run_vec runs = {};
	const struct eh_frame_visit visit = { .on_fde = add_fde, .argument = &runs };
	int r = 0;

	if (elf->machine != EM_X86_64 || code_bytes(elf) > MAX_CODE_BYTES)
		return 0;
	r = eh_frame_file_each(elf, ".eh_frame", false, &visit);
	if (runs.count > 1)
		qsort(runs.items, runs.count, sizeof(*runs.items), compare_runs);
	for (size_t i = 0; r > 0 && i < elf->n_sections; i++) {
		int added = 0;

		if (cfi_gaps_section_is_code(elf, &elf->sections[i]))
			added = add_gaps_of(&elf->sections[i], &runs, gaps);
		if (added < 0)
			r = added;
	}
	vec_release(&runs);
	if (r <= 0 || keep_disjoint(gaps) < MIN_ALL_GAPS_BYTES) {
		vec_clear(gaps);
		return r == -E2BIG ? 0 : MIN(r, 0);
	}
	return 1;
}

bool cfi_gaps_contain(const struct cfi_gap_vec *gaps, uint64_t address)
{
	const size_t low = lower_bound(at, gaps->count, gaps->items[at].start <= address);

	return low > 0 && address < gaps->items[low - 1].end;
}
