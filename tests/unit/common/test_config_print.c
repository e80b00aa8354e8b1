/* SPDX-License-Identifier: Apache-2.0 */
#include "common/config.h"

#include <ctype.h>

#include "common/bytes.h"
#include "tests/unit/common/config_fixture.h"

static void load_text(const char *folder, const struct bytes *text, struct test_config *config)
{
	scoped_free char *path = write_file_in(folder, "config.yaml", text->data, text->size);
	char message[CONFIG_MESSAGE_SIZE] = "";
	int r = config_load_file(&test_table, path, config, message);

	if (r < 0)
		fail_msg("%s", message);
}

static void a_printed_configuration_loads_as_the_same_configuration(void **state)
{
	static const struct {
		const char *name, *value;
	} changes[] = {
		{ "on_cpu.disabled", "yes" },
		{ "on_cpu.regex", "\"quoted\": #\xc3\xa4\n\tx" },
		{ "interval", "90s" },
		{ "memory", "1000" },
		{ "unlimited", "18446744073709551615" },
		{ "hosts", "no, 12, a b, /x" },
	};
	scoped(bytes_release) struct bytes text = BYTES_INIT(MIB);
	SCOPED_TEST_CONFIG(changed);
	SCOPED_TEST_CONFIG(loaded);
	char message[CONFIG_MESSAGE_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		assert_ok(config_set(&test_table, changes[i].name, changes[i].value, "test",
				     &changed, message));
	assert_ok(config_print(&test_table, &changed, &text));
	load_text(*state, &text, &loaded);
	assert_test_config_equal(&loaded, &changed);
}

/* Calls @use for the key and the value of each printed line. */
static void for_each_line(const struct bytes *text,
			  void (*use)(const char *name, const char *value, void *config),
			  void *config)
{
	scoped_free char *copy = strndup((const char *)text->data, text->size);
	char *rest = copy;

	assert_non_null(copy);
	for (char *line = strsep(&rest, "\n"); line && *line; line = strsep(&rest, "\n")) {
		char *colon = strchr(line, ':');

		*colon = '\0';
		use(line, colon + 2, config);
	}
}

static void set_by_flag(const char *name, const char *value, void *config)
{
	char message[CONFIG_MESSAGE_SIZE] = "";

	if (config_set(&test_table, name, value, "--flag", config, message) < 0)
		fail_msg("%s", message);
}

static void set_by_variable(const char *name, const char *value, void *config)
{
	char message[CONFIG_MESSAGE_SIZE] = "";
	scoped_free char *variable = NULL;
	char *environment[2] = {};

	assert_true(asprintf(&variable, "TEST_%s=%s", name, value) > 0);
	for (char *next = variable; *next != '='; next++)
		*next = *next == '.' ? '_' : (char)toupper((unsigned char)*next);
	environment[0] = variable;
	if (config_load_environment(&test_table, environment, config, message) < 0)
		fail_msg("%s", message);
}

static void flags_and_variables_accept_each_printed_value(void **state)
{
	static const struct {
		const char *regex, *hosts;
	} cases[] = {
		{ "^(a|b).*$", "a, b" },
		{ "", "" },
		{ "a b", "[\"x=1\", \"y=a,b\", \"[::1]:20416\", \"\\\"\"]" },
		{ "say \"so\" \\ #\xc3\xa4\n\tx", "[::1]:20416,127.0.0.1:1" },
		{ "true", "true, null" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes text = BYTES_INIT(MIB);
		SCOPED_TEST_CONFIG(changed);
		SCOPED_TEST_CONFIG(by_flag);
		SCOPED_TEST_CONFIG(by_variable);

		set_by_flag("on_cpu.regex", cases[i].regex, &changed);
		set_by_flag("hosts", cases[i].hosts, &changed);
		set_by_flag("on_cpu.disabled", "on", &changed);
		set_by_flag("interval", "1500ms", &changed);
		set_by_flag("memory", "3000", &changed);
		assert_ok(config_print(&test_table, &changed, &text));

		for_each_line(&text, set_by_flag, &by_flag);
		for_each_line(&text, set_by_variable, &by_variable);
		assert_test_config_equal(&by_flag, &changed);
		assert_test_config_equal(&by_variable, &changed);
	}
}

static void the_configuration_is_printed_in_the_order_of_the_table(void **state)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MIB);
	SCOPED_TEST_CONFIG(config);

	(void)state;
	assert_ok(config_print(&test_table, &config, &text));
	assert_bytes_equal_text(&text, "on_cpu.disabled: false\n"
				       "on_cpu.frequency: 99\n"
				       "on_cpu.regex: \"^(a|b).*$\"\n"
				       "interval: 5s\n"
				       "memory: 32MiB\n"
				       "unlimited: 7\n"
				       "port: 20416\n"
				       "hosts: [a, b]\n");
}

/* Removes the '#' from lines with a key, as a user does. */
static void uncomment_keys(struct bytes *text)
{
	for (size_t i = 0; i + 1 < text->size; i++)
		if ((i == 0 || text->data[i - 1] == '\n') && text->data[i] == '#' &&
		    text->data[i + 1] >= 'a' && text->data[i + 1] <= 'z')
			text->data[i] = ' ';
}

static void the_default_file_gives_the_defaults_commented_or_not(void **state)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MIB);
	struct test_config config = {};
	SCOPED_TEST_CONFIG(defaults);
	SCOPED_TEST_CONFIG(as_printed);

	assert_ok(config_print_default_file(&test_table, "A title.", &text));
	load_text(*state, &text, &as_printed);
	assert_test_config_equal(&as_printed, &defaults);

	/* The configuration starts zeroed, so every key must be in the file. */
	uncomment_keys(&text);
	load_text(*state, &text, &config);
	assert_test_config_equal(&config, &defaults);
	test_config_release(&config);
}

static void the_markdown_table_has_a_row_per_key(void **state)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MIB);

	(void)state;
	assert_ok(config_print_markdown(&test_table, "A title", &text));
	assert_ok(bytes_append_byte(&text, '\0'));
	assert_ptr_equal(strstr((char *)text.data, "# A title\n\n| key "), text.data);
	assert_non_null(strstr((char *)text.data,
			       "| `on_cpu.frequency` | `99` | a whole number from 1 to 1000 | "
			       "Samples per second. |\n"));
	assert_non_null(strstr((char *)text.data, "| `\"^(a\\|b).*$\"` |"));
}

static void a_full_buffer_is_reported(void **state)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(100);
	SCOPED_TEST_CONFIG(config);

	(void)state;
	assert_errno(config_print(&test_table, &config, &text), -EFBIG);
	bytes_clear(&text);
	assert_errno(config_print_default_file(&test_table, "", &text), -EFBIG);
	bytes_clear(&text);
	assert_errno(config_print_markdown(&test_table, "", &text), -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_printed_configuration_loads_as_the_same_configuration),
		cmocka_unit_test(flags_and_variables_accept_each_printed_value),
		cmocka_unit_test(the_configuration_is_printed_in_the_order_of_the_table),
		in_folder(the_default_file_gives_the_defaults_commented_or_not),
		cmocka_unit_test(the_markdown_table_has_a_row_per_key),
		cmocka_unit_test(a_full_buffer_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
