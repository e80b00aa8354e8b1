/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/program_set.h"

#include <bpf/libbpf.h>

#include "bpf/abi/absent_pages.h"
#include "bpf/abi/config.h"
#include "bpf/hearth.skel.h"
#include "tests/support/unit.h"

static const struct bpf_program_row programs[] = {
	{ .name = "hearth_on_switch" },
	{ .name = "hearth_walk_waits", .with = FEATURE_BIT(COPY_FROM_TASK) },
	{ .name = "hearth_walk_waits_fast", .without = FEATURE_BIT(COPY_FROM_TASK) },
};

static const struct bpf_map_row maps[] = {
	{ .name = "thread_waits", .with = FEATURE_BIT(TASK_STORAGE) },
	{ .name = "hashed_waits", .without = FEATURE_BIT(TASK_STORAGE) },
};

static void fit(const struct kernel_features *features, struct abi_config *config)
{
	config->hash_threads = !features->has[KERNEL_FEATURE_TASK_STORAGE];
}

static const struct bpf_program_set set = {
	.programs = programs,
	.n_programs = ARRAY_SIZE(programs),
	.maps = maps,
	.n_maps = ARRAY_SIZE(maps),
	.fit = fit,
};

static int setup(void **state)
{
	*state = hearth_bpf__open();
	assert_non_null(*state);
	return 0;
}

static int teardown(void **state)
{
	hearth_bpf__destroy(*state);
	return 0;
}

static void programs_and_maps_follow_the_features_of_the_kernel(void **state)
{
	const struct bpf_program_choice choice = { .set = &set, .wanted = true };
	struct kernel_features features = { .has[KERNEL_FEATURE_COPY_FROM_TASK] = true };
	struct hearth_bpf *skeleton = *state;

	assert_ok(bpf_program_choice_apply(&choice, skeleton, &features));
	assert_true(bpf_program__autoload(skeleton->progs.hearth_on_switch));
	assert_true(bpf_program__autoload(skeleton->progs.hearth_walk_waits));
	assert_false(bpf_program__autoload(skeleton->progs.hearth_walk_waits_fast));
	assert_false(bpf_map__autocreate(skeleton->maps.thread_waits));
	assert_true(bpf_map__autocreate(skeleton->maps.hashed_waits));
	assert_int_equal(skeleton->rodata->config.hash_threads, 1);
	/* The source attaches them by itself, when it starts. */
	assert_false(bpf_program__autoattach(skeleton->progs.hearth_on_switch));

	features = (struct kernel_features){ .has[KERNEL_FEATURE_TASK_STORAGE] = true };
	assert_ok(bpf_program_choice_apply(&choice, skeleton, &features));
	assert_false(bpf_program__autoload(skeleton->progs.hearth_walk_waits));
	assert_true(bpf_program__autoload(skeleton->progs.hearth_walk_waits_fast));
	assert_true(bpf_map__autocreate(skeleton->maps.thread_waits));
	assert_false(bpf_map__autocreate(skeleton->maps.hashed_waits));
	assert_int_equal(skeleton->rodata->config.hash_threads, 0);
}

static void nothing_of_a_disabled_source_is_loaded(void **state)
{
	const struct bpf_program_choice choice = { .set = &set };
	const struct kernel_features features = {};
	struct hearth_bpf *skeleton = *state;

	assert_ok(bpf_program_choice_apply(&choice, skeleton, &features));
	assert_false(bpf_program__autoload(skeleton->progs.hearth_on_switch));
	assert_false(bpf_program__autoload(skeleton->progs.hearth_walk_waits_fast));
	assert_false(bpf_map__autocreate(skeleton->maps.hashed_waits));
	assert_int_equal(skeleton->rodata->config.hash_threads, 0);
}

static void a_name_that_no_program_has_is_an_error(void **state)
{
	static const struct bpf_program_row wrong_program[] = { { .name = "hearth_on_nothing" } };
	static const struct bpf_map_row wrong_map[] = { { .name = "nothing" } };
	const struct bpf_program_set sets[] = {
		{ .programs = wrong_program, .n_programs = 1 },
		{ .maps = wrong_map, .n_maps = 1 },
	};
	const struct kernel_features features = {};

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		const struct bpf_program_choice choice = { .set = &sets[i], .wanted = true };

		assert_errno(bpf_program_choice_apply(&choice, *state, &features), -ENOENT);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(programs_and_maps_follow_the_features_of_the_kernel),
		TEST(nothing_of_a_disabled_source_is_loaded),
		TEST(a_name_that_no_program_has_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
