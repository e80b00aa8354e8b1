/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "common/base.h"

/*
 * Returns whether the running kernel's BTF contains @name. It contains the name of each kernel
 * function that BPF programs may call. Reads /sys/kernel/btf/vmlinux in pieces (some 6 MB, a few
 * milliseconds) and keeps nothing, because parsed BTF would take that much memory. Also returns
 * false if the file cannot be read.
 */
bool kernel_btf_names(const char *name);

/*
 * Number of arguments of a tracepoint: those of its function in BPF programs (tp_btf). 0: the
 * kernel does not have it. @name is "sched_switch" or the like. Parses all BTF of the kernel
 * meanwhile.
 */
unsigned int kernel_btf_tracepoint_arguments(const char *name);
