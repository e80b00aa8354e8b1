/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "common/base.h"

/*
 * Returns whether the running kernel's BTF contains @name. BTF contains the name of each kernel
 * function that BPF programs may call. Reads /sys/kernel/btf/vmlinux (about 6 MB) in pieces, which
 * takes a few milliseconds, and keeps nothing in memory. Also returns false if the file cannot be
 * read.
 */
bool kernel_btf_names(const char *name);

/*
 * Returns the number of arguments that the tracepoint @name, such as "sched_switch", passes to a
 * BPF program (tp_btf); 0 if the kernel does not have the tracepoint. Parses the kernel's whole BTF
 * and frees it again.
 */
unsigned int kernel_btf_tracepoint_arguments(const char *name);
