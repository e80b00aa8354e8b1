/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_interpreter_python */
/* The input is the code of a function in two parts: the second one is the last quarter. */
#include "agent/interpreter/python/unlinked_code.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#define CODE_START 0x1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_fd int fd = memfd_create("code", MFD_CLOEXEC);
	struct load_segment segment = {
		.vaddr = CODE_START,
		.file_size = size,
		.memory_size = size,
		.flags = PF_R | PF_X,
	};
	struct elf_file elf = { .fd = fd,
				.file_size = size,
				.machine = EM_X86_64,
				.load_segments = &segment,
				.n_load_segments = 1 };
	uint64_t middle = CODE_START + size - size / 4;
	const struct abi_code_range loop[ABI_LOOP_PARTS] = { { CODE_START, middle },
							     { middle, CODE_START + size } };
	struct abi_code_piece pieces[ABI_UNLINKED_PIECES] = {};

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	for (uint32_t version = 0x0308; version <= 0x0309; version++)
		if (unlinked_code_find(&elf, version, loop, pieces) == 1)
			for (size_t i = 0; i < ABI_UNLINKED_PIECES; i++)
				assert(pieces[i].start >= 0 &&
				       (size_t)pieces[i].start + pieces[i].bytes <= size);
	return 0;
}
