/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/bpf_fit.h"

#include <bpf/libbpf.h>
#include <unistd.h>

#include "bpf/abi/absent_pages.h"
#include "bpf/abi/config.h"
#include "bpf/hearth.skel.h"

/*
 * Maximum numbers of entries on kernels that require preallocated hash maps (preallocate_hashes()).
 * The two maps of processes then take 2 MiB together, and the map of mapping chunks takes 8 MiB. A
 * chunk holds 124 mappings; most processes need one chunk.
 */
#define PREALLOCATED_PROCESSES 8192
#define PREALLOCATED_CHUNKS    2048

/*
 * Chooses how the BPF programs handle stacks on absent pages (bpf/abi/absent_pages.h). The slots
 * for deferred samples take memory, so the map gets more than one slot only if the kernel has task
 * work, with which a thread completes its own sample.
 */
static int prepare_for_absent_pages(struct hearth_bpf *skeleton,
				    const struct kernel_features *features)
{
	uint32_t *mode = (uint32_t *)&skeleton->rodata->config.absent_pages;
	int r;

	if (*mode == ABI_ABSENT_PAGES_DEFER && !features->has[KERNEL_FEATURE_TASK_WORK])
		*mode = ABI_ABSENT_PAGES_TOUCH;
	r = bpf_map__set_max_entries(skeleton->maps.absent_pages, (uint32_t)sysconf(_SC_PAGESIZE));
	if (r < 0 || *mode == ABI_ABSENT_PAGES_DEFER)
		return r;
	r = bpf_program__set_autoload(skeleton->progs.hearth_sweep_deferred, false);
	if (r < 0)
		return r;
	return bpf_map__set_max_entries(skeleton->maps.deferred_samples, 1);
}

/*
 * The verifier of kernels before 6.1 refuses a perf_event program that uses a hash map with
 * BPF_F_NO_PREALLOC. Without that flag the kernel allocates all entries when it creates the map, so
 * maps that would take much memory get fewer entries.
 */
static int preallocate_hashes(struct hearth_bpf *skeleton)
{
	const struct {
		struct bpf_map *map;
		uint32_t max_entries;
	} hashes[] = {
		{ skeleton->maps.processes, PREALLOCATED_PROCESSES },
		{ skeleton->maps.exec_counts, PREALLOCATED_PROCESSES },
		{ skeleton->maps.mapping_chunks, PREALLOCATED_CHUNKS },
		{ skeleton->maps.jvms, bpf_map__max_entries(skeleton->maps.jvms) },
		{ skeleton->maps.unwind_tables,
		  bpf_map__max_entries(skeleton->maps.unwind_tables) },
		{ skeleton->maps.unwind_regions,
		  bpf_map__max_entries(skeleton->maps.unwind_regions) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(hashes); i++) {
		int r = bpf_map__set_map_flags(hashes[i].map, bpf_map__map_flags(hashes[i].map) &
								      ~BPF_F_NO_PREALLOC);

		if (r < 0)
			return r;
		r = bpf_map__set_max_entries(hashes[i].map, hashes[i].max_entries);
		if (r < 0)
			return r;
	}
	return 0;
}

int bpf_fit_to_kernel(struct hearth_bpf *skeleton, const struct kernel_features *features)
{
	int r;

	if (!features->has[KERNEL_FEATURE_HASH_ON_DEMAND]) {
		r = preallocate_hashes(skeleton);
		if (r < 0)
			return r;
	}
	return prepare_for_absent_pages(skeleton, features);
}
