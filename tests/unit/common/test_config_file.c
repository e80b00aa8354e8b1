/* SPDX-License-Identifier: Apache-2.0 */
#include "common/config.h"

#include "tests/unit/common/config_fixture.h"

static void keys_may_be_nested_or_dotted(void **state)
{
	static const char *const texts[] = {
		"on_cpu:\n  frequency: 49\n  regex: 'a: b'\ninterval: 10m\nhosts: [x, \"y,z\"]\n",
		"on_cpu.frequency: 49\non_cpu.regex: \"a: b\"\ninterval: 600\nhosts:\n- x\n- y,z\n",
		"{on_cpu: {frequency: 49, regex: 'a: b'}, interval: 600s, hosts: [x, '', 'y,z']}",
		("# comment\n---\non_cpu: {frequency: 49}\non_cpu.regex: 'a: b'\ninterval: 10m\n"
		 "hosts: [x, 'y,z']\n...\n"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		scoped_free char *path =
			write_file_in(*state, "config.yaml", texts[i], strlen(texts[i]));
		char message[CONFIG_MESSAGE_SIZE] = "";
		SCOPED_TEST_CONFIG(config);

		assert_ok(config_load_file(&test_table, path, &config, message));
		assert_int_equal(config.frequency, 49);
		assert_string_equal(config.regex, "a: b");
		assert_int_equal(config.interval_ns, 600 * NSEC_PER_SEC);
		assert_string_equal(config.hosts, "x\ny,z");
		assert_int_equal(config.memory_bytes, 32 * MIB);
	}
}

static void a_file_without_keys_keeps_the_defaults(void **state)
{
	static const char *const texts[] = {
		"", "\n\n", "# only a comment\n", "---\n", "{}", "on_cpu:\n  # frequency: 3\n", "~",
	};
	SCOPED_TEST_CONFIG(defaults);

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		scoped_free char *path =
			write_file_in(*state, "config.yaml", texts[i], strlen(texts[i]));
		char message[CONFIG_MESSAGE_SIZE] = "";
		SCOPED_TEST_CONFIG(config);

		assert_ok(config_load_file(&test_table, path, &config, message));
		assert_test_config_equal(&config, &defaults);
	}
}

static void lists_may_be_empty_or_one_text(void **state)
{
	static const struct {
		const char *text, *hosts;
	} cases[] = { { "hosts: []", "" }, { "hosts:", "" }, { "hosts: x, y", "x\ny" } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped_free char *path =
			write_file_in(*state, "config.yaml", cases[i].text, strlen(cases[i].text));
		char message[CONFIG_MESSAGE_SIZE] = "";
		SCOPED_TEST_CONFIG(config);

		assert_ok(config_load_file(&test_table, path, &config, message));
		assert_string_equal(config.hosts, cases[i].hosts);
	}
}

static void errors_have_a_line_and_a_column(void **state)
{
	static const struct {
		const char *text, *message; /* after the path */
	} cases[] = {
		{ "on_cpu:\n  frequency: abc\n", ":2:14: 'abc' is no value for 'on_cpu.frequency', "
						 "expected a whole number from 1 to 1000" },
		{ "on_cpu:\n  frequncy: 9\n",
		  ":2:3: unknown key 'on_cpu.frequncy', did you mean 'on_cpu.frequency'?" },
		{ "oncpu:\n  frequency: 9\n", ":1:1: unknown key 'oncpu', did you mean 'port'?" },
		{ "port:\n",
		  ":1:6: '' is no value for 'port', expected a whole number from 1 to 65535" },
		{ "port: 1\nport: 2\n", ":2:1: key 'port' is set twice" },
		{ "on_cpu: {frequency: 1}\non_cpu.frequency: 2\n",
		  ":2:1: key 'on_cpu.frequency' is set twice" },
		{ "port: [1]\n", ":1:1: 'port' is no list: it takes one value" },
		{ "port: {a: 1}\n", ":1:1: 'port' is a key, not a section" },
		{ "hosts: [a, [b]]\n", ":1:12: the list 'hosts' may hold texts only" },
		{ "hosts: [\"a\\nb\"]\n",
		  ":1:9: an item of 'hosts' holds a line feed or a NUL character" },
		{ "on_cpu.regex: \"a\\0b\"\n", ":1:15: 'on_cpu.regex' holds a NUL character" },
		{ "on_cpu.regex: &x a\n\"hosts\": *x\n",
		  ":2:10: anchors and aliases are not supported" },
		{ "- a\n", ":1:1: expected 'key: value' lines" },
		{ "text\n", ":1:1: expected 'key: value' lines" },
		{ "[a]: b\n", ":1:1: the name of a key must be a text" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped_free char *path =
			write_file_in(*state, "config.yaml", cases[i].text, strlen(cases[i].text));
		char expected[CONFIG_MESSAGE_SIZE];
		char message[CONFIG_MESSAGE_SIZE] = "";
		SCOPED_TEST_CONFIG(config);

		snprintf(expected, sizeof(expected), "'%s'%s", path, cases[i].message);
		assert_errno(config_load_file(&test_table, path, &config, message), -EINVAL);
		assert_string_equal(message, expected);
	}
}

static void invalid_yaml_is_refused_with_its_position(void **state)
{
	static const char *const texts[] = {
		"hosts: [", "{", "\tport: 1", "port: '1", "\xff\xfe\xff", "port: 1: 2",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		scoped_free char *path =
			write_file_in(*state, "config.yaml", texts[i], strlen(texts[i]));
		char message[CONFIG_MESSAGE_SIZE] = "";
		SCOPED_TEST_CONFIG(config);

		assert_errno(config_load_file(&test_table, path, &config, message), -EINVAL);
		if (!strstr(message, ": no valid YAML: "))
			fail_msg("'%s': %s", texts[i], message);
	}
}

static void missing_and_unreadable_files_give_different_errors(void **state)
{
	static char large[2 * 1024 * 1024];
	scoped_free char *large_path = NULL;
	char message[CONFIG_MESSAGE_SIZE] = "";
	SCOPED_TEST_CONFIG(config);

	assert_errno(config_load_file(&test_table, "/nonexistent", &config, message), -ENOENT);
	assert_string_equal(message, "'/nonexistent': cannot read it: No such file or directory");
	assert_errno(config_load_file(&test_table, *state, &config, message), -EISDIR);

	memset(large, '#', sizeof(large));
	large_path = write_file_in(*state, "large.yaml", large, sizeof(large));
	assert_errno(config_load_file(&test_table, large_path, &config, message), -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(keys_may_be_nested_or_dotted),
		in_folder(a_file_without_keys_keeps_the_defaults),
		in_folder(lists_may_be_empty_or_one_text),
		in_folder(errors_have_a_line_and_a_column),
		in_folder(invalid_yaml_is_refused_with_its_position),
		in_folder(missing_and_unreadable_files_give_different_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
