/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process/cgroup_cache.h"

#include "tests/support/unit.h"

static void processes_in_the_same_cgroups_have_the_same_labels(void **state)
{
	struct process_label labels[PROCESS_MAX_LABELS] = { { .name = 3, .value = 4 },
							    { .name = 5, .value = 6 } };
	const struct process with = {
		.cgroups = 100, .labels = labels, .n_labels = 2, .n_cgroup_labels = 2
	};
	const struct process without = { .cgroups = 200 };
	struct process other = { .cgroups = 100 };
	struct cgroup_cache *cache;

	(void)state;
	assert_ok(cgroup_cache_new(&cache));
	cgroup_cache_add(cache, &with);
	cgroup_cache_add(cache, &without);
	assert_int_equal(cgroup_cache_find(cache, &other), 1);
	assert_int_equal(other.n_labels, 2);
	assert_memory_equal(other.labels, labels, 2 * sizeof(*labels));

	/* The labels that it has inherited from its parent are replaced. */
	other.cgroups = 200;
	assert_int_equal(cgroup_cache_find(cache, &other), 1);
	assert_int_equal(other.n_labels, 0);
	assert_null(other.labels);

	other.cgroups = 300;
	assert_int_equal(cgroup_cache_find(cache, &other), 0);
	other.cgroups = 0;
	assert_int_equal(cgroup_cache_find(cache, &other), 0);
	cgroup_cache_clear(cache);
	other.cgroups = 100;
	assert_int_equal(cgroup_cache_find(cache, &other), 0);
	cgroup_cache_free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_in_the_same_cgroups_have_the_same_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
