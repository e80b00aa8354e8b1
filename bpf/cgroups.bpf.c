// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Computes a hash of the cgroups of a process in all hierarchies. Processes in the same cgroups
 * have the same hash, so the agent reads /proc/PID/cgroup once for each hash instead of once for
 * each process.
 */
#include "bpf/include/sample.bpf.h"

#include <bpf/bpf_core_read.h>

/*
 * Maximum number of hierarchies: the one of cgroup version 2, one for each of the 14 controllers of
 * version 1, and some named hierarchies.
 */
#define MAX_HIERARCHIES 24

/*
 * BPF_CORE_READ() reads the fields with a helper. Direct accesses are not possible, because the
 * verifier does not know the type of an address that is computed from a list entry.
 */
static __always_inline __u64 add_cgroup(__u64 hash, struct cgrp_cset_link *link)
{
	struct cgroup *cgroup = BPF_CORE_READ(link, cgrp);
	__u64 root = (__u64)BPF_CORE_READ(cgroup, root);
	__u64 id = BPF_CORE_READ(cgroup, kn, id);

	/* An ID is unique within one hierarchy and never reused. */
	hash = (hash ^ id ^ (root << 20)) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}

__hidden void sample_note_cgroups(struct sample *sample)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct list_head *head, *at;
	struct css_set *set;
	__u64 hash = 0;

	if (!(sample->header.flags & ABI_SAMPLE_UNKNOWN) &&
	    !(sample->process_flags & ABI_PROCESS_WITH_CGROUPS))
		return;
	if (!bpf_core_field_exists(task->cgroups))
		return;
	set = BPF_CORE_READ(task, group_leader, cgroups);
	head = (struct list_head *)((char *)set +
				    bpf_core_field_offset(struct css_set, cgrp_links));
	at = BPF_CORE_READ(head, next);
	for (int i = 0; i < MAX_HIERARCHIES; i++) {
		if (!at)
			return;
		if (at == head) {
			sample->header.cgroups = hash;
			return;
		}
		hash = add_cgroup(
			hash, (struct cgrp_cset_link *)((char *)at -
							bpf_core_field_offset(struct cgrp_cset_link,
									      cgrp_link)));
		at = BPF_CORE_READ(at, next);
	}
}
