/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/config.h"

#include "tests/support/unit.h"

static int finish_with(const char *key, const char *value, char message[CONFIG_MESSAGE_SIZE])
{
	scoped(agent_config_release) struct agent_config config = {};
	int r;

	assert_ok(config_set_defaults(&agent_config_table, &config));
	r = config_set(&agent_config_table, key, value, "test", &config, message);
	return r < 0 ? r : agent_config_finish(&config, message);
}

static void the_defaults_are_valid(void **state)
{
	scoped(agent_config_release) struct agent_config config = {};
	char message[CONFIG_MESSAGE_SIZE] = "";

	(void)state;
	assert_ok(config_set_defaults(&agent_config_table, &config));
	assert_int_equal(agent_config_finish(&config, message), 0);
	assert_string_equal(config.server, "http://127.0.0.1:20416");
	assert_int_equal(config.on_cpu_frequency, 99);
	assert_int_equal(config.batch_interval_ns, 5 * NSEC_PER_SEC);
	assert_int_equal(config.spool_max_bytes, 256 * MIB);
	assert_int_equal(config.ring_bytes, 0);
	assert_string_equal(config.on_cpu_regex, ".*");
	assert_false(config.on_cpu_disabled);
	assert_true(config.off_cpu_disabled);
	assert_int_equal(config.off_cpu_min_blocking_time_ns, 0);
}

static void values_are_compared_by_the_type_of_their_key(void **state)
{
	static const struct {
		const char *key, *value;
	} cases[] = {
		{ "server", "127.0.0.1:24002" }, /* TEXT */
		{ "host.labels", "zone=eu" },    /* LIST */
		{ "on_cpu.disabled", "true" },   /* BOOL */
		{ "on_cpu.frequency", "100" },   /* UINT */
		{ "batch_interval", "10s" },     /* DURATION */
		{ "ring_size", "2MiB" },         /* SIZE */
	};
	char message[CONFIG_MESSAGE_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(agent_config_release) struct agent_config first = {};
		scoped(agent_config_release) struct agent_config second = {};

		assert_ok(config_set_defaults(&agent_config_table, &first));
		assert_ok(config_set_defaults(&agent_config_table, &second));
		assert_false(agent_config_differs(&first, &second, cases[i].key));
		assert_ok(config_set(&agent_config_table, cases[i].key, cases[i].value, "test",
				     &second, message));
		assert_true(agent_config_differs(&first, &second, cases[i].key));
	}
}

static void the_error_for_an_invalid_value_names_the_key(void **state)
{
	static const struct {
		const char *key, *value;
		int result;
	} cases[] = {
		{ "server", "https://profiles.example.net:20416/hearth", 0 },
		{ "server", "profiles.example.net", -EINVAL },
		{ "server", "127.0.0.1:24002", 0 },
		{ "server", "[::1]:24002", 0 },
		{ "server", "::1:24002", -EINVAL },
		{ "server", "fd00::1:24002", -EINVAL },
		{ "server", "a:b:24002", -EINVAL },
		{ "server", "ftp://127.0.0.1:24002", -EINVAL },
		{ "server", ":24002", -EINVAL },
		{ "server", "http://", -EINVAL },
		{ "server", "http://host/?a=b", -EINVAL },
		{ "token", "abc-DEF_123", 0 },
		{ "token", "a b", -EINVAL },
		{ "token", "line\r\nX-Header: 1", -EINVAL },
		{ "token_file", "/nonexistent/token", -EINVAL },
		{ "kubernetes.pods_url", "https://node-7:10250/pods", 0 },
		{ "kubernetes.pods_url",
		  "https://kubernetes.default.svc/api/v1/pods?fieldSelector=spec.nodeName%3Dn", 0 },
		{ "kubernetes.pods_url", "10.0.0.7:10250/pods", -EINVAL },
		{ "kubernetes.pods_url", "file:///etc/passwd", -EINVAL },
		{ "kubernetes.pods_url", "http://a/pods x", -EINVAL },
		{ "host.labels", "zone=eu, team=", 0 },
		{ "host.labels", "[\"env=prod\",\"rack=r1\"]", 0 },
		{ "host.labels", "[env=prod, rack=r1]", 0 },
		{ "host.labels", "_a-b.c9=d", 0 },
		{ "host.labels", "[\"env=prod\",\"rack=r1\"", -EINVAL },
		{ "host.labels", "[env=prod", -EINVAL },
		{ "host.labels", "topology.kubernetes.io/zone=eu", 0 },
		{ "host.labels", "9a=b", 0 },
		{ "host.labels", "a b=c", 0 },
		{ "host.labels", "\xc3\xa4=c", 0 },
		{ "host.labels", "\xc3=c", -EINVAL },
		{ "host.labels", "a\tb=c", -EINVAL },
		{ "host.labels", "a\x7f=c", -EINVAL },
		{ "host.labels", "a'b=c", -EINVAL },
		{ "host.labels", "a`b=c", -EINVAL },
		{ "host.labels", "a\"b=c", -EINVAL },
		{ "host.labels", "a]=c", -EINVAL },
		{ "host.labels", "zone", -EINVAL },
		{ "host.labels", "=eu", -EINVAL },
		{ "on_cpu.frequency", "1000", 0 },
		{ "on_cpu.frequency", "1001", -EINVAL },
		{ "on_cpu.frequency", "0", -EINVAL },
		{ "on_cpu.cpu", "1", 0 },
		{ "on_cpu.cpu", "2", -EINVAL },
		{ "on_cpu.regex", "^(nginx|postgres)$", 0 },
		{ "on_cpu.regex", "(", -EINVAL },
		{ "off_cpu.regex", "^(nginx|postgres)$", 0 },
		{ "off_cpu.regex", "(", -EINVAL },
		{ "off_cpu.min_blocking_time", "1h", 0 },
		{ "off_cpu.min_blocking_time", "61m", -EINVAL },
		{ "off_cpu.cpu", "2", -EINVAL },
		{ "on_cpu.cpus", "0-3,8,10-11", 0 },
		{ "on_cpu.cpus", "3-0", -EINVAL },
		{ "on_cpu.cpus", "0,", -EINVAL },
		{ "on_cpu.cpus", "-1", -EINVAL },
		{ "on_cpu.cpus", "0-", -EINVAL },
		{ "on_cpu.cpus", "9999", -EINVAL },
		{ "process_matcher", "^python3?$=scripts, a=b=c", 0 },
		{ "process_matcher", "[a-c]x{1,2}=abc", -EINVAL },
		{ "process_matcher", "[\"[a-c]x{1,2}=abc\"]", 0 },
		{ "process_matcher", "[a-c]=abc,[d-f]=def", 0 },
		{ "process_matcher", "python", -EINVAL },
		{ "process_matcher", "python=", -EINVAL },
		{ "process_matcher", "=name", -EINVAL },
		{ "process_matcher", "(=name", -EINVAL },
		{ "batch_interval", "1s", 0 },
		{ "batch_interval", "999ms", -EINVAL },
		{ "batch_interval", "61s", -EINVAL },
		{ "ring_size", "8MiB", 0 },
		{ "ring_size", "5MiB", -EINVAL },
		{ "unwind.absent_pages", "touch", 0 },
		{ "unwind.absent_pages", "sometimes", -EINVAL },
		{ "upload.rate", "0", 0 },
		{ "log_level", "debug", 0 },
		{ "log_level", "loud", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char message[CONFIG_MESSAGE_SIZE] = "";
		int r = finish_with(cases[i].key, cases[i].value, message);

		if (r != cases[i].result)
			fail_msg("%s: '%s' gives %d: %s", cases[i].key, cases[i].value, r, message);
		if (r < 0 && !strstr(message, cases[i].key))
			fail_msg("%s: not named in '%s'", cases[i].key, message);
	}
}

static void an_address_without_a_scheme_means_http(void **state)
{
	scoped(agent_config_release) struct agent_config config = {};
	char message[CONFIG_MESSAGE_SIZE] = "";

	(void)state;
	assert_ok(config_set_defaults(&agent_config_table, &config));
	assert_ok(config_set(&agent_config_table, "server", "127.0.0.1:24002", "test", &config,
			     message));
	assert_ok(agent_config_finish(&config, message));
	assert_string_equal(config.server, "http://127.0.0.1:24002");
}

static void labels_can_have_the_form_of_a_printed_list(void **state)
{
	scoped(agent_config_release) struct agent_config config = {};
	char message[CONFIG_MESSAGE_SIZE] = "";

	(void)state;
	assert_ok(config_set_defaults(&agent_config_table, &config));
	assert_ok(config_set(&agent_config_table, "host.labels", "[\"env=prod\",\"rack=r1\"]",
			     "test", &config, message));
	assert_ok(agent_config_finish(&config, message));
	assert_string_equal(config.host_labels, "env=prod\nrack=r1");
}

static void the_error_for_an_invalid_label_quotes_it(void **state)
{
	char message[CONFIG_MESSAGE_SIZE] = "";

	(void)state;
	assert_errno(finish_with("host.labels", "zone=eu,[1st=x", message), -EINVAL);
	assert_non_null(strstr(message, "host.labels: '[1st' is no name of a label"));
}

static void the_token_is_the_first_line_of_its_file(void **state)
{
	scoped_free char *path = write_file_in(*state, "token", "s3cret\r\nsecond line\n", 20);
	scoped_free char *empty = write_file_in(*state, "empty", "\n", 1);
	scoped(agent_config_release) struct agent_config config = {};
	char message[CONFIG_MESSAGE_SIZE] = "";

	assert_ok(config_set_defaults(&agent_config_table, &config));
	assert_ok(
		config_set(&agent_config_table, "token", "from a flag", "test", &config, message));
	assert_ok(config_set(&agent_config_table, "token_file", path, "test", &config, message));
	assert_ok(agent_config_finish(&config, message));
	assert_string_equal(config.token, "s3cret");
	assert_ok(config_set(&agent_config_table, "token_file", empty, "test", &config, message));
	assert_errno(agent_config_finish(&config, message), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_defaults_are_valid),
		cmocka_unit_test(values_are_compared_by_the_type_of_their_key),
		cmocka_unit_test(the_error_for_an_invalid_value_names_the_key),
		cmocka_unit_test(an_address_without_a_scheme_means_http),
		cmocka_unit_test(labels_can_have_the_form_of_a_printed_list),
		cmocka_unit_test(the_error_for_an_invalid_label_quotes_it),
		in_folder(the_token_is_the_first_line_of_its_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
