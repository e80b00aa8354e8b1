/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sample/copied_stack.h"

#include <string.h>

int copied_stack_read(const struct abi_stack_copy *copy, uint64_t address, void *buffer,
		      size_t size)
{
	uint64_t offset = address - copy->stack_start;

	if (size == 0 || offset >= copy->stack_bytes || size > copy->stack_bytes - offset)
		return -1;
	for (uint64_t piece = offset / ABI_STACK_PIECE_BYTES;
	     piece <= (offset + size - 1) / ABI_STACK_PIECE_BYTES; piece++)
		if (!(copy->present >> piece & 1))
			return -1;
	memcpy(buffer, copy->stack + offset, size);
	return 0;
}
