/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/file/elf_code.h"

#include <elf.h>

#include "common/file.h"

const struct load_segment *elf_segment_at(const struct elf_file *elf, uint64_t vaddr,
					  uint32_t flags)
{
	for (size_t i = 0; i < elf->n_load_segments; i++) {
		const struct load_segment *segment = &elf->load_segments[i];

		if ((segment->flags & flags) == flags && vaddr >= segment->vaddr &&
		    vaddr - segment->vaddr < segment->file_size)
			return segment;
	}
	return NULL;
}

ssize_t elf_code_read(const struct elf_file *elf, uint64_t vaddr, void *buffer, size_t size)
{
	const struct load_segment *segment = elf_segment_at(elf, vaddr, PF_X);
	uint64_t offset;
	int r;

	if (!segment)
		return 0;
	offset = vaddr - segment->vaddr;
	size = (size_t)MIN((uint64_t)size, segment->file_size - offset);
	r = pread_all(elf->fd, buffer, size, segment->file_offset + offset);
	return r < 0 ? r : (ssize_t)size;
}
