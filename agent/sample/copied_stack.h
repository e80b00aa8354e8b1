/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads memory of a stack that the kernel side sent as a copy (bpf/abi/sample_record.h). */

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/sample_record.h"

/*
 * 0, or -1: not all of [@address, @address + @size) was copied. Memory outside the copy is treated
 * like a page that was not resident.
 */
int copied_stack_read(const struct abi_stack_copy *copy, uint64_t address, void *buffer,
		      size_t size);
