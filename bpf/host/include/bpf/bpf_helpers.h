/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Replaces libbpf's header of this name when BPF programs are compiled for the host. Each helper
 * becomes a call of a function in bpf/host/host_run.h. Functions that a program exports are static
 * here, so that programs of several architectures can be linked together.
 *
 * Maps are never defined. A program only passes their addresses to helpers, and the type of the
 * address identifies the map. A map that is not listed here does not compile.
 */

#include "bpf/host/host_run.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __noinline      __attribute__((noinline))
#ifndef __weak
#define __weak __attribute__((weak))
#endif
#define __hidden         static __attribute__((unused))
#define __verified_alone static
#define __ksym
#define SEC(name)

#define __uint(name, value)  int(*name)[value]
#define __type(name, value)  __typeof__(value) *name
#define __array(name, value) __typeof__(value) *name[]

#define barrier()             asm volatile("" ::: "memory")
#define barrier_var(variable) asm volatile("" : "+r"(variable))

/*
 * Global variables belong to the run, so each use of the name is a function call. The declarations
 * in maps.bpf.h thus become second declarations of these functions without a prototype, which is
 * why the program is compiled with -Wno-strict-prototypes.
 */
#define config  (*host_config())
#define control (*host_control())

struct processes_map;
struct mapping_chunks_map;
struct exec_counts_map;
struct unwind_tables_map;
struct interpreters_map;
struct jvms_map;
struct unwind_regions_map;
struct unwind_pool_map;
struct unwind_part_map;
struct rule_cache_map;
struct seen_stacks_map;
struct samples_map;
struct counters_map;

#define host_map_of(map)                                                                           \
	_Generic((map), struct processes_map *                                                     \
		 : HOST_MAP_PROCESSES, struct mapping_chunks_map *                                 \
		 : HOST_MAP_MAPPING_CHUNKS, struct exec_counts_map *                               \
		 : HOST_MAP_EXEC_COUNTS, struct unwind_tables_map *                                \
		 : HOST_MAP_UNWIND_TABLES, struct interpreters_map *                               \
		 : HOST_MAP_INTERPRETERS, struct jvms_map *                                        \
		 : HOST_MAP_JVMS, struct unwind_regions_map *                                      \
		 : HOST_MAP_UNWIND_REGIONS, struct unwind_pool_map *                               \
		 : HOST_MAP_UNWIND_POOL, struct unwind_part_map *                                  \
		 : HOST_MAP_UNWIND_PART, struct rule_cache_map *                                   \
		 : HOST_MAP_RULE_CACHE, struct seen_stacks_map *                                   \
		 : HOST_MAP_SEEN_STACKS, struct samples_map *                                      \
		 : HOST_MAP_SAMPLES, struct counters_map *                                         \
		 : HOST_MAP_COUNTERS)

#define bpf_map_lookup_elem(map, key) host_map_lookup_elem(host_map_of(map), key)
#define bpf_map_update_elem(map, key, value, flags)                                                \
	host_map_update_elem(host_map_of(map), key, value, flags)
#define bpf_probe_read_user   host_probe_read_user
#define bpf_probe_read_kernel host_probe_read
#define bpf_loop              host_loop
#define bpf_ringbuf_output(map, data, size, flags)                                                 \
	host_ringbuf_output(host_map_of(map), data, size, flags)
#define bpf_ringbuf_query(map, flags) host_ringbuf_query(host_map_of(map), flags)
#define bpf_ktime_get_ns              host_ktime_get_ns
#define bpf_ktime_get_boot_ns         host_ktime_get_boot_ns
#define bpf_get_current_pid_tgid      host_get_current_pid_tgid
#define bpf_get_smp_processor_id      host_get_smp_processor_id
#define bpf_get_current_comm          host_get_current_comm
#define bpf_get_current_task_btf      host_program_task

struct task_struct;
static struct task_struct *host_program_task(void);
