/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_executable */
#include <sys/mman.h>

#include "agent/executable/elf_extract.h"
#include "common/file.h"
#include "common/pieced_file.h"
#include "common/scoped.h"

/* Checks that the extract has a bounded size, and that reading it ends or fails. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (uint32_t what = EXTRACT_SYMBOLS; what <= EXTRACT_DEBUG; what++) {
		scoped_fd int fd = memfd_create("fuzz", MFD_CLOEXEC);
		scoped_fd int out_fd = memfd_create("extract", MFD_CLOEXEC);
		struct pieced_file extract;
		uint8_t piece[1000];
		uint64_t left;
		int r;

		if (fd < 0 || out_fd < 0 || write_all(fd, data, size) < 0 ||
		    elf_extract_write(fd, what, out_fd) < 0)
			return 0;
		r = pieced_file_open(out_fd, fd, &extract);
		assert(r == 0);
		assert(extract.size <= 8 * size + 64 * KIB);
		for (left = extract.size; left > 0; left -= MIN(left, sizeof(piece)))
			if (pieced_file_read(&extract, piece, MIN(left, sizeof(piece))) < 0)
				break;
	}
	return 0;
}
