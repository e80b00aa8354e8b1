/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/kernel_features.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>
#include <unistd.h>

#include "agent/bpf_programs/kernel_btf.h"
#include "common/log.h"
#include "common/scoped.h"

struct feature_row {
	const char *name;
	const char *since;
	const char *fallback;
	const char *lost;
};

static const struct feature_row rows[] = {
#define KERNEL_FEATURE(id, feature_name, feature_since, feature_fallback, feature_lost)            \
	[KERNEL_FEATURE_##id] = { feature_name, feature_since, feature_fallback, feature_lost },
#include "agent/bpf_programs/kernel_features.def"
#undef KERNEL_FEATURE
};

/*
 * Loads a perf_event program that looks up a key in a hash map without preallocated elements.
 * Verifiers before 6.1 refuse it.
 */
static bool takes_hash_on_demand(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	scoped_fd int map = bpf_map_create(BPF_MAP_TYPE_HASH, "hearth_probe", sizeof(uint32_t),
					   sizeof(uint32_t), 1, &options);
	/* Some instruction codes omit BPF_K, BPF_LD and BPF_IMM, which are 0. */
	const struct bpf_insn program[] = {
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X,
		  .dst_reg = BPF_REG_2,
		  .src_reg = BPF_REG_10 },
		{ .code = BPF_ALU64 | BPF_ADD, .dst_reg = BPF_REG_2, .imm = -4 },
		{ .code = BPF_LD | BPF_DW,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = map },
		{}, /* second half of the load above */
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	scoped_fd int loaded = -1;

	if (map < 0)
		return false;
	loaded = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "hearth_probe", "GPL", program,
			       ARRAY_SIZE(program), NULL);
	return loaded >= 0;
}

static bool has_feature(enum kernel_feature feature, const struct kernel_features *features)
{
	switch (feature) {
	case KERNEL_FEATURE_BPF_LOOP:
		return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) == 1;
	case KERNEL_FEATURE_HASH_ON_DEMAND:
		return takes_hash_on_demand();
	/*
	 * libbpf_probe_bpf_helper() does not support the program types that call these helpers, so
	 * the kernel's list of helpers is searched instead. Linux 5.11 lists bpf_task_storage_get()
	 * but allows it to other program types only; therefore bpf_loop(), which is newer, is
	 * required too.
	 */
	case KERNEL_FEATURE_TASK_STORAGE:
		return features->has[KERNEL_FEATURE_BPF_LOOP] &&
		       kernel_btf_names("BPF_FUNC_task_storage_get");
	case KERNEL_FEATURE_COPY_FROM_TASK:
		return features->has[KERNEL_FEATURE_BPF_LOOP] &&
		       kernel_btf_names("BPF_FUNC_copy_from_user_task");
	/* These fields exist only with CONFIG_SCHED_INFO and CONFIG_FAIR_GROUP_SCHED. */
	case KERNEL_FEATURE_SCHED_INFO:
		return kernel_btf_names("last_queued") && kernel_btf_names("my_q");
	case KERNEL_FEATURE_TASK_WORK:
		return features->has[KERNEL_FEATURE_BPF_LOOP] &&
		       kernel_btf_names("bpf_local_irq_save") &&
		       (features->task_work_of_7 ||
			kernel_btf_names("bpf_task_work_schedule_resume_impl"));
	case KERNEL_FEATURE_COUNT:
		break;
	}
	return false;
}

/* Loads a perf_event program that reads 8 bytes at address 0 with @helper. It is never run. */
static bool takes_read(int helper)
{
	/* BPF_K is 0. */
	const struct bpf_insn program[] = {
		{ .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_REG_10 },
		{ .code = BPF_ALU64 | BPF_ADD, .dst_reg = BPF_REG_1, .imm = -8 },
		{ .code = BPF_ALU64 | BPF_MOV, .dst_reg = BPF_REG_2, .imm = 8 },
		{ .code = BPF_ALU64 | BPF_MOV, .dst_reg = BPF_REG_3 },
		{ .code = BPF_JMP | BPF_CALL, .imm = helper },
		{ .code = BPF_ALU64 | BPF_MOV, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	scoped_fd int loaded = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "hearth_probe", "GPL",
					     program, ARRAY_SIZE(program), NULL);

	return loaded >= 0;
}

/*
 * If the kernel also refuses a program that reads user memory, then the process may not load BPF
 * programs at all, and lockdown is not the reason for the first refusal. This function then returns
 * true, and loading the agent's programs reports the reason. libbpf_probe_bpf_helper() of libbpf
 * 1.1 cannot be used, because it searches for a message that the verifier of Linux 6.12 words
 * differently.
 */
bool kernel_lets_bpf_read_memory(void)
{
	return takes_read(BPF_FUNC_probe_read_kernel) || !takes_read(BPF_FUNC_probe_read_user);
}

static size_t find_row(const char *name, size_t length)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(rows) &&
	       (strlen(rows[i].name) != length || memcmp(rows[i].name, name, length) != 0))
		i++;
	return i;
}

/* Whether @list contains @name. */
static bool is_listed(const char *list, const char *name)
{
	size_t length;

	for (; *list; list += length + (list[length] == ',')) {
		length = strcspn(list, ",");
		if (strlen(name) == length && memcmp(list, name, length) == 0)
			return true;
	}
	return false;
}

bool kernel_features_are_known(const char *list, const char **ret_unknown, size_t *ret_length)
{
	size_t length;

	for (; *list; list += length + (list[length] == ',')) {
		length = strcspn(list, ",");
		if (find_row(list, length) < ARRAY_SIZE(rows))
			continue;
		*ret_unknown = list;
		*ret_length = length;
		return false;
	}
	return true;
}

void kernel_features_probe(const char *without, struct kernel_features *ret_features)
{
	struct kernel_features features = {
		.task_work_of_7 = kernel_btf_names("bpf_task_work_schedule_resume"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		features.has[i] = !is_listed(without, rows[i].name) &&
				  has_feature((enum kernel_feature)i, &features);
	*ret_features = features;
}

enum bpf_variant kernel_features_variant(const struct kernel_features *features)
{
	if (!features->has[KERNEL_FEATURE_BPF_LOOP])
		return BPF_VARIANT_KERNEL_5;
	return features->task_work_of_7 ? BPF_VARIANT_KERNEL_7 : BPF_VARIANT_CURRENT;
}

void kernel_features_log(const struct kernel_features *features, const char *release)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (features->has[i])
			continue;
		if (rows[i].lost[0])
			log_warn("kernel '%s' lacks %s (Linux %s): %s; fallback: %s", release,
				 rows[i].name, rows[i].since, rows[i].lost, rows[i].fallback);
		else
			log_debug("kernel '%s' lacks %s (Linux %s); fallback: %s", release,
				  rows[i].name, rows[i].since, rows[i].fallback);
	}
}

int kernel_features_append_lacks(const struct kernel_features *features, struct bytes *out)
{
	size_t before = out->size;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows) && r == 0; i++) {
		if (features->has[i] || !rows[i].lost[0])
			continue;
		r = bytes_append_format(out, "%s%s", out->size > before ? "," : "", rows[i].name);
	}
	return r;
}
