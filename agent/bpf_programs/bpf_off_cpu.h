/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Chooses and attaches the BPF programs of off-CPU profiles. Only bpf_programs.c includes this
 * header.
 */

#include "common/base.h"

struct bpf_link;
struct hearth_bpf;

/* Links of the attached programs (bpf/off_cpu.bpf.c). NULL: the program is not attached. */
struct bpf_off_cpu {
	struct bpf_link *on_thread; /* thread creation */
	/*
	 * end of a thread, change of its ID: only if the kernel has no task storage, so that the
	 * state of threads is in a hash map
	 */
	struct bpf_link *on_thread_freed, *on_thread_renamed;
	struct bpf_link *on_switch; /* context switches */
	struct bpf_link *walk;      /* iterator over all threads (bpf/off_cpu_walk.bpf.c) */
};

/*
 * Call before libbpf loads the programs. Disables the programs and maps of off-CPU profiles if
 * @wanted is false. Otherwise enables those that suit the kernel's @features. The kernel does not
 * see a disabled program or map, so it costs nothing and requires no kernel feature.
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

/*
 * Opens a file whose read(2) runs the iterator over all threads and returns its records. @reports:
 * the records have the time of the waits, not only their stacks. Returns the file descriptor or a
 * negative errno.
 */
int bpf_off_cpu_open_walk(struct hearth_bpf *skeleton, struct bpf_off_cpu *off_cpu, bool reports);
