/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * The unwinder that runs in the kernel, compiled for the host from the same sources: one sample of
 * a stack whose registers and memory somebody hands in. It runs without privileges: in tests on
 * recorded memory, and on copies of stacks of processes that the kernel side does not know yet.
 *
 * One function per architecture of the stack, whatever machine it runs on. A run keeps nothing,
 * allocates nothing, and touches nothing but its arguments; any number of threads may run at once.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/config.h"
#include "bpf/abi/counters.h"
#include "bpf/abi/mapping.h"
#include "bpf/abi/sample_record.h"
#include "bpf/abi/unwind_maps.h"

/* By DWARF number. x86-64: rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15; arm64: x0 ... x30, sp. */
#define HOST_UNWIND_MAX_REGISTERS 32

struct host_unwind_registers {
	uint64_t pc;
	uint64_t general[HOST_UNWIND_MAX_REGISTERS];
	bool is_32_bit; /* code of 32 bits: nothing but its pc is looked at */
};

/* 0: all of [@address, @address + @size) was copied to @buffer; -1: some of it is not there. */
typedef int (*host_unwind_read)(void *argument, uint64_t address, void *buffer, size_t size);

/* An element of the map `unwind_tables`, or NULL. */
typedef const struct abi_unwind_info *(*host_unwind_find_table)(void *argument,
								uint32_t executable);

/* An element of the map `unwind_regions` (a directory), or NULL. */
typedef const uint32_t *(*host_unwind_find_region)(void *argument, uint64_t key);

/*
 * The maps of unwind tables (bpf/abi/unwind_maps.h).
 *
 *   parts[n_parts]   each of UNWIND_SLOTS_PER_PART slots, or NULL: not there. A run writes to chunk.used of the slots
 *                    whose rows it uses.
 */
struct host_unwind_tables {
	host_unwind_find_table find;
	host_unwind_find_region find_region;
	void *argument;
	struct abi_unwind_slot *const *parts;
	uint32_t n_parts;
};

/*
 * Who is sampled, and what the maps say of it.
 *
 *   chunks[n_chunks]   chunk i is the element (chunks[i].set, i) of the map `mapping_chunks`
 *   directory          the element (directory->set, ABI_DIRECTORY); NULL: there is none
 *
 * As in the kernel a process entry counts only if its start time and number of execs fit, and a
 * chunk only if it belongs to the entry's set.
 */
struct host_unwind_process {
	uint32_t pid;
	uint32_t tid;
	uint32_t exec_count;
	uint64_t start_time_ns;          /* CLOCK_BOOTTIME */
	const struct abi_process *entry; /* NULL: the process is not known */
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
	const struct host_unwind_tables *tables; /* NULL: none */
};

/*
 * The record as it would go into the ring buffer, in full, and what was counted on the way. Where
 * rows were missing the frames behind the first address that lacks them are only what frame
 * pointers gave.
 */
struct host_unwind_output {
	/* n_user_frames, cut, flags; no times and names: nobody is scheduled here */
	struct abi_sample header;
	struct abi_frame frames[ABI_MAX_FRAMES];
	uint64_t counters[ABI_COUNTER_COUNT];
	uint32_t n_missing;          /* frames whose rows are not resident */
	uint32_t missing_executable; /* of the first of them, if there is one */
	uint64_t missing_address;    /* ELF address */
};

void host_unwind_x86(const struct host_unwind_input *input, struct host_unwind_output *ret_output);
void host_unwind_arm64(const struct host_unwind_input *input,
		       struct host_unwind_output *ret_output);

/* One look-up of an unwind rule, with the state of the cache of recent rules before and after. */
struct host_unwind_lookup {
	const struct host_unwind_tables *tables;
	uint32_t executable;
	uint64_t elf_addr;
	uint64_t time_ns;
	/* struct rule_cache_entry; here the cache has this one entry for all keys */
	uint64_t cached_rule[4];
	struct abi_unwind_rule rule;
	bool was_cached;
};

/* Like host_unwind_find_rule_x86(), with the rule in @lookup. */
int host_unwind_look_up_x86(struct host_unwind_lookup *lookup);
int host_unwind_look_up_arm64(struct host_unwind_lookup *lookup);

/*
 * The rule at an address of an executable, found as a run finds it. 1 found; 0: the address is
 * outside the table; -1: its rows are not resident, or the executable has no table.
 */
int host_unwind_find_rule_x86(const struct host_unwind_tables *tables, uint32_t executable,
			      uint64_t elf_addr, struct abi_unwind_rule *ret_rule);
int host_unwind_find_rule_arm64(const struct host_unwind_tables *tables, uint32_t executable,
				uint64_t elf_addr, struct abi_unwind_rule *ret_rule);
