/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * The BPF unwinder, compiled for the host from the same sources. It unwinds one stack, with
 * registers and memory that the caller provides, and needs no privileges. Tests run it on recorded
 * memory. The agent runs it on copies of stacks that the BPF programs could not unwind.
 *
 * Each function exists twice: for stacks of x86-64 and for stacks of arm64. Both run on any
 * machine. A run keeps no state, allocates no memory, and accesses only its arguments. Any number
 * of threads may run at once.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/config.h"
#include "bpf/abi/counters.h"
#include "bpf/abi/interpreter.h"
#include "bpf/abi/jvm.h"
#include "bpf/abi/mapping.h"
#include "bpf/abi/sample_record.h"
#include "bpf/abi/unwind_maps.h"

/* Indexed by DWARF number: rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15, or x0 ... x30, sp. */
#define HOST_UNWIND_MAX_REGISTERS 32

struct host_unwind_registers {
	uint64_t pc;
	uint64_t general[HOST_UNWIND_MAX_REGISTERS];
	bool is_32_bit; /* 32-bit code: only its pc is used */
};

/* Copies [@address, @address + @size) to @buffer. Returns 0, or -1 if a part of it is absent. */
typedef int (*host_unwind_read)(void *argument, uint64_t address, void *buffer, size_t size);

/* Returns an element of the map `unwind_tables`, or NULL. */
typedef const struct abi_unwind_info *(*host_unwind_find_table)(void *argument,
								uint32_t executable);

/* Returns an element of the map `unwind_regions` (a directory), or NULL. */
typedef const uint32_t *(*host_unwind_find_region)(void *argument, uint64_t key);

/*
 * The maps of unwind tables (bpf/abi/unwind_maps.h).
 *
 *   parts[n_parts]   each of UNWIND_SLOTS_PER_PART slots, or NULL if absent. A run writes to
 *                    chunk.used of the slots whose rows it uses.
 */
struct host_unwind_tables {
	host_unwind_find_table find;
	host_unwind_find_region find_region;
	void *argument;
	struct abi_unwind_slot *const *parts;
	uint32_t n_parts;
};

/*
 * The sampled thread, and the content of the maps for its process.
 *
 *   chunks[n_chunks]   chunk i is the element (chunks[i].set, i) of the map `mapping_chunks`
 *   directory          the element (directory->set, ABI_DIRECTORY); NULL if there is none
 *
 * As in the kernel, a process entry is used only if its start time and number of execs match, and a
 * chunk only if it belongs to the entry's set.
 */
struct host_unwind_process {
	uint32_t pid;
	uint32_t tid;
	uint64_t thread_pointer; /* x86-64: fs */
	uint32_t exec_count;
	uint64_t start_time_ns;          /* CLOCK_BOOTTIME */
	const struct abi_process *entry; /* NULL: the process is unknown */
	const struct abi_mapping_chunk *chunks;
	size_t n_chunks;
	const struct abi_mapping_chunk *directory;
};

struct host_unwind_input {
	const struct abi_config *config;
	struct host_unwind_registers registers;
	host_unwind_read read;
	void *read_argument;
	struct host_unwind_process process;
	const struct host_unwind_tables *tables; /* NULL if there are none */
	/*
	 * The elements of the map `interpreters`. If n_interpreters is 0, the unwinder adds no
	 * frames of byte code. The agent sets 0, because these frames are in the heap, and it has a
	 * copy of the stack only.
	 */
	const struct abi_interpreter *interpreters;
	uint32_t n_interpreters;
	/* The process's element of the map `jvms`. NULL: no frames of Java, for the same reason. */
	const struct abi_jvm *jvm;
};

/*
 * The full record as it would be written to the ring buffer, and the counters. If the rows of a
 * frame were not resident (n_missing > 0), its caller was found by the frame pointer, so this
 * caller and all later frames may be wrong.
 */
struct host_unwind_output {
	/* only n_user_frames, cut and flags are set: times and names belong to a running task */
	struct abi_sample header;
	struct abi_frame frames[ABI_MAX_FRAMES];
	uint64_t counters[ABI_COUNTER_COUNT];
	uint32_t n_missing;          /* frames whose rows are not resident */
	uint32_t missing_executable; /* executable of the first such frame */
	uint64_t missing_address;    /* its ELF address */
};

void host_unwind_x86(const struct host_unwind_input *input, struct host_unwind_output *ret_output);
void host_unwind_arm64(const struct host_unwind_input *input,
		       struct host_unwind_output *ret_output);

/* One look-up of an unwind rule through the cache of recent rules (rule_cache.bpf.h). */
struct host_unwind_lookup {
	const struct host_unwind_tables *tables;
	uint32_t executable;
	uint64_t elf_addr;
	uint64_t time_ns;
	/* in and out: a struct rule_cache_entry, the only entry of the cache in this look-up */
	uint64_t cached_rule[4];
	struct abi_unwind_rule rule;
	bool was_cached;
};

/* Like host_unwind_find_rule_x86(), but with the arguments and results in @lookup. */
int host_unwind_look_up_x86(struct host_unwind_lookup *lookup);
int host_unwind_look_up_arm64(struct host_unwind_lookup *lookup);

/*
 * Finds the rule at an address of an executable in the same way as a run, but without a cached
 * rule. 1: found. 0: the address is outside the table. -1: the rows are not resident, or
 * tables->find() returned NULL.
 */
int host_unwind_find_rule_x86(const struct host_unwind_tables *tables, uint32_t executable,
			      uint64_t elf_addr, struct abi_unwind_rule *ret_rule);
int host_unwind_find_rule_arm64(const struct host_unwind_tables *tables, uint32_t executable,
				uint64_t elf_addr, struct abi_unwind_rule *ret_rule);
