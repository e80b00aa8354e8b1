/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory of a stack that came as a copy (bpf/abi/sample_record.h).
 */

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/sample_record.h"

/*
 * 0, or -1: not all of it was copied. What lies outside is as absent as a page that was not
 * resident.
 */
int copied_stack_read(const struct abi_stack_copy *copy, uint64_t address, void *buffer,
		      size_t size);
