/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/program_set.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi/config.h"
#include "bpf/hearth.skel.h"

static bool suits(const struct kernel_features *features, uint32_t with, uint32_t without)
{
	for (size_t i = 0; i < KERNEL_FEATURE_COUNT; i++) {
		uint32_t bit = 1u << i;

		if ((with & bit && !features->has[i]) || (without & bit && features->has[i]))
			return false;
	}
	return true;
}

static int choose_programs(const struct bpf_program_choice *choice, const struct bpf_object *object,
			   const struct kernel_features *features)
{
	const struct bpf_program_set *set = choice->set;

	for (size_t i = 0; i < set->n_programs; i++) {
		const struct bpf_program_row *row = &set->programs[i];
		struct bpf_program *program = bpf_object__find_program_by_name(object, row->name);
		int r = program ? bpf_program__set_autoload(
					  program, choice->wanted &&
							   suits(features, row->with, row->without))
				: -ENOENT;

		if (r < 0)
			return r;
		bpf_program__set_autoattach(program, false);
	}
	return 0;
}

static int choose_maps(const struct bpf_program_choice *choice, const struct bpf_object *object,
		       const struct kernel_features *features)
{
	const struct bpf_program_set *set = choice->set;

	for (size_t i = 0; i < set->n_maps; i++) {
		const struct bpf_map_row *row = &set->maps[i];
		struct bpf_map *map = bpf_object__find_map_by_name(object, row->name);
		int r = map ? bpf_map__set_autocreate(
				      map,
				      choice->wanted && suits(features, row->with, row->without))
			    : -ENOENT;

		if (r < 0)
			return r;
	}
	return 0;
}

int bpf_program_choice_apply(const struct bpf_program_choice *choice, struct hearth_bpf *skeleton,
			     const struct kernel_features *features)
{
	int r;

	r = choose_programs(choice, skeleton->obj, features);
	if (r == 0)
		r = choose_maps(choice, skeleton->obj, features);
	if (r == 0 && choice->wanted && choice->set->fit)
		choice->set->fit(features, (struct abi_config *)&skeleton->rodata->config);
	return r;
}

int bpf_program_choice_set_tail_calls(const struct bpf_program_choice *choice,
				      const struct hearth_bpf *skeleton)
{
	uint32_t key = 0;

	for (size_t i = 0; i < choice->set->n_maps; i++) {
		const struct bpf_map_row *row = &choice->set->maps[i];
		const struct bpf_map *map = bpf_object__find_map_by_name(skeleton->obj, row->name);
		const struct bpf_program *program =
			row->tail_call
				? bpf_object__find_program_by_name(skeleton->obj, row->tail_call)
				: NULL;
		int fd = program ? bpf_program__fd(program) : -1;

		/* Without a descriptor, the program was not needed and not loaded. */
		if (fd >= 0 && bpf_map_update_elem(bpf_map__fd(map), &key, &fd, BPF_ANY) < 0)
			return -errno;
	}
	return 0;
}
