/* SPDX-License-Identifier: Apache-2.0 */
#include "common/pieced_file.h"

#include <string.h>
#include <sys/stat.h>

#include "common/file.h"

#define MAGIC UINT64_C(0x3153454345495048) /* "HPIECES1" */

struct pieced_header {
	uint64_t magic;
	uint64_t size; /* sum of all ranges */
	uint64_t n_ranges;
};

static uint64_t bytes_offset(uint64_t n_ranges)
{
	return sizeof(struct pieced_header) + n_ranges * sizeof(struct pieced_range);
}

int pieced_file_write(int fd, const struct pieced_range *ranges, size_t n_ranges, const void *bytes,
		      size_t n_bytes)
{
	struct pieced_header header = { .magic = MAGIC, .n_ranges = n_ranges };
	int r;

	for (size_t i = 0; i < n_ranges; i++)
		header.size += ranges[i].size;
	r = write_all(fd, &header, sizeof(header));
	if (r < 0)
		return r;
	for (size_t i = 0; i < n_ranges; i++) {
		struct pieced_range range = ranges[i];

		if (!range.of_source)
			range.offset += bytes_offset(n_ranges);
		r = write_all(fd, &range, sizeof(range));
		if (r < 0)
			return r;
	}
	return write_all(fd, bytes, n_bytes);
}

static int size_of(int fd, uint64_t *ret_size)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	*ret_size = (uint64_t)MAX(status.st_size, (off_t)0);
	return 0;
}

int pieced_file_open(int fd, int source_fd, struct pieced_file *ret_file)
{
	struct pieced_header header;
	uint64_t own_size = 0, source_size = 0;
	int r;

	r = size_of(fd, &own_size);
	if (r < 0)
		return r;
	r = size_of(source_fd, &source_size);
	if (r < 0)
		return r;
	r = pread_all(fd, &header, sizeof(header), 0);
	if (r < 0)
		return r == -ENODATA ? -EBADMSG : r;
	if (header.magic != MAGIC || header.n_ranges > own_size / sizeof(struct pieced_range) ||
	    header.size > own_size + source_size)
		return -EBADMSG;
	*ret_file = (struct pieced_file){
		.fd = fd, .source_fd = source_fd, .size = header.size, .n_ranges = header.n_ranges
	};
	return 0;
}

void pieced_file_rewind(struct pieced_file *file)
{
	file->n_begun = 0;
	file->range = (struct pieced_range){};
}

static int begin_range(struct pieced_file *file)
{
	if (file->n_begun == file->n_ranges)
		return -ENODATA;
	return pread_all(file->fd, &file->range, sizeof(file->range),
			 bytes_offset(file->n_begun++));
}

int pieced_file_read(struct pieced_file *file, void *buffer, size_t size)
{
	uint8_t *next = buffer;

	while (size > 0) {
		struct pieced_range *range = &file->range;
		size_t n = (size_t)MIN((uint64_t)size, range->size);
		int r;

		if (n == 0)
			r = begin_range(file);
		else if (range->offset > INT64_MAX - (uint64_t)n)
			r = -EBADMSG;
		else
			r = pread_all(range->of_source ? file->source_fd : file->fd, next, n,
				      range->offset);
		if (r < 0)
			return r;
		next += n;
		size -= n;
		range->offset += n;
		range->size -= n;
	}
	return 0;
}
