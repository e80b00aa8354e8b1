/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section is read once, from its start. CIEs are appended in that order, so their list is
 * sorted by offset; an FDE whose CIE does not precede it is left out. So the time is linear in the
 * size of the section, apart from sorting, for damaged files too.
 */

#include "symbolizer/symbols/elf/nameless_functions.h"

#include <elf.h>
#include <stdlib.h>

#include "common/elf/eh_frame_entry.h"
#include "common/search.h"
#include "symbolizer/symbols/symbol_limits.h"

struct cie {
	size_t offset; /* in the section */
	struct eh_frame_cie header;
};

VEC_DEFINE(cie_vec, struct cie);

struct reading {
	const struct code_section_vec *code;
	uint64_t section_elf_addr;
	struct cie_vec cies;
	size_t last_cie; /* found last; most FDEs use the CIE of the FDE before */
	struct nameless_vec *functions;
};

/* Absolute and pc-relative pointers only: other bases need addresses outside of the section. */
static bool is_readable(const struct eh_frame_cie *header)
{
	const uint8_t base = header->address_encoding & EH_PE_BASE_MASK;

	return base == 0 || base == EH_PE_PCREL;
}

static int add_cie(struct reading *reading, size_t offset, struct bytes_reader *cursor)
{
	struct cie cie = { .offset = offset };

	if (reading->cies.count == CIES_MAX || eh_frame_cie_read(cursor, &cie.header) < 0 ||
	    !is_readable(&cie.header))
		return 0;
	return vec_push(&reading->cies, cie);
}

static const struct cie *find_cie(struct reading *reading, size_t offset)
{
	const struct cie *cies = reading->cies.items;
	const size_t count = reading->cies.count;
	size_t low;

	if (reading->last_cie < count && cies[reading->last_cie].offset == offset)
		return &cies[reading->last_cie];
	low = lower_bound(at, count, cies[at].offset < offset);
	if (low == count || cies[low].offset != offset)
		return NULL;
	reading->last_cie = low;
	return &cies[low];
}

static int add_function(struct reading *reading, const struct eh_frame_range *range)
{
	const struct code_section *section = code_section_at(reading->code, range->start);

	if (range->start == range->end || !section || range->end > section->end)
		return 0;
	if (reading->functions->count >= SYMBOLS_MAX)
		return -EFBIG;
	return vec_push(reading->functions, (struct nameless_function){ range->start, range->end });
}

/* @entry: the bytes of one entry, which begins at @offset of the section. */
static int read_entry(struct reading *reading, struct bytes_view entry,
		      const struct eh_frame_entry *measured, size_t offset)
{
	static const struct eh_pointer_bases none = {};
	struct bytes_reader cursor = bytes_reader_of(entry);
	struct eh_frame_range range;
	const struct cie *cie;
	uint64_t field_elf_addr;
	uint64_t id;

	(void)cursor_take(&cursor, measured->id_at);
	id = cursor_fixed(&cursor, measured->id_size);
	if (cursor.error < 0)
		return 0;
	if (eh_frame_id_is_cie(id, measured->id_size, false))
		return add_cie(reading, offset, &cursor);
	if (id > offset + measured->id_at)
		return 0;
	cie = find_cie(reading, offset + measured->id_at - (size_t)id);
	field_elf_addr = reading->section_elf_addr + offset + measured->id_at + measured->id_size;
	if (!cie || eh_frame_fde_read(&cursor, &cie->header, field_elf_addr, &none, &range) < 0)
		return 0;
	return add_function(reading, &range);
}

static int read_entries(struct reading *reading, struct bytes_view section)
{
	size_t at = 0;

	while (at < section.size) {
		struct bytes_view rest = { section.data + at, section.size - at };
		struct eh_frame_entry entry;
		int r = 0;

		if (!eh_frame_entry_measure(rest, false, &entry) || entry.size > rest.size)
			break;
		rest.size = (size_t)entry.size;
		/* A length of zero ends the entries of one object file; more may follow. */
		if (entry.size > entry.id_at)
			r = read_entry(reading, rest, &entry, at);
		if (r < 0)
			return r;
		at += (size_t)entry.size;
	}
	return 0;
}

static int compare_functions(const void *left, const void *right)
{
	const struct nameless_function *a = left;
	const struct nameless_function *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

/* Sorts; keeps the longest range of each start, and ends it at the start of the next one. */
static void sort_and_separate(struct nameless_vec *functions)
{
	size_t kept = 0;

	if (functions->count > 0)
		qsort(functions->items, functions->count, sizeof(*functions->items),
		      compare_functions);
	for (size_t i = 0; i < functions->count; i++) {
		const struct nameless_function next = functions->items[i];
		struct nameless_function *last = kept > 0 ? &functions->items[kept - 1] : NULL;

		if (last && last->start == next.start)
			kept--;
		else if (last)
			last->end = MIN(last->end, next.start);
		functions->items[kept++] = next;
	}
	functions->count = kept;
}

int nameless_functions_read(struct elf_image *image, const struct code_section_vec *code,
			    struct nameless_vec *functions)
{
	struct elf_image_section *section = elf_image_section(image, ".eh_frame");
	struct reading reading = { .code = code, .functions = functions };
	struct bytes_view content;
	int r;

	if (!image->is_64 || image->relocatable || !section)
		return 0;
	r = elf_image_data(image, section, &content);
	if (r < 0)
		return r;
	reading.section_elf_addr = section->elf_addr;
	r = read_entries(&reading, content);
	vec_release(&reading.cies);
	sort_and_separate(functions);
	return r;
}
