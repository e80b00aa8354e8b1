/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * The state of a BPF program that runs on the host, for the helpers that it calls. Helpers have no
 * argument that identifies the caller; in the kernel, the CPU identifies it. On the host, a
 * thread-local pointer refers to the struct host_run of the thread, from host_run_begin() to
 * host_run_end(). The headers in bpf/host/include include this file, so it must not need a header
 * that conflicts with bpf/include/kernel_types.h (stdbool.h, linux/bpf.h, asm/ptrace.h).
 */

#include "bpf/host/host_unwind.h"

struct host_run {
	const struct host_unwind_input *input;
	struct host_unwind_output *output;
	struct abi_control control;
	struct abi_unwind_slot
		*part; /* the part that was last looked up in the map `unwind_pool` */
	/* the only entry of the map `rule_cache`, struct rule_cache_entry */
	uint64_t cached_rule[4];
	uint64_t seen_stack; /* the only slot of the map `seen_stacks`: it never matches */
};

void host_run_begin(struct host_run *run);
struct host_run *host_run_current(void);
void host_run_end(void);

/*
 * The maps that the programs use. bpf/host/include/bpf/bpf_helpers.h derives the constant from the
 * type of the map.
 */
enum host_map {
	HOST_MAP_PROCESSES,
	HOST_MAP_MAPPING_CHUNKS,
	HOST_MAP_EXEC_COUNTS,
	HOST_MAP_UNWIND_TABLES,
	HOST_MAP_INTERPRETERS,
	HOST_MAP_JVMS,
	HOST_MAP_UNWIND_REGIONS,
	HOST_MAP_UNWIND_POOL,
	HOST_MAP_UNWIND_PART, /* the part that was last found in the pool */
	HOST_MAP_RULE_CACHE,
	HOST_MAP_SEEN_STACKS,
	HOST_MAP_SAMPLES,
	HOST_MAP_COUNTERS,
};

/* The helpers, with the semantics of bpf-helpers(7). */
void *host_map_lookup_elem(enum host_map map, const void *key);
long host_map_update_elem(enum host_map map, const void *key, const void *value, uint64_t flags);
long host_probe_read(void *destination, uint32_t size, const void *address);
long host_probe_read_user(void *destination, uint32_t size, const void *address);
long host_loop(uint32_t n_loops, long (*function)(__u64 index, void *argument), void *argument,
	       uint64_t flags);
long host_ringbuf_output(enum host_map map, const void *data, uint64_t size, uint64_t flags);
uint64_t host_ringbuf_query(enum host_map map, uint64_t flags);
uint64_t host_ktime_get_ns(void);
uint64_t host_ktime_get_boot_ns(void);
uint64_t host_get_current_pid_tgid(void);
uint32_t host_get_smp_processor_id(void);
long host_get_current_comm(void *buffer, uint32_t size);

/* The global variables `config` and `control`. */
const volatile struct abi_config *host_config(void);
struct abi_control *host_control(void);
