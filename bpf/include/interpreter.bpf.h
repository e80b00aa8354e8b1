/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/* What the walks of interpreters have in common. */

#include "bpf/include/maps.bpf.h"

/* @index: of the map `interpreters`; 0: none. */
static __always_inline const struct abi_interpreter *find_interpreter(__u32 index)
{
	return index ? bpf_map_lookup_elem(&interpreters, &index) : NULL;
}

static __always_inline bool is_in(const struct abi_code_range *range, __u64 elf_addr)
{
	return elf_addr >= range->start && elf_addr < range->end;
}

/* Reads a word of the memory of the process. */
static __always_inline bool read_pointer(__u64 address, __u64 *ret_value)
{
	return bpf_probe_read_user(ret_value, sizeof(*ret_value), (void *)address) == 0;
}
