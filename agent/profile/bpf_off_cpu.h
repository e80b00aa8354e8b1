/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The off-CPU part of the BPF programs: for bpf_programs.c only.
 */

#include "common/base.h"

struct bpf_link;
struct hearth_bpf;

struct bpf_off_cpu {
	struct bpf_link *on_thread; /* NULL when it is not attached, the others as well */
	struct bpf_link *on_switch;
	struct bpf_link *walk;
};

/*
 * Before loading. The programs and maps of a part that is not wanted cost nothing, and need nothing of the kernel.
 */
int bpf_off_cpu_choose(struct hearth_bpf *skeleton, bool wanted);

int bpf_off_cpu_attach(struct hearth_bpf *skeleton, struct bpf_off_cpu *off_cpu);
void bpf_off_cpu_release(struct bpf_off_cpu *off_cpu);
int bpf_off_cpu_open_walk(struct hearth_bpf *skeleton, struct bpf_off_cpu *off_cpu, bool reports);
