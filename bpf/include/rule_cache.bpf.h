/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * A direct-mapped cache from (executable, ELF address) to unwind rule, shared by all CPUs. The same
 * return addresses recur from sample to sample. A hit reads one cache line; a search through
 * region, directory, chunk and rows reads ten.
 *
 * An entry is never invalidated, because executables are never renumbered and the table of an
 * executable never changes. An entry expires after half a second, because only a search marks the
 * chunk as used, and the agent may evict a chunk that was not marked for a second.
 *
 * A program on another CPU, or a tick that interrupts a program on this CPU, may write an entry
 * while a program reads or writes it. `check` is the key mixed with both words of the rule. So a
 * reader rejects an entry whose two words are from different rules.
 */
#include "bpf/include/maps.bpf.h"

/*
 * The map has less than 32 KiB including its header. Up to that size the kernel allocates it from
 * its linear mapping, which uses large pages. A larger map would be mapped by pages of 4 KiB, and a
 * TLB miss would be likely at each frame.
 */
#define RULE_CACHE_ENTRIES 1000u

/*
 * Time is divided into intervals of 2^29 ns (0.54 s). An entry is valid for samples of the interval
 * in which it was written.
 */
#define RULE_CACHE_EXPIRY_SHIFT 29

struct rule_cache_entry {
	__u64 check;
	__u64 rule[2]; /* struct abi_unwind_rule */
	__u64 made;    /* number of the interval: time_ns >> RULE_CACHE_EXPIRY_SHIFT */
};

_Static_assert(sizeof(struct rule_cache_entry) == 32, "two entries are a cache line");

struct rule_cache_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RULE_CACHE_ENTRIES);
	__type(key, __u32);
	__type(value, struct rule_cache_entry);
};

extern struct rule_cache_map rule_cache SEC(".maps");

/*
 * Returns 0 if the rule cannot be cached, because the executable's number has more than 24 bits or
 * the address more than 40 bits (1 TiB).
 */
static __always_inline __u64 rule_cache_key(__u32 executable, __u64 elf_addr)
{
	if (executable >> 24 || elf_addr >> 40)
		return 0;
	return (__u64)executable << 40 | elf_addr;
}

static __always_inline struct rule_cache_entry *rule_cache_entry(__u64 key)
{
	__u32 index = (((key * 0x9e3779b97f4a7c15ULL) >> 32) * RULE_CACHE_ENTRIES) >> 32;

	return bpf_map_lookup_elem(&rule_cache, &index);
}

static __always_inline __u64 rule_cache_check(__u64 key, __u64 word0, __u64 word1)
{
	return key ^ (word0 * 0xff51afd7ed558ccdULL) ^ (word1 * 0xc4ceb9fe1a85ec53ULL);
}

static __always_inline bool rule_cache_find(struct rule_cache_entry *entry, __u64 key, __u64 now,
					    struct abi_unwind_rule *ret_rule)
{
	__u64 words[2];

	words[0] = *(volatile __u64 *)&entry->rule[0];
	words[1] = *(volatile __u64 *)&entry->rule[1];
	if (*(volatile __u64 *)&entry->made != now ||
	    *(volatile __u64 *)&entry->check != rule_cache_check(key, words[0], words[1]))
		return false;
	__builtin_memcpy(ret_rule, words, sizeof(*ret_rule));
	return true;
}

static __always_inline void rule_cache_put(struct rule_cache_entry *entry, __u64 key, __u64 now,
					   const struct abi_unwind_rule *rule)
{
	__u64 words[2];

	__builtin_memcpy(words, rule, sizeof(words));
	*(volatile __u64 *)&entry->rule[0] = words[0];
	*(volatile __u64 *)&entry->rule[1] = words[1];
	*(volatile __u64 *)&entry->check = rule_cache_check(key, words[0], words[1]);
	*(volatile __u64 *)&entry->made = now;
}
