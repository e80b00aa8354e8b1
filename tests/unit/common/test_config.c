/* SPDX-License-Identifier: Apache-2.0 */
#include "common/config.h"

#include "tests/unit/common/config_fixture.h"

static void defaults_are_taken_from_the_table(void **state)
{
	SCOPED_TEST_CONFIG(config);

	(void)state;
	assert_false(config.disabled);
	assert_int_equal(config.frequency, 99);
	assert_int_equal(config.interval_ns, 5 * NSEC_PER_SEC);
	assert_int_equal(config.memory_bytes, 32 * MIB);
	assert_string_equal(config.regex, "^(a|b).*$");
	assert_string_equal(config.hosts, "a\nb");
}

static void a_flag_sets_its_key(void **state)
{
	SCOPED_TEST_CONFIG(config);
	char message[CONFIG_MESSAGE_SIZE];

	(void)state;
	assert_ok(config_set(&test_table, "on_cpu.frequency", "49", "--x", &config, message));
	assert_int_equal(config.frequency, 49);
	assert_ok(config_set(&test_table, "on_cpu.disabled", NULL, "--x", &config, message));
	assert_true(config.disabled);
	assert_ok(config_set(&test_table, "on_cpu.regex", "new", "--x", &config, message));
	assert_string_equal(config.regex, "new");
}

static void a_message_on_a_bad_flag_lists_the_accepted_values(void **state)
{
	static const struct {
		const char *name, *value, *message;
	} cases[] = {
		{ "on_cpu.frequency", "0",
		  "--flag: '0' is no value for 'on_cpu.frequency', "
		  "expected a whole number from 1 to 1000" },
		{ "on_cpu.frequency", NULL,
		  "--flag: '' is no value for 'on_cpu.frequency', "
		  "expected a whole number from 1 to 1000" },
		{ "interval", "2h",
		  "--flag: '2h' is no value for 'interval', expected a duration "
		  "from 1s to 1h, such as '500ms', '5s', '10m', '1h', '7d'" },
		{ "memory", "1 pound",
		  "--flag: '1 pound' is no value for 'memory', expected a size "
		  "from 0B to 1GiB, such as '64KiB', '32MiB', '1GiB'" },
		{ "on_cpu.disabled", "maybe",
		  "--flag: 'maybe' is no value for 'on_cpu.disabled', "
		  "expected true or false (also yes, no, on, off, 1, 0)" },
		{ "unlimited", "many",
		  "--flag: 'many' is no value for 'unlimited', expected a whole number" },
		{ "on_cpu.frequncy", "1",
		  "--flag: unknown key 'on_cpu.frequncy', did you mean 'on_cpu.frequency'?" },
		{ "hostss", "1", "--flag: unknown key 'hostss', did you mean 'hosts'?" },
	};
	SCOPED_TEST_CONFIG(config);
	SCOPED_TEST_CONFIG(defaults);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char message[CONFIG_MESSAGE_SIZE] = "";

		assert_errno(config_set(&test_table, cases[i].name, cases[i].value, "--flag",
					&config, message),
			     -EINVAL);
		assert_string_equal(message, cases[i].message);
	}
	assert_test_config_equal(&config, &defaults);
}

static void overlong_names_and_values_fit_the_message(void **state)
{
	SCOPED_TEST_CONFIG(config);
	char message[CONFIG_MESSAGE_SIZE];
	char text[3000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_errno(config_set(&test_table, text, "1", "--x", &config, message), -EINVAL);
	assert_errno(config_set(&test_table, "port", text, "--x", &config, message), -EINVAL);
	assert_errno(config_set(&test_table, "port", text, text, &config, message), -EINVAL);
	assert_true(strlen(message) < CONFIG_MESSAGE_SIZE);
}

static void the_environment_sets_keys_of_its_prefix(void **state)
{
	static char *const environment[] = {
		(char *)"HOME=/root",
		(char *)"TEST_ON_CPU_FREQUENCY=50",
		(char *)"TESTING=1",
		(char *)"TEST_HOSTS=x,y",
		(char *)"NOEQUALS",
		(char *)"TEST_PORT=80",
		(char *)"TEST_ON_CPU_REGEX=a=b",
		NULL,
	};
	SCOPED_TEST_CONFIG(config);
	char message[CONFIG_MESSAGE_SIZE];

	(void)state;
	assert_ok(config_load_environment(&test_table, environment, &config, message));
	assert_int_equal(config.frequency, 50);
	assert_string_equal(config.hosts, "x\ny");
	assert_int_equal(config.port, 80);
	assert_string_equal(config.regex, "a=b");
}

static void errors_in_the_environment_name_the_variable(void **state)
{
	static const struct {
		const char *variable, *message;
	} cases[] = {
		{ "TEST_MEMROY=1", "TEST_MEMROY: unknown key 'memroy', did you mean 'memory'?" },
		{ "TEST_PORT=0", "TEST_PORT: '0' is no value for 'port', expected a whole number "
				 "from 1 to 65535" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *environment[] = { (char *)cases[i].variable, NULL };
		char message[CONFIG_MESSAGE_SIZE];
		SCOPED_TEST_CONFIG(config);

		assert_errno(config_load_environment(&test_table, environment, &config, message),
			     -EINVAL);
		assert_string_equal(message, cases[i].message);
	}
}

static void variables_that_kubernetes_adds_for_services_are_ignored(void **state)
{
	static char *const environment[] = {
		(char *)"TEST_PORT=tcp://10.0.0.1:20416",
		(char *)"TEST_PORT_20416_TCP=tcp://10.0.0.1:20416",
		(char *)"TEST_PORT_20416_TCP_ADDR=10.0.0.1",
		(char *)"TEST_PORT_20416_TCP_PROTO=tcp",
		(char *)"TEST_SERVICE_HOST=10.0.0.1",
		(char *)"TEST_SERVICE_PORT_HTTP=20416",
		NULL,
	};
	SCOPED_TEST_CONFIG(config);
	char message[CONFIG_MESSAGE_SIZE];

	(void)state;
	assert_ok(config_load_environment(&test_table, environment, &config, message));
	assert_int_equal(config.port, 20416);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_taken_from_the_table),
		cmocka_unit_test(a_flag_sets_its_key),
		cmocka_unit_test(a_message_on_a_bad_flag_lists_the_accepted_values),
		cmocka_unit_test(overlong_names_and_values_fit_the_message),
		cmocka_unit_test(the_environment_sets_keys_of_its_prefix),
		cmocka_unit_test(errors_in_the_environment_name_the_variable),
		cmocka_unit_test(variables_that_kubernetes_adds_for_services_are_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
