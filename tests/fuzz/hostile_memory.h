/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The memory of a process that the fuzzer makes. */

#include <string.h>

#include "common/bytes.h"

/* A memory_read function of a struct bytes_view: an address is an offset in it, modulo its size. */
static inline int read_memory(void *arg, uint64_t address, void *buffer, size_t size)
{
	const struct bytes_view *memory = arg;
	size_t offset = memory->size ? (size_t)(address % memory->size) : 0;

	if (memory->size - offset < size)
		return -EFAULT;
	memcpy(buffer, memory->data + offset, size);
	return 0;
}
