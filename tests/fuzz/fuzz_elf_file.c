/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>

#include "common/elf/build_id.h"
#include "common/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_fd int fd = memfd_create("fuzz", MFD_CLOEXEC);
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	struct executable_id id;

	if (fd < 0 || write_all(fd, data, size) < 0 || elf_file_open_any_class(fd, &elf) < 0)
		return 0;
	(void)build_id_from_elf(elf, &id);
	for (size_t i = 0; i < elf->n_sections && i < 64; i++) {
		bytes_clear(&content);
		(void)elf_file_read_section(elf, &elf->sections[i], &content);
	}
	return 0;
}
