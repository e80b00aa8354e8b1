/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/kernel_features.h"

#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "tests/support/unit.h"

static struct kernel_features all_features(void)
{
	struct kernel_features features = {};

	memset(features.has, true, sizeof(features.has));
	return features;
}

static void unknown_feature_names_are_reported(void **state)
{
	const char *unknown = NULL;
	size_t length = 0;

	(void)state;
	assert_true(kernel_features_are_known("", &unknown, &length));
	assert_true(kernel_features_are_known("bpf-loop,task-storage", &unknown, &length));
	assert_false(kernel_features_are_known("bpf-loop,loop,task-storage", &unknown, &length));
	assert_int_equal(length, 4);
	assert_memory_equal(unknown, "loop", 4);
}

static void a_kernel_without_bpf_loop_gets_the_variant_without_it(void **state)
{
	struct kernel_features features = all_features();

	(void)state;
	assert_int_equal(kernel_features_variant(&features), BPF_VARIANT_CURRENT);
	features.task_work_of_7 = true;
	assert_int_equal(kernel_features_variant(&features), BPF_VARIANT_KERNEL_7);
	features.has[KERNEL_FEATURE_BPF_LOOP] = false;
	assert_int_equal(kernel_features_variant(&features), BPF_VARIANT_KERNEL_5);
}

static void the_label_lists_the_features_without_which_profiles_lose_something(void **state)
{
	struct kernel_features features = all_features();
	struct bytes lacks = BYTES_INIT(1024);

	(void)state;
	/* Profiles lose nothing without this feature. */
	features.has[KERNEL_FEATURE_TASK_WORK] = false;
	assert_int_equal(kernel_features_append_lacks(&features, &lacks), 0);
	assert_int_equal(lacks.size, 0);
	features.has[KERNEL_FEATURE_BPF_LOOP] = false;
	features.has[KERNEL_FEATURE_TASK_STORAGE] = false;
	assert_int_equal(kernel_features_append_lacks(&features, &lacks), 0);
	assert_int_equal(lacks.size, strlen("bpf-loop,task-storage"));
	assert_memory_equal(lacks.data, "bpf-loop,task-storage", lacks.size);
	bytes_release(&lacks);
}

/*
 * Without the permission to probe, no feature is found; this must not look like a result of the
 * list.
 */
static void listed_features_count_as_missing(void **state)
{
	struct kernel_features features = all_features();

	(void)state;
	kernel_features_probe(
		"bpf-loop,hash-on-demand,task-storage,copy-from-user-task,sched-info,task-work",
		&features);
	for (size_t i = 0; i < KERNEL_FEATURE_COUNT; i++)
		assert_false(features.has[i]);
}

/*
 * If no program may be loaded at all, lockdown is not the reason. tests/kernels/checks/81 tests
 * that lockdown is a reason.
 */
static void only_lockdown_forbids_programs_to_read_kernel_memory(void **state)
{
	scoped(bytes_release) struct bytes lockdown = BYTES_INIT(4096);
	bool locked = false;

	(void)state;
	if (file_read("/sys/kernel/security/lockdown", &lockdown) >= 0 &&
	    bytes_append_byte(&lockdown, 0) == 0)
		locked = strstr((const char *)lockdown.data, "[confidentiality]") != NULL;
	assert_int_equal(kernel_lets_bpf_read_memory(), !locked || geteuid() != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_feature_names_are_reported),
		cmocka_unit_test(a_kernel_without_bpf_loop_gets_the_variant_without_it),
		cmocka_unit_test(
			the_label_lists_the_features_without_which_profiles_lose_something),
		cmocka_unit_test(listed_features_count_as_missing),
		cmocka_unit_test(only_lockdown_forbids_programs_to_read_kernel_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
