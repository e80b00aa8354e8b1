/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_unwind */
#include <elf.h>
#include <sys/mman.h>

#include "agent/unwind/x86_code/glibc_rows.h"
#include "common/file.h"
#include "common/scoped.h"

/* The input is an ELF file: symbols, their names, and the code of the functions. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct unwind_dialect dialect = { .machine = cfi_machine_of(EM_X86_64) };
	scoped(unwind_builder_freep) struct unwind_builder *builder = NULL;
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped_fd int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write_all(fd, data, size) < 0 || elf_file_open(fd, &elf) < 0 ||
	    unwind_builder_new(&dialect, elf->load_segments, elf->n_load_segments, &builder) < 0)
		return 0;
	(void)glibc_rows_add_context(elf, builder);
	(void)glibc_rows_add_clone(elf, builder);
	return 0;
}
