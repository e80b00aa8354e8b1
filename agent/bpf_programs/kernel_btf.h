/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "common/base.h"

/*
 * Whether the types of the running kernel name something @name: a function that BPF programs may
 * call is there under its name. Reads /sys/kernel/btf/vmlinux in pieces (some 6 MB, a few
 * milliseconds) and keeps nothing: parsing it takes that much memory. False also when it cannot be
 * read.
 */
bool kernel_btf_names(const char *name);
