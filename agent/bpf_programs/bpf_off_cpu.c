/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/bpf_off_cpu.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "agent/bpf_programs/kernel_features.h"
#include "bpf/abi/config.h"
#include "bpf/hearth.skel.h"
#include "common/log.h"

/*
 * Bytes in front of each value in task storage (struct bpf_local_storage_elem). A hash map has
 * fewer.
 */
#define THREAD_HEADER_BYTES 128

/*
 * Since 5.18 (9c2136be0878) the tracepoint sched_switch has a fourth argument: the state that the
 * scheduler used for its decision.
 */
static bool switch_has_state(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *type = NULL;
	int32_t id = btf ? btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF)
			 : -ENOENT;
	bool has_state;

	if (id > 0)
		/* The typedef is of a pointer to the function's prototype. */
		type = btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type);
	if (type)
		type = btf__type_by_id(btf, type->type);
	/* The first of the five parameters belongs to the tracepoint itself. */
	has_state = type && btf_is_func_proto(type) && btf_vlen(type) == 5;
	btf__free(btf);
	return has_state;
}

struct program_choice {
	struct bpf_program *program;
	bool wanted;
};

struct map_choice {
	struct bpf_map *map;
	bool wanted;
};

int bpf_off_cpu_choose(struct hearth_bpf *skeleton, const struct kernel_features *features,
		       bool wanted)
{
	bool in_parts = wanted && !features->has[KERNEL_FEATURE_BPF_LOOP];
	bool hashed = wanted && !features->has[KERNEL_FEATURE_TASK_STORAGE];
	bool sleeps = features->has[KERNEL_FEATURE_COPY_FROM_TASK];
	const struct program_choice programs[] = {
		{ skeleton->progs.hearth_on_switch, wanted },
		{ skeleton->progs.hearth_wait_part, in_parts },
		{ skeleton->progs.hearth_on_thread, wanted },
		{ skeleton->progs.hearth_on_thread_freed, hashed },
		{ skeleton->progs.hearth_on_thread_renamed, hashed },
		{ skeleton->progs.hearth_walk_waits, wanted && sleeps },
		{ skeleton->progs.hearth_walk_waits_fast, wanted && !sleeps },
	};
	const struct map_choice maps[] = {
		{ skeleton->maps.thread_waits, wanted && !hashed },
		{ skeleton->maps.hashed_waits, hashed },
		{ skeleton->maps.blank_waits, hashed },
		{ skeleton->maps.wait_parts, in_parts },
		{ skeleton->maps.off_cpu_scratch, wanted },
		{ skeleton->maps.new_waits, wanted },
		{ skeleton->maps.capture_budgets, wanted },
		{ skeleton->maps.walk_scratches, wanted },
	};
	struct abi_config *config = (struct abi_config *)&skeleton->rodata->config;

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		int r = bpf_program__set_autoload(programs[i].program, programs[i].wanted);

		if (r < 0)
			return r;
		bpf_program__set_autoattach(programs[i].program, false);
	}
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		int r = bpf_map__set_autocreate(maps[i].map, maps[i].wanted);

		if (r < 0)
			return r;
	}
	config->hash_threads = hashed;
	config->has_sched_info = features->has[KERNEL_FEATURE_SCHED_INFO];
	if (wanted)
		config->switch_has_state = switch_has_state();
	return 0;
}

static int attach_to_threads(struct hearth_bpf *skeleton, struct bpf_off_cpu *off_cpu)
{
	off_cpu->on_thread = bpf_program__attach(skeleton->progs.hearth_on_thread);
	if (!off_cpu->on_thread || !bpf_program__autoload(skeleton->progs.hearth_on_thread_freed))
		return off_cpu->on_thread ? 0 : -1;
	off_cpu->on_thread_freed = bpf_program__attach(skeleton->progs.hearth_on_thread_freed);
	if (off_cpu->on_thread_freed)
		off_cpu->on_thread_renamed =
			bpf_program__attach(skeleton->progs.hearth_on_thread_renamed);
	return off_cpu->on_thread_renamed ? 0 : -1;
}

static struct bpf_program *walk_program(const struct hearth_bpf *skeleton)
{
	return bpf_program__autoload(skeleton->progs.hearth_walk_waits)
		       ? skeleton->progs.hearth_walk_waits
		       : skeleton->progs.hearth_walk_waits_fast;
}

int bpf_off_cpu_attach(struct hearth_bpf *skeleton, struct bpf_off_cpu *off_cpu)
{
	/*
	 * Attach to thread creation first: a thread that is created between the two calls then has
	 * its state in the map before it leaves a CPU for the first time.
	 */
	if (attach_to_threads(skeleton, off_cpu) == 0)
		off_cpu->on_switch = bpf_program__attach(skeleton->progs.hearth_on_switch);
	if (off_cpu->on_switch)
		off_cpu->walk = bpf_program__attach_iter(walk_program(skeleton), NULL);
	if (!off_cpu->walk)
		return log_error_errno(errno ? -errno : -EIO, "cannot watch context switches: %m");
	return 0;
}

void bpf_off_cpu_release(struct bpf_off_cpu *off_cpu)
{
	bpf_link__destroy(off_cpu->on_switch);
	bpf_link__destroy(off_cpu->on_thread);
	bpf_link__destroy(off_cpu->on_thread_freed);
	bpf_link__destroy(off_cpu->on_thread_renamed);
	bpf_link__destroy(off_cpu->walk);
}

uint64_t bpf_off_cpu_bytes_per_thread(const struct hearth_bpf *skeleton)
{
	uint64_t needed = bpf_map__value_size(skeleton->maps.thread_waits) + THREAD_HEADER_BYTES;
	uint64_t bytes = 1;

	if (!bpf_map__autocreate(skeleton->maps.thread_waits) &&
	    !bpf_map__autocreate(skeleton->maps.hashed_waits))
		return 0;
	while (bytes < needed)
		bytes *= 2;
	return bytes;
}

int bpf_off_cpu_open_walk(struct hearth_bpf *skeleton, struct bpf_off_cpu *off_cpu, bool reports)
{
	int fd;

	__atomic_store_n(&skeleton->bss->control.walk_reports, reports, __ATOMIC_RELAXED);
	fd = bpf_iter_create(bpf_link__fd(off_cpu->walk));
	return fd < 0 ? -errno : fd;
}
