/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The off-CPU part of the BPF programs. Only bpf_programs.c includes this header.
 */

#include "common/base.h"

struct bpf_link;
struct hearth_bpf;

/* A link is NULL if its program is not attached. */
struct bpf_off_cpu {
	struct bpf_link *on_thread;
	/* used only if threads are kept in the hash map */
	struct bpf_link *on_thread_freed, *on_thread_renamed;
	struct bpf_link *on_switch;
	struct bpf_link *walk;
};

/*
 * Call before loading. Disables the programs and maps of off-CPU profiles if @wanted is false, and
 * chooses between alternatives by @features. A disabled program or map costs nothing and requires
 * no kernel feature.
 */
struct kernel_features;
int bpf_off_cpu_choose(struct hearth_bpf *skeleton, const struct kernel_features *features,
		       bool wanted);

/*
 * Kernel memory for each thread in bytes, rounded up as the kernel's allocator does. 0 if off-CPU
 * profiles are disabled.
 */
uint64_t bpf_off_cpu_bytes_per_thread(const struct hearth_bpf *skeleton);

int bpf_off_cpu_attach(struct hearth_bpf *skeleton, struct bpf_off_cpu *off_cpu);
void bpf_off_cpu_release(struct bpf_off_cpu *off_cpu);
int bpf_off_cpu_open_walk(struct hearth_bpf *skeleton, struct bpf_off_cpu *off_cpu, bool reports);
