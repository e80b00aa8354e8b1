/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/profile/bpf_off_cpu.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf/abi/config.h"
#include "bpf/hearth.skel.h"
#include "common/log.h"

/* Since 5.18 (9c2136be0878) sched_switch tells the state that the scheduler decided on, after the two tasks. */
static bool switch_tells_state(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *type = NULL;
	int32_t id = btf ? btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF) : -ENOENT;
	bool tells;

	if (id > 0)
		type = btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type); /* typedef of a pointer */
	if (type)
		type = btf__type_by_id(btf, type->type);
	/* The first is the tracepoint's own. */
	tells = type && btf_is_func_proto(type) && btf_vlen(type) == 5;
	btf__free(btf);
	return tells;
}

int bpf_off_cpu_choose(struct hearth_bpf *skeleton, bool wanted)
{
	struct bpf_program *const programs[] = {
		skeleton->progs.hearth_on_switch,
		skeleton->progs.hearth_on_thread,
		skeleton->progs.hearth_walk_waits,
	};
	struct bpf_map *const maps[] = {
		skeleton->maps.thread_waits,
		skeleton->maps.off_cpu_scratch,
		skeleton->maps.capture_budgets,
		skeleton->maps.walk_scratches,
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(programs) && r == 0; i++) {
		bpf_program__set_autoattach(programs[i], false);
		r = bpf_program__set_autoload(programs[i], wanted);
	}
	for (size_t i = 0; i < ARRAY_SIZE(maps) && r == 0; i++)
		r = bpf_map__set_autocreate(maps[i], wanted);
	if (wanted)
		((struct abi_config *)&skeleton->rodata->config)->switch_tells_state = switch_tells_state();
	return r;
}

int bpf_off_cpu_attach(struct hearth_bpf *skeleton, struct bpf_off_cpu *off_cpu)
{
	/* Threads first: one that is made meanwhile has its place before it first leaves a CPU. */
	off_cpu->on_thread = bpf_program__attach(skeleton->progs.hearth_on_thread);
	if (off_cpu->on_thread)
		off_cpu->on_switch = bpf_program__attach(skeleton->progs.hearth_on_switch);
	if (off_cpu->on_switch)
		off_cpu->walk = bpf_program__attach_iter(skeleton->progs.hearth_walk_waits, NULL);
	if (!off_cpu->walk)
		return log_error_errno(errno ? -errno : -EIO, "cannot watch context switches: %m");
	return 0;
}

void bpf_off_cpu_release(struct bpf_off_cpu *off_cpu)
{
	bpf_link__destroy(off_cpu->on_switch);
	bpf_link__destroy(off_cpu->on_thread);
	bpf_link__destroy(off_cpu->walk);
}

int bpf_off_cpu_open_walk(struct hearth_bpf *skeleton, struct bpf_off_cpu *off_cpu, bool reports)
{
	int fd;

	__atomic_store_n(&skeleton->bss->control.walk_reports, reports, __ATOMIC_RELAXED);
	fd = bpf_iter_create(bpf_link__fd(off_cpu->walk));
	return fd < 0 ? -errno : fd;
}
