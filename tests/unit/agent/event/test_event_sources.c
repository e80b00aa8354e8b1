/* SPDX-License-Identifier: Apache-2.0 */
/* The table of event sources, against the configuration and the BPF object that it names. */
#include "agent/event/event_sources.h"

#include "bpf/abi/absent_pages.h"
#include "bpf/hearth.skel.h"
#include "tests/support/unit.h"

static int setup(void **state)
{
	struct agent_config *config = calloc(1, sizeof(*config));

	assert_non_null(config);
	assert_ok(config_set_defaults(&agent_config_table, config));
	*state = config;
	return 0;
}

static int teardown(void **state)
{
	agent_config_release(*state);
	free(*state);
	return 0;
}

static void the_bpf_object_has_every_program_and_map_of_every_source(void **state)
{
	const struct kernel_features features = {};
	struct hearth_bpf *skeleton = hearth_bpf__open();

	(void)state;
	assert_non_null(skeleton);
	for (enum event_source_id i = 0; i < EVENT_SOURCE_COUNT; i++) {
		const struct bpf_program_choice choice = { .set = event_source(i)->programs };

		assert_ok(bpf_program_choice_apply(&choice, skeleton, &features));
	}
	hearth_bpf__destroy(skeleton);
}

static void the_configuration_has_every_key_of_every_source(void **state)
{
	const struct agent_config *config = *state;

	for (enum event_source_id i = 0; i < EVENT_SOURCE_COUNT; i++) {
		const struct event_source *source = event_source(i);

		/* The function asserts that there is such a key. */
		for (const char *const *key = source->restart_keys; key && *key; key++)
			assert_false(agent_config_differs(config, config, *key));
		if (!source->process_names)
			continue;
		assert_false(agent_config_differs(config, config, source->process_names_key));
		assert_non_null(source->process_names(config));
		assert_int_not_equal(source->excluded_flag, 0);
	}
}

static void no_two_sources_share_a_flag_of_processes(void **state)
{
	uint32_t flags = 0;

	(void)state;
	for (enum event_source_id i = 0; i < EVENT_SOURCE_COUNT; i++) {
		assert_int_equal(flags & event_source(i)->excluded_flag, 0);
		flags |= event_source(i)->excluded_flag;
	}
}

static void only_enabled_sources_are_loaded(void **state)
{
	struct agent_config *config = *state;
	struct abi_config bpf_config = {};
	struct kernel_layout kernel = { .schedule_start = 16, .schedule_end = 32 };
	struct event_sources sources = {};

	event_sources_configure(&sources, config, &kernel, &bpf_config);
	assert_true(sources.choices[EVENT_SOURCE_ID_on_cpu].wanted);
	assert_false(sources.choices[EVENT_SOURCE_ID_off_cpu].wanted);
	assert_int_equal(bpf_config.period_ns, NSEC_PER_SEC / 99);
	assert_int_equal(bpf_config.schedule_end, 32);

	config->on_cpu_disabled = true;
	config->off_cpu_disabled = false;
	event_sources_configure(&sources, config, &kernel, &bpf_config);
	assert_false(sources.choices[EVENT_SOURCE_ID_on_cpu].wanted);
	assert_true(sources.choices[EVENT_SOURCE_ID_off_cpu].wanted);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_bpf_object_has_every_program_and_map_of_every_source),
		TEST(the_configuration_has_every_key_of_every_source),
		TEST(no_two_sources_share_a_flag_of_processes),
		TEST(only_enabled_sources_are_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
