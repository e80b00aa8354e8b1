/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Replaces libbpf's header of this name when BPF programs are compiled for the host. No access is
 * relocated to the layout of a running kernel: the host program fills the structs of
 * bpf/include/kernel_types.h itself.
 */

#include <bpf/bpf_helpers.h>

#define bpf_core_read(destination, size, source) bpf_probe_read_kernel(destination, size, source)
#define bpf_core_field_exists(field)             1
#define bpf_core_type_exists(type)               1
#define bpf_core_type_size(type)                 sizeof(type)
