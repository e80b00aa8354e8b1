/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on an executable that do not need the cache: opening its file again and converting
 * addresses.
 */
#include "agent/executable/executable.h"

#include <elf.h>
#include <string.h>

#include "agent/executable/executable_file.h"
#include "agent/executable/file_finder.h"
#include "common/scoped.h"

static bool is_this_executable(int fd, const struct executable *executable)
{
	struct file_identity identity = {};
	bool same;

	if (file_identity_read(fd, &identity) != 1)
		return false;
	/*
	 * Compare the hash of the content, not the ID: after a build-ID conflict, the executable's
	 * ID is a hash of its code, but the file's note still has the build-ID.
	 */
	same = hash128_equal(&identity.content, &executable->content);
	file_identity_release(&identity);
	return same;
}

/*
 * Returns @fd if it is a file of the executable. Otherwise closes @fd and returns -ENOENT. A
 * negative @fd is returned unchanged.
 */
static int close_unless_same(int fd, const struct executable *executable)
{
	if (fd < 0)
		return fd;
	if (is_this_executable(fd, executable))
		return fd;
	(void)close(fd);
	return -ENOENT;
}

struct executable_source executable_source_of(const struct executable *executable)
{
	return (struct executable_source){
		.role = executable->role,
		.pid = executable->source_pid,
		.start = executable->source_start,
		.end = executable->source_end,
		.path = executable->source_path,
	};
}

int executable_open(const struct executable *executable)
{
	struct executable_source source = executable_source_of(executable);

	for (unsigned int way = 0; way < EXECUTABLE_SOURCE_WAYS; way++) {
		int fd = close_unless_same(file_finder_open_source(&source, way), executable);

		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

/*
 * The file offset from which the loader maps @segment. The offset is rounded down to a page
 * boundary like the address: within a page, both are equal.
 */
static uint64_t mapped_offset(const struct load_segment *segment, uint64_t page_bytes)
{
	return segment->file_offset - (segment->vaddr & (page_bytes - 1));
}

/*
 * The last page of one segment and the first page of the next may be the same page of the file.
 * Therefore a mapping that begins exactly at a segment's first page belongs to that segment, and
 * executable segments are preferred because callers ask for code.
 */
static unsigned int match_quality(const struct load_segment *segment, uint64_t file_offset,
				  uint64_t page_bytes)
{
	uint64_t first = mapped_offset(segment, page_bytes);
	uint64_t end = segment->file_offset + segment->file_size;
	unsigned int quality = 1;

	if (file_offset < first || file_offset >= end)
		return 0;
	if (file_offset == first)
		quality += 1;
	if (segment->flags & PF_X)
		quality += 2;
	return quality;
}

int executable_load_bias(const struct executable *executable, uint64_t start, uint64_t file_offset,
			 uint64_t *ret_bias)
{
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct load_segment *best = NULL;
	unsigned int best_quality = 0;

	for (size_t i = 0; i < executable->n_segments; i++) {
		const struct load_segment *segment = &executable->segments[i];
		unsigned int quality = match_quality(segment, file_offset, page_bytes);

		if (quality > best_quality) {
			best = segment;
			best_quality = quality;
		}
	}
	if (!best)
		return 0;
	*ret_bias = start - (best->vaddr + (file_offset - best->file_offset));
	return 1;
}
