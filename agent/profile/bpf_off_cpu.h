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
	struct bpf_link *on_thread_freed, *on_thread_renamed; /* where threads are kept in a hash */
	struct bpf_link *on_switch;
	struct bpf_link *walk;
};

/*
 * Before loading. The programs and maps of a part that is not wanted, or replaced by another because of @features, cost
 * nothing, and need nothing of the kernel.
 */
struct kernel_features;
int bpf_off_cpu_choose(struct hearth_bpf *skeleton, const struct kernel_features *features, bool wanted);

/* After loading. The program that walks a stack's next frames, where it is walked in parts. 0 or negative errno. */
int bpf_off_cpu_set_part(struct hearth_bpf *skeleton);

/* Kernel memory that is kept of each thread, as the kernel's allocator rounds it; 0: the part was not wanted. */
uint64_t bpf_off_cpu_bytes_per_thread(const struct hearth_bpf *skeleton);

int bpf_off_cpu_attach(struct hearth_bpf *skeleton, struct bpf_off_cpu *off_cpu);
void bpf_off_cpu_release(struct bpf_off_cpu *off_cpu);
int bpf_off_cpu_open_walk(struct hearth_bpf *skeleton, struct bpf_off_cpu *off_cpu, bool reports);
