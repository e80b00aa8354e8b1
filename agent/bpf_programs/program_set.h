/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The BPF programs and maps of one event source, by name. bpf_programs_load() loads and creates
 * only what the source needs on the running kernel. The kernel does not see a program that is not
 * loaded or a map that is not created, so it costs nothing and requires no kernel feature.
 *
 * Programs and maps that are in no set are loaded and created always.
 */

#include "agent/bpf_programs/kernel_features.h"

struct abi_config;
struct hearth_bpf;

/* For the fields `with` and `without` of the rows below. */
#define FEATURE_BIT(feature) (1u << KERNEL_FEATURE_##feature)

struct bpf_program_row {
	const char *name;
	uint32_t with;    /* loaded only if the kernel has all these features */
	uint32_t without; /* loaded only if the kernel has none of these features */
	/*
	 * bpf_programs_attach() attaches it. Others are called in another way: tail calls, timers.
	 */
	bool attached;
};

struct bpf_map_row {
	const char *name;
	uint32_t with; /* as for programs */
	uint32_t without;
	/* program that element 0 of the map calls by a tail call; NULL: the map has no programs */
	const char *tail_call;
	/*
	 * its memory is left out of bpf_programs_memory_bytes(): the source computes it by itself
	 */
	bool left_out;
};

struct bpf_program_set {
	const struct bpf_program_row *programs; /* attached in this order */
	size_t n_programs;
	const struct bpf_map_row *maps;
	size_t n_maps;
	/*
	 * Sets the constants of the programs that depend on the kernel, before they are loaded.
	 * NULL: none do.
	 */
	void (*fit)(const struct kernel_features *features, struct abi_config *config);
};

/* A set, and whether its source is enabled. If not, nothing of the set is loaded. */
struct bpf_program_choice {
	const struct bpf_program_set *set;
	bool wanted;
};

/*
 * Call before the skeleton is loaded, and the second function afterwards. 0, -ENOENT if no program
 * or map has a name of the set, or another negative errno of libbpf.
 */
int bpf_program_choice_apply(const struct bpf_program_choice *choice, struct hearth_bpf *skeleton,
			     const struct kernel_features *features);
int bpf_program_choice_set_tail_calls(const struct bpf_program_choice *choice,
				      const struct hearth_bpf *skeleton);
