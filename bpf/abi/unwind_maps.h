/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Unwind tables in BPF maps are paged: a table is in a file, divided into chunks of 4 KiB. Only the
 * chunks that stacks use are in the maps (resident).
 *
 *   unwind_pool      array of maps. Each inner map, a part, is an array of 64 slots of 4 KiB. The
 *                    agent adds parts as it needs them, and reads and writes them through a memory
 *                    mapping.
 *   unwind_regions   (executable, address / 256 KiB) -> directory: which slot holds the rows of
 *                    each code page
 *   unwind_tables    executable -> which code pages its table covers. Read only for a page that is
 *                    not resident.
 *
 * A slot has one of three uses:
 *
 *   rules        the first UNWIND_RULE_SLOTS slots: rule r of all executables is in slot r / 256.
 *                Equal rules of all executables are stored once.
 *   directories  15 directories of 256 bytes, after 256 bytes that stay 0 so that readers cannot
 *                mistake cells for the head of a chunk. A directory has one cell for each of 64
 *                units. A unit is a code page of 4 KiB, or a 64-byte piece of a code page that has
 *                more rows than a chunk holds (compilers generate no such page). The cell is the
 *                slot of the chunk with the unit's rows; 0: not resident; UNWIND_CELL_DIRECTORY +
 *                d: directory d has the page's pieces. Directory d begins at byte 256 * (d % 16)
 *                of slot d / 16.
 *   a row chunk  struct abi_unwind_chunk
 *
 * Readers take no lock, and the agent reuses slots at once, without waiting for readers. Therefore
 * each chunk identifies itself: readers compare its owner (executable and generation) and its range
 * before they use it, copy the rule they found, and compare the owner again. Regions, directories
 * and cells need no such check: a stale one leads to a chunk of another owner or range, which has
 * the same effect as a page that is not resident. arm64 requires this order of accesses:
 *
 *   agent    writes 0 to the owner; fence; writes the rows, and rules that no chunk uses any more;
 *            writes the new owner (store-release)
 *   reader   reads the owner; then everything else of the chunk; then the rule; then the owner
 *            again. Each address is computed from the value read before (unwind_rule.bpf.h,
 *            zero_after()), which orders the reads on every machine
 *
 * Rules are written before the owner of the chunk that uses them, and change only while no chunk
 * uses them.
 */

#include "bpf/abi/unwind_table.h"

#define UNWIND_SLOT_BYTES     4096
#define UNWIND_PART_SHIFT     6
#define UNWIND_SLOTS_PER_PART (1u << UNWIND_PART_SHIFT)
#define UNWIND_PART_BYTES     (UNWIND_SLOTS_PER_PART * UNWIND_SLOT_BYTES)

#define UNWIND_RULES_PER_SLOT_SHIFT 8
#define UNWIND_RULES_PER_SLOT       (1u << UNWIND_RULES_PER_SLOT_SHIFT)
#define UNWIND_POOL_RULES           65536u /* a row stores the number in 16 bits */
#define UNWIND_RULE_SLOTS           (UNWIND_POOL_RULES / UNWIND_RULES_PER_SLOT)

/* 2^28 ns are 0.27 s, so a chunk in constant use is marked about four times a second. */
#define UNWIND_USED_SHIFT 28

#define UNWIND_REGION_SHIFT     18
#define UNWIND_CELLS            64u
#define UNWIND_DIRECTORY_SHIFT  4
#define UNWIND_CELL_DIRECTORY   0x80000000u
#define UNWIND_DENSE_UNIT_SHIFT 6 /* pieces of a code page with more rows than a chunk */

/*
 * Rows of the units first_unit .. first_unit + n_units - 1. The unit of an address has the number
 * address >> unit_shift. The rows of unit u are (12 is UNWIND_CHUNK_FIRST_HALF)
 *
 *   rows[halves[12 + u - first_unit] .. halves[12 + u - first_unit + 1])
 *
 * by rising offset in the code page. The first row of a unit is valid from the unit's beginning.
 */
struct abi_unwind_chunk {
	union {
		struct {
			__u64 owner; /* executable << 32 | generation; 0: none */
			__u64 first_unit;
			/* last use: CLOCK_MONOTONIC >> UNWIND_USED_SHIFT; readers write it */
			__u32 used;
			__u16 n_units;
			__u16 unit_shift; /* UNWIND_PAGE_SHIFT or UNWIND_DENSE_UNIT_SHIFT */
		};
		__u16 halves[UNWIND_SLOT_BYTES / sizeof(__u16)];
		struct abi_unwind_row rows[UNWIND_SLOT_BYTES / sizeof(struct abi_unwind_row)];
	};
};

#define UNWIND_CHUNK_FIRST_HALF 12u
#define UNWIND_CHUNK_HALVES     ((__u32)(UNWIND_SLOT_BYTES / sizeof(__u16)))
#define UNWIND_CHUNK_ROWS       ((__u32)(UNWIND_SLOT_BYTES / sizeof(struct abi_unwind_row)))

struct abi_unwind_slot {
	union {
		struct abi_unwind_chunk chunk;
		__u32 cells[UNWIND_SLOT_BYTES / sizeof(__u32)];
		struct abi_unwind_rule rules[UNWIND_RULES_PER_SLOT];
	};
};

/*
 * Key of unwind_regions. It has only 32 bits of the region's number, so two regions may have the
 * same key. Then the check of the chunk's range rejects the chunk of the other region.
 */
#define UNWIND_REGION_KEY(executable, elf_addr)                                                    \
	((__u64)(executable) << 32 | (__u32)((__u64)(elf_addr) >> UNWIND_REGION_SHIFT))

/*
 * The code pages for which an executable's table has rows. n_pages is 0 if the executable has no
 * table. Without an entry in the map, the agent has not made the table yet, or has evicted it.
 */
struct abi_unwind_info {
	__u64 first_page; /* ELF address >> UNWIND_PAGE_SHIFT */
	__u64 n_pages;
};

/* Maximum number of executables with a table. */
#define UNWIND_MAX_TABLES 8192

_Static_assert(sizeof(struct abi_unwind_info) == 16, "part of the BPF/userspace ABI");
_Static_assert(sizeof(struct abi_unwind_chunk) == UNWIND_SLOT_BYTES, "a chunk is a slot");
_Static_assert(sizeof(struct abi_unwind_slot) == UNWIND_SLOT_BYTES,
	       "a slot is a value of the part's map");
_Static_assert(UNWIND_RULE_SLOTS % UNWIND_SLOTS_PER_PART == 0,
	       "the slots of rules fill whole parts");
