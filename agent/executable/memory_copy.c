/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/memory_copy.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "common/file.h"

/*
 * Of a large range, 16 KiB are compared, including the first and the last bytes. Different code
 * differs nearly everywhere, so one piece would be enough to tell two files apart; many pieces also
 * reject a range that was copied only in part.
 */
#define N_PIECES    64
#define PIECE_BYTES ((uint64_t)256)

static bool is_equal(uint32_t pid, uint64_t address, int fd, uint64_t file_offset, size_t size)
{
	uint8_t in_memory[PIECE_BYTES], in_file[PIECE_BYTES];
	struct iovec local = { .iov_base = in_memory, .iov_len = size };
	struct iovec remote = {
		.iov_base = (void *)(uintptr_t)address, /* of the other process */
		.iov_len = size,
	};

	return process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) == (ssize_t)size &&
	       pread_all(fd, in_file, size, file_offset) == 0 &&
	       memcmp(in_memory, in_file, size) == 0;
}

bool memory_is_copy(uint32_t pid, uint64_t start, uint64_t end, int fd, uint64_t file_offset)
{
	struct stat status;
	uint64_t size, last, step;

	if (fstat(fd, &status) < 0 || start >= end || file_offset >= (uint64_t)status.st_size)
		return false;
	size = MIN(end - start, (uint64_t)status.st_size - file_offset);
	last = size - MIN(size, PIECE_BYTES);
	step = MAX(last / (N_PIECES - 1), PIECE_BYTES);
	for (uint64_t at = 0; at < last; at += step) {
		if (!is_equal(pid, start + at, fd, file_offset + at, PIECE_BYTES))
			return false;
	}
	return is_equal(pid, start + last, fd, file_offset + last, size - last);
}
