/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Finds the unwind rule of an ELF address: in the cache of recent rules (rule_cache.bpf.h), else
 * through region -> directory -> chunk -> row -> rule (bpf/abi/unwind_maps.h). struct sample keeps
 * the directories of recent regions, because adjacent frames are often in the same region. Reading
 * a directory, a chunk or a rule takes two array lookups, which the kernel's JIT inlines. The
 * search for the row in a chunk reads a few cache lines.
 */

#include "bpf/include/rule_cache.bpf.h"
#include "bpf/include/sample.bpf.h"

enum rule_found {
	RULE_FOUND,
	RULE_MISSING, /* the rows are not resident, or the agent has not made the table yet */
	RULE_NONE,    /* the table has no rows for the address, or the executable has no table */
};

/*
 * Returns 0, computed from @value so that neither the compiler nor the CPU knows the result before
 * it has loaded @value. A load from an address to which this 0 was added therefore happens after
 * the load of @value. arm64 reorders loads without such a dependency. x86-64 does not reorder
 * loads; there the addition costs one instruction.
 */
static __always_inline __u64 zero_after(__u64 value)
{
#if defined(HEARTH_BPF_KERNEL_5) && defined(__TARGET_ARCH_x86)
	/*
	 * The verifier of 5.10 finds no bounds for the masked value below. x86 reads in order, so a
	 * compiler barrier is enough.
	 */
	asm volatile("" : : "r"(value) : "memory");
	return 0;
#else
	__u64 mask = 0;

	asm volatile("" : "+r"(mask));
	return value & mask;
#endif
}

static __always_inline struct abi_unwind_slot *pool_slot(__u32 slot)
{
	__u32 part = slot >> UNWIND_PART_SHIFT;
	__u32 index = slot & (UNWIND_SLOTS_PER_PART - 1);
	struct unwind_part_map *map = bpf_map_lookup_elem(&unwind_pool, &part);

	return map ? bpf_map_lookup_elem(map, &index) : NULL;
}

/* The directory of the region, 0 if there is none. */
static __always_inline __u32 find_directory(struct sample *sample, __u32 executable, __u64 elf_addr)
{
	__u64 key = UNWIND_REGION_KEY(executable, elf_addr);
	struct sample_region *known = &sample->regions[(key ^ executable) & (SAMPLE_REGIONS - 1)];
	__u32 *directory;

	if (known->key == key)
		return known->directory;
	directory = bpf_map_lookup_elem(&unwind_regions, &key);
	if (!directory)
		return 0;
	known->key = key;
	known->directory = *directory;
	return known->directory;
}

static __always_inline __u32 read_cell(__u32 directory, __u32 unit)
{
	struct abi_unwind_slot *slot = pool_slot(directory >> UNWIND_DIRECTORY_SHIFT);
	__u32 first = (directory & ((1u << UNWIND_DIRECTORY_SHIFT) - 1)) * UNWIND_CELLS;
	__u32 index = first + (unit & (UNWIND_CELLS - 1));

	/*
	 * Clang computes the sum by an OR, for which the verifier of 5.10 finds no bounds. The
	 * modulo gives it the bounds again.
	 */
	asm volatile("" : "+r"(index));
	return slot ? slot->cells[index % (sizeof(slot->cells) / sizeof(slot->cells[0]))] : 0;
}

static __always_inline __u32 find_row_slot(struct sample *sample, __u32 executable, __u64 elf_addr)
{
	__u32 directory = find_directory(sample, executable, elf_addr);
	__u32 cell;

	if (!directory)
		return 0;
	cell = read_cell(directory, (__u32)(elf_addr >> UNWIND_PAGE_SHIFT));
	if (cell & UNWIND_CELL_DIRECTORY)
		cell = read_cell(cell & ~UNWIND_CELL_DIRECTORY,
				 (__u32)(elf_addr >> UNWIND_DENSE_UNIT_SHIFT));
	return cell;
}

/*
 * Finds the last row of the address's unit that is at or before the address (binary search), and
 * returns the number of its rule. Such a row exists: the first row of a unit is valid from the
 * unit's beginning.
 */
static __always_inline bool find_row(const struct abi_unwind_chunk *chunk, __u64 elf_addr,
				     __u32 *ret_rule)
{
	__u64 unit = (elf_addr >> (chunk->unit_shift & 63)) - chunk->first_unit;
	__s32 offset = elf_addr & UNWIND_PAGE_MASK;
	__u32 half = (__u32)unit + UNWIND_CHUNK_FIRST_HALF;
	__u32 low, count;

	if (unit >= chunk->n_units)
		return false;
	asm volatile("" : "+r"(half));
	low = chunk->halves[half % UNWIND_CHUNK_HALVES];
	count = chunk->halves[(half + 1) % UNWIND_CHUNK_HALVES] - low;
#pragma unroll
	for (int step = 0; step < 10; step++) {
		__u32 middle = count / 2;
		__s64 beyond;

		if (count <= 1)
			break;
		beyond = (__s64)offset - chunk->rows[(low + middle) % UNWIND_CHUNK_ROWS].offset;
		/* Add without a branch, because the CPU could not predict the branch. */
		low += middle & ~(__u32)(beyond >> 63);
		count -= middle;
	}
	*ret_rule = chunk->rows[low % UNWIND_CHUNK_ROWS].rule;
	return true;
}

/*
 * Reads the rule of @elf_addr from @chunk, without a lock: in the order of accesses that
 * bpf/abi/unwind_maps.h requires of readers. Returns false if the slot does not hold a chunk of
 * @executable with this address, or if the agent reused the slot during the read.
 */
static __always_inline bool read_rule(struct sample *sample, struct abi_unwind_chunk *chunk,
				      __u32 executable, __u64 elf_addr,
				      struct abi_unwind_rule *ret_rule)
{
	__u32 now = (__u32)(sample->header.time_ns >> UNWIND_USED_SHIFT);
	__u64 owner = *(volatile __u64 *)&chunk->owner;
	struct abi_unwind_slot *rules;
	const volatile __u64 *words;
	__u64 copy[2];
	__u32 rule;

	if (owner >> 32 != executable)
		return false;
	chunk = (struct abi_unwind_chunk *)((char *)chunk + zero_after(owner));
	if (!find_row(chunk, elf_addr, &rule))
		return false;
	rules = pool_slot(rule >> UNWIND_RULES_PER_SLOT_SHIFT);
	if (!rules)
		return false;
	words = (const volatile __u64 *)&rules->rules[rule % UNWIND_RULES_PER_SLOT];
	copy[0] = words[0];
	copy[1] = words[1];
	__builtin_memcpy(ret_rule, copy, sizeof(*ret_rule));
	if (chunk->used != now)
		chunk->used = now;
	return *(volatile __u64 *)((char *)&chunk->owner + zero_after(copy[0] ^ copy[1])) == owner;
}

/*
 * Returns why no chunk with the address's code page is resident: RULE_MISSING if the agent has to
 * load or make it, RULE_NONE if the table has no rows for the page.
 */
static __always_inline enum rule_found page_without_chunk(__u32 executable, __u64 elf_addr)
{
	struct abi_unwind_info *info = bpf_map_lookup_elem(&unwind_tables, &executable);

	if (!info)
		return RULE_MISSING;
	return (elf_addr >> UNWIND_PAGE_SHIFT) - info->first_page < info->n_pages ? RULE_MISSING
										  : RULE_NONE;
}

/* Finds the rule through region, directory and chunk. */
static __always_inline bool find_resident_rule(struct sample *sample, __u32 executable,
					       __u64 elf_addr, struct abi_unwind_rule *ret_rule)
{
	__u32 cell = find_row_slot(sample, executable, elf_addr);
	struct abi_unwind_slot *slot = cell ? pool_slot(cell) : NULL;

	return slot && read_rule(sample, &slot->chunk, executable, elf_addr, ret_rule);
}

#if defined(HEARTH_BPF_KERNEL_5)
/*
 * The programs for kernels 5.10 to 5.16 do not use the cache: without bpf_loop(), the verifier
 * checks each iteration of the loop over frames separately, and a second path to the rule would
 * double the number of instructions that it checks.
 */
static __always_inline bool find_rule_by_cache(struct sample *sample, __u32 executable,
					       __u64 elf_addr, struct abi_unwind_rule *ret_rule)
{
	return find_resident_rule(sample, executable, elf_addr, ret_rule);
}
#else
static __always_inline bool find_rule_by_cache(struct sample *sample, __u32 executable,
					       __u64 elf_addr, struct abi_unwind_rule *ret_rule)
{
	__u64 now = sample->header.time_ns >> RULE_CACHE_EXPIRY_SHIFT;
	__u64 key = rule_cache_key(executable, elf_addr);
	struct rule_cache_entry *entry = key ? rule_cache_entry(key) : NULL;

	if (entry && rule_cache_find(entry, key, now, ret_rule)) {
		sample->n_rules_cached++;
		return true;
	}
	if (!find_resident_rule(sample, executable, elf_addr, ret_rule))
		return false;
	if (entry)
		rule_cache_put(entry, key, now, ret_rule);
	return true;
}
#endif

static __always_inline enum rule_found find_rule(struct sample *sample, __u32 executable,
						 __u64 elf_addr, struct abi_unwind_rule *ret_rule)
{
	if (find_rule_by_cache(sample, executable, elf_addr, ret_rule))
		return RULE_FOUND;
	return page_without_chunk(executable, elf_addr);
}
