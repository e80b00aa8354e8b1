/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_upload */
#include <sys/mman.h>

#include "agent/upload/elf_extract.h"
#include "common/file.h"

/* An extract is no larger than the file and its headers, and reads to its end or says why not. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (uint32_t what = EXTRACT_SYMBOLS; what <= EXTRACT_DEBUG; what++) {
		scoped_fd int fd = memfd_create("fuzz", MFD_CLOEXEC);
		scoped(elf_extract_freep) struct elf_extract *extract = NULL;
		uint8_t piece[1000];
		uint64_t left;

		if (fd < 0 || write_all(fd, data, size) < 0 ||
		    elf_extract_new(fd, what, &extract) < 0)
			return 0;
		left = elf_extract_size(extract);
		assert(left <= 8 * size + 64 * KIB);
		while (left > 0) {
			size_t n = (size_t)MIN(left, sizeof(piece));

			if (elf_extract_read(extract, piece, n) < 0)
				break;
			left -= n;
		}
	}
	return 0;
}
