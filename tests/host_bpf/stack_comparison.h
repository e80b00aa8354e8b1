/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unwinds a stopped process with the BPF unwinder on the host and with libdw, and compares the
 * stacks.
 *
 * If a function has not saved rbx yet, libdw loses rbx, and with it everything above
 * _dl_runtime_resolve, where the CFA is based on rbx. If libdw's stack ends early, it is accepted
 * and counted if our stack contains it and continues to the outermost frames that the process had
 * at the first stop. A stack that both unwinders end at the same earlier frame is accepted and
 * counted too: a library's _init and _fini have no CFI, so libdw's stack shows nothing there.
 */

#include "tests/host_bpf/oracle.h"

/* A point at which the process was stopped. */
struct stack_stop {
	uint64_t number; /* from 1 */
	uint64_t pc, sp, frame_pointer;
	uint32_t module; /* the module with pc, an index into target->modules from 1; 0: none */
	const char *difference; /* between the two stacks */
};

/* Stops with stacks that were accepted although they differ. Further ones are only counted. */
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

/* Takes ownership of @target. */
void stack_comparison_begin(struct stack_comparison *comparison, struct target *target);
void stack_comparison_end(struct stack_comparison *comparison);

/* Call if mappings may have changed since the last stop. */
void stack_comparison_reload(struct stack_comparison *comparison);

/* Compares the current stacks. Prints the first few that differ. */
void stack_comparison_run(struct stack_comparison *comparison);

/*
 * Asserts that all stacks were equal, and that libdw or both unwinders cut no more than one of a
 * hundred. If more were cut, prints where, because a running program is not stopped at the same
 * points again.
 */
void stack_comparison_assert_equal(const struct stack_comparison *comparison);
