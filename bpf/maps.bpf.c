// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * All maps that several programs share, and the settings that the agent passes to the programs.
 */
#include "bpf/include/off_cpu.bpf.h"
#include "bpf/include/rule_cache.bpf.h"

const volatile struct abi_config config = {};
struct abi_control control = {};

struct processes_map processes SEC(".maps");
struct mapping_chunks_map mapping_chunks SEC(".maps");
struct exec_counts_map exec_counts SEC(".maps");
struct unwind_tables_map unwind_tables SEC(".maps");
struct interpreters_map interpreters SEC(".maps");
struct jvms_map jvms SEC(".maps");
struct unwind_regions_map unwind_regions SEC(".maps");
struct unwind_pool_map unwind_pool SEC(".maps");
struct rule_cache_map rule_cache SEC(".maps");
struct seen_stacks_map seen_stacks SEC(".maps");
struct samples_map samples SEC(".maps");
struct counters_map counters SEC(".maps");
struct thread_waits_map thread_waits SEC(".maps");
struct hashed_waits_map hashed_waits SEC(".maps");
struct blank_waits_map blank_waits SEC(".maps");

char _license[] SEC("license") = "Dual BSD/GPL";
