/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Opens ELF files by name or from memory, for the tests of this folder. */

#include <sys/mman.h>

#include "common/elf/elf_file.h"
#include "common/file.h"
#include "tests/support/unit.h"

/* An ELF file with the fd that it borrows. */
struct opened_elf {
	int fd;
	struct elf_file *elf;
};

static inline void opened_elf_release(struct opened_elf *opened)
{
	elf_file_free(opened->elf);
	scoped_close(&opened->fd);
}

static inline struct opened_elf open_elf(const char *path)
{
	struct opened_elf opened = { .fd = open(path, O_RDONLY | O_CLOEXEC) };

	if (opened.fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	assert_ok(elf_file_open_any_class(opened.fd, &opened.elf));
	return opened;
}

/* Opens these bytes as a file and returns the result. */
static inline int open_elf_bytes(const void *data, size_t size, struct opened_elf *ret_opened)
{
	struct opened_elf opened = { .fd = memfd_create("test", MFD_CLOEXEC) };
	int r;

	assert_true(opened.fd >= 0);
	assert_ok(write_all(opened.fd, data, size));
	r = elf_file_open(opened.fd, &opened.elf);
	*ret_opened = opened;
	return r;
}
