/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unwinds a stopped process with the kernel's unwinder on the host and with libdw, and compares.
 *
 * libdw loses rbx where a function has not saved it yet, and with it everything above
 * _dl_runtime_resolve, whose CFA is made of rbx. A stack of libdw's that ends early is accepted if
 * ours has all of it and goes on to the outermost frames that the process had when it was first
 * looked at; it is counted. So is a stack that both end at the same frame before those: a library's
 * _init and _fini have no CFI, and whoever is stopped there learns nothing from the oracle.
 */

#include "tests/host_bpf/oracle.h"

/* Where the process was stopped. */
struct stack_stop {
	uint64_t number; /* from 1 */
	uint64_t pc, sp, frame_pointer;
	uint32_t module;  /* that holds pc, as in target->modules, from 1; 0: none */
	const char *what; /* became of its stack */
};

/* Stops whose stacks were accepted without being alike; more than these are only counted. */
#define STACK_COMPARISON_NOTED 8

struct stack_comparison {
	struct target target;
	struct oracle *oracle;
	struct host_maps maps;
	struct host_unwind_input input;
	struct host_unwind_output output;
	struct oracle_frame_vec expected;
	uint64_t outermost[2]; /* addresses of the two outermost frames */
	struct abi_config config;
	uint64_t n_stacks, n_different, n_by_pointer, n_by_table, n_ended_early, n_both_cut;
	struct stack_stop noted[STACK_COMPARISON_NOTED];
	size_t n_noted;
};

/* @target is taken over. */
void stack_comparison_begin(struct stack_comparison *comparison, struct target *target);
void stack_comparison_end(struct stack_comparison *comparison);

/* Mappings may have come or gone since the last stop. */
void stack_comparison_reload(struct stack_comparison *comparison);

/* The stack as it is now; prints the first few that differ. */
void stack_comparison_run(struct stack_comparison *comparison);

/*
 * All stacks were alike, and no more than one of a hundred was cut short by libdw or by both. If
 * there were more, prints where: a process that runs is not stopped at the same places again.
 */
void stack_comparison_assert_equal(const struct stack_comparison *comparison);
