/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lookup reads pages, one or two cache lines of starts, location_of, and a location for each
 * frame. In a large table each of these reads is a cache miss, and each depends on the one before.
 * Lookups of different addresses are independent. So a batch of addresses takes each step together,
 * and prefetches the data of the next step.
 */

#include "symbolizer/symbols/table/symbol_file.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/search.h"
#include "symbolizer/symbols/table/symbol_layout.h"

struct symbol_file {
	const struct symbol_header *header;
	struct symbol_arrays arrays;
	struct symbol_file_info info;
	void *mapping; /* NULL: the caller's memory */
	size_t mapping_bytes;
};

/* Addresses of a batch. A core can have 12 to 48 cache misses at a time. */
#define LOOKUPS_AT_ONCE 32

/* With at most this many starts, comparing all of them is faster than a binary search. */
#define COMPARED_AT_ONCE 32

static int check_ranges(const struct symbol_header *header, const struct symbol_arrays *arrays)
{
	for (uint32_t i = 0; i < header->n_pages; i++) {
		if (arrays->pages[i] > arrays->pages[i + 1])
			return -EBADMSG;
	}
	if (arrays->pages[0] != 0 || arrays->pages[header->n_pages] != header->n_ranges)
		return -EBADMSG;
	for (uint32_t i = 0; i < header->n_ranges; i++) {
		if (i > 0 && arrays->starts[i] <= arrays->starts[i - 1])
			return -EBADMSG;
		if (arrays->location_of[i] >= header->n_locations &&
		    arrays->location_of[i] != SYMBOL_NO_LOCATION)
			return -EBADMSG;
	}
	if (header->n_ranges > 0 &&
	    (arrays->location_of[header->n_ranges - 1] != SYMBOL_NO_LOCATION ||
	     arrays->starts[header->n_ranges - 1] > UINT64_MAX - header->base))
		return -EBADMSG;
	return 0;
}

static bool is_index(uint32_t index, uint32_t count)
{
	return index < count || index == SYMBOL_NONE;
}

/*
 * Callers must precede their callees, so that chains end, and no chain may exceed SYMBOL_CHAIN_MAX.
 */
static int check_locations(const struct symbol_header *header, const struct symbol_arrays *arrays)
{
	scoped_free uint16_t *depths = calloc(header->n_locations + 1UL, sizeof(*depths));

	if (!depths)
		return -ENOMEM;
	for (uint32_t i = 0; i < header->n_locations; i++) {
		const struct symbol_location *location = &arrays->locations[i];

		if (!is_index(location->function, header->n_functions) ||
		    !is_index(location->path, header->n_paths) || !is_index(location->caller, i))
			return -EBADMSG;
		if (location->caller != SYMBOL_NONE)
			depths[i] = (uint16_t)(depths[location->caller] + 1);
		if (depths[i] >= SYMBOL_CHAIN_MAX)
			return -EBADMSG;
	}
	return 0;
}

static int check_texts(const struct symbol_header *header, const struct symbol_arrays *arrays)
{
	if (header->text_bytes == 0)
		return header->n_functions == 0 && header->n_paths == 0 ? 0 : -EBADMSG;
	if (arrays->texts[header->text_bytes - 1] != '\0')
		return -EBADMSG;
	for (uint32_t i = 0; i < header->n_functions; i++) {
		if (arrays->functions[i].display >= header->text_bytes ||
		    arrays->functions[i].linkage >= header->text_bytes)
			return -EBADMSG;
	}
	for (uint32_t i = 0; i < header->n_paths; i++) {
		if (arrays->paths[i] >= header->text_bytes)
			return -EBADMSG;
	}
	return 0;
}

static int check_nameless(const struct symbol_header *header, const struct symbol_arrays *arrays)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < header->n_nameless; i++) {
		const struct symbol_nameless *function = &arrays->nameless[i];

		if (function->start < end || function->end <= function->start)
			return -EBADMSG;
		end = function->end;
	}
	return end <= UINT64_MAX - header->base ? 0 : -EBADMSG;
}

static int check_header(const struct symbol_header *header, uint64_t size)
{
	if (memcmp(header->magic, SYMBOL_FLAT_MAGIC, sizeof(header->magic)) != 0)
		return -EBADMSG;
	if (header->version != SYMBOL_LAYOUT_VERSION)
		return -ESTALE;
	if (header->zero != 0 || header->total_bytes != size || symbol_layout_bytes(header) != size)
		return -EBADMSG;
	if (header->page_shift > 31 || header->id.kind >= EXECUTABLE_ID_KIND_END ||
	    header->id.size > sizeof(header->id.bytes))
		return -EBADMSG;
	return 0;
}

static void fill_info(struct symbol_file *file)
{
	const struct symbol_header *header = file->header;
	const uint32_t *starts = file->arrays.starts;

	file->info = (struct symbol_file_info){
		.id = header->id,
		.sources = header->sources,
		.has_text = header->has_text != 0,
		.text = header->text,
		.n_ranges = header->n_ranges,
		.n_locations = header->n_locations,
		.n_functions = header->n_functions,
		.n_nameless = header->n_nameless,
		.size_bytes = header->total_bytes,
	};
	if (header->n_ranges > 0) {
		file->info.start = header->base + starts[0];
		file->info.end = header->base + starts[header->n_ranges - 1];
	}
}

static int file_check(struct symbol_file *file, struct bytes_view flat)
{
	int r;

	if (flat.size < sizeof(struct symbol_header) || (uintptr_t)flat.data % 8 != 0)
		return -EBADMSG;
	file->header = (const struct symbol_header *)(const void *)flat.data;
	r = check_header(file->header, flat.size);
	if (r < 0)
		return r;
	if (symbol_layout_checksum(flat) != file->header->checksum)
		return -EBADMSG;

	symbol_layout_arrays(file->header, flat.data, &file->arrays);
	r = check_ranges(file->header, &file->arrays);
	if (r < 0)
		return r;
	r = check_locations(file->header, &file->arrays);
	if (r < 0)
		return r;
	r = check_texts(file->header, &file->arrays);
	if (r < 0)
		return r;
	r = check_nameless(file->header, &file->arrays);
	if (r < 0)
		return r;
	fill_info(file);
	return 0;
}

int symbol_file_open_memory(struct bytes_view flat, struct symbol_file **ret_file)
{
	scoped(symbol_file_freep) struct symbol_file *file = calloc(1, sizeof(*file));
	int r;

	if (!file)
		return -ENOMEM;
	r = file_check(file, flat);
	if (r < 0)
		return r;
	*ret_file = take_ptr(file);
	return 0;
}

int symbol_file_open(int fd, struct symbol_file **ret_file)
{
	scoped(symbol_file_freep) struct symbol_file *file = calloc(1, sizeof(*file));
	struct stat status;
	int r;

	if (!file)
		return -ENOMEM;
	if (fstat(fd, &status) < 0)
		return -errno;
	if (status.st_size <= 0)
		return -EBADMSG;

	file->mapping_bytes = (size_t)status.st_size;
	file->mapping = mmap(NULL, file->mapping_bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (file->mapping == MAP_FAILED) {
		file->mapping = NULL;
		return -errno;
	}
	r = file_check(file, (struct bytes_view){ file->mapping, file->mapping_bytes });
	if (r < 0)
		return r;
	*ret_file = take_ptr(file);
	return 0;
}

struct symbol_file *symbol_file_free(struct symbol_file *file)
{
	if (!file)
		return NULL;
	if (file->mapping)
		(void)munmap(file->mapping, file->mapping_bytes);
	free(file);
	return NULL;
}

const struct symbol_file_info *symbol_file_info(const struct symbol_file *file)
{
	return &file->info;
}

/* @low plus the number of starts[low .. high) that are at or below @offset. */
static uint32_t upper_bound(const uint32_t *starts, uint32_t low, uint32_t high, uint32_t offset)
{
	uint32_t below = 0;

	while (high - low > COMPARED_AT_ONCE) {
		uint32_t middle = low + (high - low) / 2;
		bool is_below = starts[middle] <= offset;

		low = is_below ? middle + 1 : low;
		high = is_below ? high : middle;
	}
	for (uint32_t i = low; i < high; i++)
		below += starts[i] <= offset;
	return low + below;
}

/* State of one address. */
struct lookup {
	uint32_t offset;
	uint32_t low; /* first the page, then the first range that starts in it, then the result */
	uint32_t high;
};

/* Prefetches what symbol_file_frame() will read of the locations. */
static void prefetch_frames(const struct symbol_arrays *arrays, const uint32_t *locations,
			    size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct symbol_location *location;

		if (locations[i] == SYMBOL_NO_LOCATION)
			continue;
		location = &arrays->locations[locations[i]];
		if (location->caller != SYMBOL_NONE)
			__builtin_prefetch(&arrays->locations[location->caller]);
		if (location->function != SYMBOL_NONE)
			__builtin_prefetch(&arrays->functions[location->function]);
	}
}

static void find_some(const struct symbol_file *file, const uint64_t *elf_addrs, size_t count,
		      uint32_t *ret_locations)
{
	const struct symbol_header *header = file->header;
	const struct symbol_arrays *arrays = &file->arrays;
	struct lookup lookups[LOOKUPS_AT_ONCE];

	for (size_t i = 0; i < count; i++) {
		uint64_t offset = elf_addrs[i] - header->base;
		uint64_t page = offset >> header->page_shift;
		/* An address beyond the last page gets the last range, which is a gap. */
		bool is_outside = page >= header->n_pages;

		lookups[i].offset = (uint32_t)offset;
		lookups[i].low = is_outside ? header->n_pages : (uint32_t)page;
		__builtin_prefetch(&arrays->pages[lookups[i].low]);
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t page = lookups[i].low;

		lookups[i].low = arrays->pages[page];
		lookups[i].high = page < header->n_pages ? arrays->pages[page + 1] : lookups[i].low;
		__builtin_prefetch(&arrays->starts[lookups[i].low]);
		__builtin_prefetch(&arrays->starts[lookups[i].low] + 15);
	}
	for (size_t i = 0; i < count; i++) {
		lookups[i].low = upper_bound(arrays->starts, lookups[i].low, lookups[i].high,
					     lookups[i].offset);
		/* low is 0 for an address below the first range, which has no location. */
		__builtin_prefetch(&arrays->location_of[lookups[i].low]);
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t above = lookups[i].low;

		ret_locations[i] = above > 0 ? arrays->location_of[above - 1] : SYMBOL_NO_LOCATION;
		if (ret_locations[i] != SYMBOL_NO_LOCATION)
			__builtin_prefetch(&arrays->locations[ret_locations[i]]);
	}
	prefetch_frames(arrays, ret_locations, count);
}

void symbol_file_find(const struct symbol_file *file, const uint64_t *elf_addrs, size_t count,
		      uint32_t *ret_locations)
{
	for (size_t i = 0; i < count; i += LOOKUPS_AT_ONCE)
		find_some(file, elf_addrs + i, MIN(count - i, (size_t)LOOKUPS_AT_ONCE),
			  ret_locations + i);
}

uint32_t symbol_file_frame(const struct symbol_file *file, uint32_t location,
			   struct symbol_frame *ret_frame)
{
	const struct symbol_arrays *arrays = &file->arrays;
	const struct symbol_location *found;

	assert(location < file->header->n_locations);
	found = &arrays->locations[location];
	*ret_frame = (struct symbol_frame){ .line = found->line };
	if (found->function != SYMBOL_NONE) {
		const struct symbol_function *function = &arrays->functions[found->function];

		ret_frame->function = arrays->texts + function->display;
		ret_frame->linkage_name = arrays->texts + function->linkage;
		ret_frame->first_line = function->first_line;
	}
	if (found->path != SYMBOL_NONE)
		ret_frame->path = arrays->texts + arrays->paths[found->path];
	return found->caller;
}

void symbol_file_range(const struct symbol_file *file, uint32_t index,
		       struct symbol_range *ret_range)
{
	const struct symbol_header *header = file->header;
	const uint32_t *starts = file->arrays.starts;
	bool is_last = index + 1 == header->n_ranges;

	assert(index < header->n_ranges);
	*ret_range = (struct symbol_range){
		.start = header->base + starts[index],
		.end = header->base + starts[is_last ? index : index + 1],
		.location = file->arrays.location_of[index],
	};
}

int symbol_file_nameless(const struct symbol_file *file, uint64_t elf_addr,
			 struct symbol_range *ret_range)
{
	const struct symbol_nameless *nameless = file->arrays.nameless;
	const uint64_t base = file->header->base;
	const uint64_t offset = elf_addr - base;
	const size_t low = lower_bound(at, file->header->n_nameless, nameless[at].start <= offset);

	if (low == 0 || offset >= nameless[low - 1].end)
		return 0;
	*ret_range = (struct symbol_range){
		.start = base + nameless[low - 1].start,
		.end = base + nameless[low - 1].end,
		.location = SYMBOL_NO_LOCATION,
	};
	return 1;
}

/* Returns the function of the chain of @location that has the name, or SYMBOL_NONE. */
static uint32_t find_function(const struct symbol_arrays *arrays, uint32_t location,
			      const char *name)
{
	while (location != SYMBOL_NO_LOCATION) {
		const uint32_t function = arrays->locations[location].function;

		if (function != SYMBOL_NONE &&
		    (strcmp(arrays->texts + arrays->functions[function].display, name) == 0 ||
		     strcmp(arrays->texts + arrays->functions[function].linkage, name) == 0))
			return function;
		location = arrays->locations[location].caller;
	}
	return SYMBOL_NONE;
}

static bool has_function(const struct symbol_arrays *arrays, uint32_t location, uint32_t function)
{
	while (location != SYMBOL_NO_LOCATION && arrays->locations[location].function != function)
		location = arrays->locations[location].caller;
	return location != SYMBOL_NO_LOCATION;
}

int symbol_file_code_around(const struct symbol_file *file, uint64_t elf_addr, const char *function,
			    struct symbol_range *ret_range)
{
	const struct symbol_arrays *arrays = &file->arrays;
	const uint64_t offset = elf_addr - file->header->base;
	uint32_t first, last, found;
	struct symbol_range range;

	if (offset > UINT32_MAX || file->header->n_ranges == 0)
		return 0;
	first = upper_bound(arrays->starts, 0, file->header->n_ranges, (uint32_t)offset);
	if (first == 0)
		return 0;
	last = --first;
	found = find_function(arrays, arrays->location_of[first], function);
	if (found == SYMBOL_NONE)
		return 0;
	range.location = arrays->location_of[first];
	while (first > 0 && has_function(arrays, arrays->location_of[first - 1], found))
		first--;
	/* The last range is a gap. */
	while (has_function(arrays, arrays->location_of[last], found))
		last++;
	range.start = file->header->base + arrays->starts[first];
	range.end = file->header->base + arrays->starts[last];
	*ret_range = range;
	return 1;
}
