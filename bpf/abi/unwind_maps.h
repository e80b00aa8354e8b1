/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

#include "bpf/abi/unwind_table.h"

/*
 * In the BPF maps all executables' tables stand one after the other, each in extents of three long arrays, which are
 * cut into values of 4 KiB: element i is in value i / PER_CHUNK. (One row per array element would cost 8 bytes.)
 * An extent is given to another table only after all programs that could still read it have ended.
 */
#define UNWIND_CHUNK_BYTES     4096
#define UNWIND_ROWS_PER_CHUNK  (UNWIND_CHUNK_BYTES / sizeof(struct abi_unwind_row))
#define UNWIND_PAGES_PER_CHUNK (UNWIND_CHUNK_BYTES / sizeof(__u32))
#define UNWIND_RULES_PER_CHUNK (UNWIND_CHUNK_BYTES / sizeof(struct abi_unwind_rule))

struct abi_unwind_row_chunk {
	struct abi_unwind_row rows[UNWIND_ROWS_PER_CHUNK];
};

struct abi_unwind_page_chunk {
	__u32 first_row[UNWIND_PAGES_PER_CHUNK]; /* in the table's rows */
};

struct abi_unwind_rule_chunk {
	struct abi_unwind_rule rules[UNWIND_RULES_PER_CHUNK];
};

/* Executable number -> where its table is. */
struct abi_unwind_info {
	__u64 base_address; /* of page 0 */
	__u32 n_pages;
	__u32 first_page; /* index of page 0 in the array of pages; n_pages + 1 of them */
	__u32 first_row;
	__u32 first_rule;
	__u32 n_rules;
	__u32 zero;
};

/* Tables that fit the maps' preallocated memory; ceilings of the maps are set before loading. */
#define UNWIND_MAX_TABLES 8192

_Static_assert(sizeof(struct abi_unwind_info) == 32, "part of the BPF/userspace ABI");
