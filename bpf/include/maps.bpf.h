/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * The maps that several programs share; defined in maps.bpf.c.
 */

#include "bpf/include/kernel_types.h"

#include <bpf/bpf_helpers.h>

#include "bpf/abi/config.h"
#include "bpf/abi/counters.h"
#include "bpf/abi/interpreter.h"
#include "bpf/abi/jvm.h"
#include "bpf/abi/mapping.h"
#include "bpf/abi/sample_record.h"
#include "bpf/abi/unwind_maps.h"

/* A global function, which the verifier checks without its callers (kernel 5.6). */
#ifndef __verified_alone
#define __verified_alone __noinline
#endif

extern const volatile struct abi_config config;
extern struct abi_control control;

struct processes_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ABI_MAX_PROCESSES);
	__type(key, __u32);
	__type(value, struct abi_process);
};

struct mapping_chunks_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ABI_MAX_MAPPING_CHUNKS);
	__type(key, struct abi_chunk_key);
	__type(value, struct abi_mapping_chunk);
};

struct exec_counts_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ABI_MAX_PROCESSES);
	__type(key, __u32);
	__type(value, __u32);
};

struct unwind_tables_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, UNWIND_MAX_TABLES);
	__type(key, __u32);
	__type(value, struct abi_unwind_info);
};

struct interpreters_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ABI_MAX_INTERPRETERS);
	__type(key, __u32);
	__type(value, struct abi_interpreter);
};

struct jvms_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ABI_MAX_JVMS);
	__type(key, __u32);
	__type(value, struct abi_jvm);
};

/* The agent sets max_entries before loading: the number of slots. */
struct unwind_regions_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u32);
};

/*
 * The agent writes it through a memory mapping, because each system call that changes a map would
 * make the kernel skip ticks on its CPU.
 */
struct unwind_part_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_SLOTS_PER_PART);
	/*
	 * No __type(value, struct abi_unwind_slot): libbpf 1.1's linker finds no size for it in an
	 * inner map.
	 */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, UNWIND_SLOT_BYTES);
};

/* The agent sets max_entries before loading: as many parts as the budget allows. */
struct unwind_pool_map {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct unwind_part_map);
};

/*
 * Direct-mapped. An entry is the hash of the stack that last used the slot, mixed with the window.
 */
struct seen_stacks_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ABI_SEEN_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
};

struct samples_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20); /* replaced by the configured size before loading */
};

struct counters_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_COUNTER_COUNT);
	__type(key, __u32);
	__type(value, __u64);
};

extern struct processes_map processes SEC(".maps");
extern struct mapping_chunks_map mapping_chunks SEC(".maps");
extern struct exec_counts_map exec_counts SEC(".maps");
extern struct unwind_tables_map unwind_tables SEC(".maps");
extern struct interpreters_map interpreters SEC(".maps");
extern struct jvms_map jvms SEC(".maps");
extern struct unwind_regions_map unwind_regions SEC(".maps");
extern struct unwind_pool_map unwind_pool SEC(".maps");
extern struct seen_stacks_map seen_stacks SEC(".maps");
extern struct samples_map samples SEC(".maps");
extern struct counters_map counters SEC(".maps");

static __always_inline void count_many(enum abi_counter id, __u64 n)
{
	__u32 key = id;
	__u64 *value = bpf_map_lookup_elem(&counters, &key);

	if (value)
		*value += n;
}

static __always_inline void count(enum abi_counter id)
{
	count_many(id, 1);
}
