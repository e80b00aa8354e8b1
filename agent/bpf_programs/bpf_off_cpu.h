/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The off-CPU part of the BPF programs: for bpf_programs.c only.
 */

#include "common/base.h"

struct bpf_link;
struct hearth_bpf;

/* A link is NULL when its program is not attached. */
struct bpf_off_cpu {
	struct bpf_link *on_thread;
	/* only with the hash map of threads */
	struct bpf_link *on_thread_freed, *on_thread_renamed;
	struct bpf_link *on_switch;
	struct bpf_link *walk;
};

/*
 * Before loading: leaves out the programs and maps that are not wanted, or that @features replaces
 * by others. They cost nothing and need no feature of the kernel.
 */
struct kernel_features;
int bpf_off_cpu_choose(struct hearth_bpf *skeleton, const struct kernel_features *features,
		       bool wanted);

/*
 * After loading: sets the target of the tail calls that walk a stack in parts, if this kernel needs
 * them. 0 or errno.
 */
int bpf_off_cpu_set_part(struct hearth_bpf *skeleton);

/*
 * Kernel memory for each thread, rounded up as the kernel's allocator does; 0: off-CPU profiles are
 * disabled.
 */
uint64_t bpf_off_cpu_bytes_per_thread(const struct hearth_bpf *skeleton);

int bpf_off_cpu_attach(struct hearth_bpf *skeleton, struct bpf_off_cpu *off_cpu);
void bpf_off_cpu_release(struct bpf_off_cpu *off_cpu);
int bpf_off_cpu_open_walk(struct hearth_bpf *skeleton, struct bpf_off_cpu *off_cpu, bool reports);
