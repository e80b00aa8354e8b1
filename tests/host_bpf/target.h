/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A process that is stopped under ptrace: its registers, memory, executable mappings and the mapped
 * files.
 */

#include <sys/types.h>

#include "bpf/host/host_unwind.h"
#include "common/elf/elf_file.h"
#include "tests/host_bpf/host_maps.h"

struct target_module {
	char *path; /* "[vdso]" */
	int fd;
	struct elf_file *elf;
	uint64_t bias;
};

VEC_DEFINE(target_module_vec, struct target_module);

struct target {
	pid_t pid;
	bool was_running;                 /* it ran before us, and continues afterwards */
	struct target_module_vec modules; /* executable number i + 1 is modules.items[i] */
	struct host_mapping_vec mappings; /* executable ones, by rising start */
};

/*
 * Starts @arguments (the first is a path) with an empty environment, and stops it at its first
 * instruction.
 */
int target_start(char *const arguments[], struct target *ret_target);

/* Stops a process that is running. */
int target_stop_running(pid_t pid, struct target *ret_target);

/* Ends a process that was started, resumes one that was running. */
void target_release(struct target *target);

/*
 * Runs until a breakpoint instruction; other signals are delivered. Returns 1, or 0 if the process
 * has ended.
 */
int target_run_to_trap(const struct target *target);

/* Runs until it enters system call @number. Returns 1, or 0 if the process has ended. */
int target_run_to_system_call(const struct target *target, long number);

/*
 * Runs for @duration_ns, and stops wherever it is then. Returns 1, or 0 if the process has ended.
 */
int target_run_for(const struct target *target, uint64_t duration_ns);

/* Executes one instruction. Returns 1, or 0 if the process has ended. */
int target_step(const struct target *target);

int target_registers(const struct target *target, struct host_unwind_registers *ret_registers);

/* A host_unwind_read; @argument is the target. */
int target_read(void *argument, uint64_t address, void *buffer, size_t size);

/* Reads the mappings again; modules keep their numbers. */
int target_load_mappings(struct target *target);

/* The mapping that contains @pc, or NULL. */
const struct abi_mapping *target_mapping(const struct target *target, uint64_t pc);

/* Fills the maps with the tables of all modules and the mappings. */
int target_fill_maps(const struct target *target, struct host_maps *maps);
