/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LSB 10.6.2: the section begins with a version, three encodings, the address of .eh_frame, and the
 * number of rows. A row has two words: the address of a function, and that of its FDE.
 */
#include "agent/interpreter/python/cfi_functions.h"
#include "common/search.h"

#include <string.h>

/* .eh_frame_hdr of a program with 256 Ki functions. */
#define MAX_HEADER_BYTES (2 * MIB)

#define HEADER_BYTES 12
#define ROW_BYTES    8

/* The encodings that linkers write: relative to the section, 4 bytes with sign. */
#define ROW_ENCODING   0x3b
#define COUNT_ENCODING 0x03

static int32_t word_of(const struct bytes *bytes, size_t offset)
{
	int32_t word;

	memcpy(&word, bytes->data + offset, sizeof(word));
	return word;
}

static bool count_rows(const struct bytes *header, size_t *ret_count)
{
	if (header->size < HEADER_BYTES || header->data[2] != COUNT_ENCODING ||
	    header->data[3] != ROW_ENCODING)
		return false;
	*ret_count = (uint32_t)word_of(header, 8);
	return *ret_count <= (header->size - HEADER_BYTES) / ROW_BYTES;
}

int cfi_functions_read(const struct elf_file *elf, struct cfi_functions *ret_functions)
{
	const struct elf_section *section = elf_file_section(elf, ".eh_frame_hdr");
	scoped(bytes_release) struct bytes header = BYTES_INIT(MAX_HEADER_BYTES);
	size_t count;
	int r;

	if (!section || section->size > MAX_HEADER_BYTES)
		return 0;
	r = elf_file_read_section(elf, section, &header);
	if (r < 0)
		return r;
	if (!count_rows(&header, &count))
		return 0;
	*ret_functions = (struct cfi_functions){
		.header = header,
		.vaddr = section->vaddr,
		.count = count,
	};
	header = BYTES_INIT(0);
	return 1;
}

void cfi_functions_release(struct cfi_functions *functions)
{
	bytes_release(&functions->header);
}

uint64_t cfi_functions_start(const struct cfi_functions *functions, size_t index)
{
	return functions->vaddr +
	       (uint64_t)(int64_t)word_of(&functions->header, HEADER_BYTES + index * ROW_BYTES);
}

size_t cfi_functions_find(const struct cfi_functions *functions, uint64_t vaddr)
{
	const size_t low =
		lower_bound(at, functions->count, cfi_functions_start(functions, at) <= vaddr);

	return low == 0 ? functions->count : low - 1;
}

int cfi_functions_range(const struct cfi_functions *functions, size_t index,
			struct abi_code_range *ret_range)
{
	if (index >= functions->count || functions->count - index < 2)
		return 0;
	ret_range->start = cfi_functions_start(functions, index);
	ret_range->end = cfi_functions_start(functions, index + 1);
	return ret_range->end > ret_range->start;
}
