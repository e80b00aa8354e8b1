/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BTF stores names as NUL-terminated strings, one after the other. The file is read in pieces; each
 * piece begins with the last bytes of the one before, so that a name across the border is found.
 */
#include "agent/bpf_programs/kernel_btf.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/scoped.h"

#define PIECE_BYTES ((size_t)64 * KIB)

/* Function names of the kernel are shorter: KSYM_NAME_LEN is 512. */
#define MAX_NAME_SIZE ((size_t)512)

bool kernel_btf_names(const char *name)
{
	scoped_fd int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	scoped_free char *piece = malloc(MAX_NAME_SIZE + PIECE_BYTES);
	char wanted[MAX_NAME_SIZE] = "";
	/* with the NULs on both sides */
	size_t wanted_size = strnlen(name, sizeof(wanted) - 2) + 2;
	size_t kept = 0;
	ssize_t n;

	if (fd < 0 || !piece || wanted_size >= sizeof(wanted))
		return false;
	memcpy(wanted + 1, name, wanted_size - 2);
	while ((n = read(fd, piece + kept, PIECE_BYTES)) > 0) {
		size_t size = kept + (size_t)n;

		if (memmem(piece, size, wanted, wanted_size))
			return true;
		kept = MIN(size, wanted_size - 1);
		memmove(piece, piece + size - kept, kept);
	}
	return false;
}
