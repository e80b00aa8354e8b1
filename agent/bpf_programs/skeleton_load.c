/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/skeleton_load.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/bpf_programs/bpf_fit.h"
#include "agent/bpf_programs/bpf_variant.h"
#include "agent/bpf_programs/kernel_check.h"
#include "agent/bpf_programs/load_error.h"
#include "agent/bpf_programs/unwind_maps.h"
#include "bpf/hearth.skel.h"
#include "common/log.h"

/*
 * Entries of the map unwind_regions for each part of the pool (bpf/abi/unwind_maps.h). A part has
 * 64 slots of one chunk each. A chunk covers about 15 code pages of ordinary programs and a region
 * covers 64, so few chunks have code pages in more than two regions.
 */
#define REGIONS_PER_PART (2 * UNWIND_SLOTS_PER_PART)

static int set_map_sizes(struct hearth_bpf *skeleton, const struct bpf_programs_options *options)
{
	uint32_t n_parts = unwind_parts_of_budget(options->unwind_bytes);
	const struct {
		struct bpf_map *map;
		uint32_t max_entries;
	} sizes[] = {
		{ skeleton->maps.unwind_pool, UNWIND_RULE_SLOTS / UNWIND_SLOTS_PER_PART + n_parts },
		{ skeleton->maps.unwind_regions, n_parts * REGIONS_PER_PART },
		{ skeleton->maps.processes, options->max_processes },
		{ skeleton->maps.exec_counts, options->max_processes },
		{ skeleton->maps.mapping_chunks, options->max_processes },
		{ skeleton->maps.samples, (uint32_t)options->ring_bytes },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		int r = bpf_map__set_max_entries(sizes[i].map, sizes[i].max_entries);

		if (r < 0)
			return r;
	}
	return 0;
}

static int open_skeleton(const struct bpf_programs_options *options,
			 const struct kernel_features *features, struct hearth_bpf *skeleton)
{
	int r = hearth_bpf__create_skeleton(skeleton);

	if (r < 0)
		return r;
	bpf_variant_choose(kernel_features_variant(features), skeleton->skeleton);
	r = bpf_object__open_skeleton(skeleton->skeleton, NULL);
	if (r < 0)
		return r;
	/* The skeleton's copy of the struct has another name but the same layout. */
	static_assert(sizeof(skeleton->rodata->config) == sizeof(options->config),
		      "one header for both sides");
	memcpy((void *)&skeleton->rodata->config, &options->config, sizeof(options->config));
	r = set_map_sizes(skeleton, options);
	if (r < 0)
		return r;
	for (size_t i = 0; i < options->n_choices; i++) {
		r = bpf_program_choice_apply(&options->choices[i], skeleton, features);
		if (r < 0)
			return r;
	}
	return bpf_fit_to_kernel(skeleton, features);
}

/* The caller must destroy *ret_skeleton, also on failure, if it is not NULL. */
static int open_and_load(const struct bpf_programs_options *options,
			 const struct kernel_features *features, struct hearth_bpf **ret_skeleton)
{
	struct hearth_bpf *skeleton = calloc(1, sizeof(*skeleton));
	int r;

	if (!skeleton)
		return -ENOMEM;
	*ret_skeleton = skeleton;
	r = open_skeleton(options, features, skeleton);
	return r < 0 ? r : hearth_bpf__load(skeleton);
}

/*
 * Errors with which the verifier refuses a program. Maps may fail with them too; then the second
 * attempt fails for the same reason.
 */
static bool is_refusal(int error)
{
	return error == -EACCES || error == -EINVAL || error == -E2BIG;
}

/*
 * The verifiers of kernels differ. One that refuses the programs with the walks of Python and Java
 * may accept those for kernels without bpf_loop(), which are smaller.
 */
static int load_without_loop(const struct bpf_programs_options *options, int refusal,
			     struct kernel_features *features, struct hearth_bpf **ret_skeleton)
{
	scoped_free char *without = NULL;
	int r;

	log_warn_errno(refusal,
		       "the kernel refuses the BPF programs, loading those for kernels without "
		       "bpf-loop: %m; --log_level=debug prints the verifier's reason; please "
		       "report it with the output of `uname -a`");
	if (asprintf(&without, "bpf-loop,%s", options->kernel_without) < 0)
		return -ENOMEM;
	r = kernel_check(without, options->trust_kernel, features);
	return r < 0 ? r : open_and_load(options, features, ret_skeleton);
}

int skeleton_load(const struct bpf_programs_options *options, struct kernel_features *ret_features,
		  struct hearth_bpf **ret_skeleton)
{
	struct hearth_bpf *skeleton = NULL;
	int r = kernel_check(options->kernel_without, options->trust_kernel, ret_features);

	if (r < 0)
		return r;
	r = open_and_load(options, ret_features, &skeleton);
	if (is_refusal(r) && ret_features->has[KERNEL_FEATURE_BPF_LOOP]) {
		hearth_bpf__destroy(skeleton);
		skeleton = NULL;
		r = load_without_loop(options, r, ret_features, &skeleton);
	}
	if (r < 0) {
		hearth_bpf__destroy(skeleton);
		return load_error_log(r, "load the BPF programs");
	}
	*ret_skeleton = skeleton;
	return 0;
}
