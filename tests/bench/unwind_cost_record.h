/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/* Parameters and results of the BPF programs of unwind_cost. */
#ifndef __bpf__
#include <linux/types.h>
#endif

struct unwind_cost {
	__u32 rounds;
	__u32 n_frames; /* of the last stack */
	__u32 cut;
	__u64 ns; /* of the last run, all rounds together */
	__s64 fp_walk_bytes;

	/* unwind rows that were not resident in the last round */
	__u32 n_missing;
	__u32 missing_executable;
	__u64 missing_address;
};
