/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/table/symbol_layout.h"

#include "common/hash.h"

#define MEAN_RANGES_PER_PAGE 16
#define MAX_PAGE_SHIFT       20

/* Number of arrays. Their sizes are computed in the order of the layout. Counts have 32 bits and
 * text_bytes is bounded, so the sum of sizes cannot overflow. */
#define N_ARRAYS 9

static void array_sizes(const struct symbol_header *header, uint64_t sizes[N_ARRAYS])
{
	sizes[0] = header->n_segments * (uint64_t)sizeof(struct symbol_segment);
	sizes[1] = (header->n_pages + UINT64_C(1)) * sizeof(uint32_t);
	sizes[2] = header->n_ranges * (uint64_t)sizeof(uint32_t);
	sizes[3] = sizes[2];
	sizes[4] = header->n_locations * (uint64_t)sizeof(struct symbol_location);
	sizes[5] = header->n_functions * (uint64_t)sizeof(struct symbol_function);
	sizes[6] = header->n_paths * (uint64_t)sizeof(uint32_t);
	sizes[7] = header->n_nameless * (uint64_t)sizeof(struct symbol_nameless);
	sizes[8] = MIN(header->text_bytes, UINT64_C(1) << 40);
}

uint64_t symbol_layout_bytes(const struct symbol_header *header)
{
	uint64_t sizes[N_ARRAYS];
	uint64_t total = sizeof(*header);

	array_sizes(header, sizes);
	for (size_t i = 0; i < N_ARRAYS; i++)
		total += ROUND_UP(sizes[i], 8);
	return total;
}

void symbol_layout_arrays(const struct symbol_header *header, const void *flat,
			  struct symbol_arrays *ret_arrays)
{
	uint64_t sizes[N_ARRAYS];
	const void *starts[N_ARRAYS];
	const uint8_t *next = (const uint8_t *)flat + sizeof(*header);

	array_sizes(header, sizes);
	for (size_t i = 0; i < N_ARRAYS; i++) {
		starts[i] = next;
		next += ROUND_UP(sizes[i], 8);
	}
	*ret_arrays = (struct symbol_arrays){
		.segments = starts[0],
		.pages = starts[1],
		.starts = starts[2],
		.location_of = starts[3],
		.locations = starts[4],
		.functions = starts[5],
		.paths = starts[6],
		.nameless = starts[7],
		.texts = starts[8],
	};
}

uint64_t symbol_layout_checksum(struct bytes_view flat)
{
	return hash64_of(flat.data + SYMBOL_CHECKED_FROM, flat.size - SYMBOL_CHECKED_FROM);
}

uint32_t symbol_layout_page_shift(uint32_t last_start, uint32_t n_ranges)
{
	uint32_t shift = 4;

	while (shift < MAX_PAGE_SHIFT && last_start >> shift > n_ranges / MEAN_RANGES_PER_PAGE)
		shift++;
	return shift;
}

void symbol_layout_fill_pages(const uint32_t *starts, uint32_t n_ranges, uint32_t page_shift,
			      uint32_t n_pages, uint32_t *ret_pages)
{
	uint32_t range = 0;

	for (uint32_t page = 0; page < n_pages; page++) {
		while (range < n_ranges && starts[range] < (uint64_t)page << page_shift)
			range++;
		ret_pages[page] = range;
	}
	ret_pages[n_pages] = n_ranges;
}
