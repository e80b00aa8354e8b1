/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>

#include "common/file.h"
#include "common/pieced_file.h"
#include "common/scoped.h"

/*
 * The first half of the input is the source, the second half the ranges from a hostile writer.
 * Reading ends within the checked size.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_fd int source_fd = memfd_create("source", MFD_CLOEXEC);
	scoped_fd int fd = memfd_create("pieces", MFD_CLOEXEC);
	struct pieced_file file;
	uint8_t piece[100];
	uint64_t left;

	if (source_fd < 0 || fd < 0 || write_all(source_fd, data, size / 2) < 0 ||
	    write_all(fd, "HPIECES1", 8) < 0 ||
	    write_all(fd, data + size / 2, size - size / 2) < 0 ||
	    pieced_file_open(fd, source_fd, &file) < 0)
		return 0;
	assert(file.size <= size + 8);
	for (left = file.size; left > 0; left -= MIN(left, sizeof(piece)))
		if (pieced_file_read(&file, piece, MIN(left, sizeof(piece))) < 0)
			break;
	return 0;
}
