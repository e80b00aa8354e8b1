/* SPDX-License-Identifier: Apache-2.0 */
#include "common/config_value.h"

#include "tests/unit/common/config_fixture.h"

static const struct config_key *key_of(const char *name)
{
	const struct config_key *key = config_find_key(&test_table, name);

	assert_non_null(key);
	return key;
}

static void numbers_are_parsed_with_units(void **state)
{
	static const struct {
		enum config_type type;
		const char *text;
		uint64_t value;
	} cases[] = {
		{ CONFIG_UINT, "0", 0 },
		{ CONFIG_UINT, "18446744073709551615", UINT64_MAX },
		{ CONFIG_DURATION, "7", 7 * NSEC_PER_SEC },
		{ CONFIG_DURATION, "1ns", 1 },
		{ CONFIG_DURATION, "3us", 3000 },
		{ CONFIG_DURATION, "500ms", 500 * NSEC_PER_MSEC },
		{ CONFIG_DURATION, "5 s", 5 * NSEC_PER_SEC },
		{ CONFIG_DURATION, "10m", 600 * NSEC_PER_SEC },
		{ CONFIG_DURATION, "1h", 3600 * NSEC_PER_SEC },
		{ CONFIG_DURATION, "7d", 604800 * NSEC_PER_SEC },
		{ CONFIG_SIZE, "100", 100 },
		{ CONFIG_SIZE, "100B", 100 },
		{ CONFIG_SIZE, "64KiB", 65536 },
		{ CONFIG_SIZE, "32MiB", 32 * MIB },
		{ CONFIG_SIZE, "2TiB", 2048 * GIB },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct config_key key = { .name = "x", .type = cases[i].type };
		uint64_t value = 99;

		assert_ok(config_value_parse(&key, cases[i].text, &value));
		assert_true(value == cases[i].value);
	}
}

static void invalid_numbers_are_refused_and_change_nothing(void **state)
{
	static const struct {
		enum config_type type;
		const char *text;
	} cases[] = {
		{ CONFIG_UINT, "" },          { CONFIG_UINT, "-1" },
		{ CONFIG_UINT, "1.5" },       { CONFIG_UINT, "0x10" },
		{ CONFIG_UINT, "5s" },        { CONFIG_UINT, "18446744073709551616" },
		{ CONFIG_DURATION, "s" },     { CONFIG_DURATION, "5 weeks" },
		{ CONFIG_DURATION, "1h30m" }, { CONFIG_DURATION, "999999999d" },
		{ CONFIG_SIZE, "1kb" },       { CONFIG_SIZE, "99999999999GiB" },
		{ CONFIG_SIZE, " 1" },        { CONFIG_BOOL, "" },
		{ CONFIG_BOOL, "2" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct config_key key = { .name = "x", .type = cases[i].type };
		uint64_t value = 99;

		assert_errno(config_value_parse(&key, cases[i].text, &value), -EINVAL);
		assert_int_equal(value, 99);
	}
}

static void booleans_have_several_spellings(void **state)
{
	static const struct {
		const char *text;
		bool value;
	} cases[] = {
		{ "true", true },   { "Yes", true }, { "ON", true },   { "1", true },
		{ "False", false }, { "no", false }, { "off", false }, { "0", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct config_key key = { .name = "x", .type = CONFIG_BOOL };
		bool value = !cases[i].value;

		assert_ok(config_value_parse(&key, cases[i].text, &value));
		assert_int_equal(value, cases[i].value);
	}
}

static void limits_are_part_of_the_range(void **state)
{
	const struct config_key key = { .name = "x", .type = CONFIG_UINT, .min = 5, .max = 10 };
	uint64_t value;

	(void)state;
	assert_ok(config_value_parse(&key, "5", &value));
	assert_ok(config_value_parse(&key, "10", &value));
	assert_errno(config_value_parse(&key, "4", &value), -EINVAL);
	assert_errno(config_value_parse(&key, "11", &value), -EINVAL);
}

static void lists_are_split_at_commas_and_trimmed(void **state)
{
	static const struct {
		const char *text, *value;
	} cases[] = {
		{ "", "" },       { "a", "a" },  { "a,b", "a\nb" },  { " a b ,\tc ", "a b\nc" },
		{ ",,a,,", "a" }, { " , ", "" }, { "a,,b", "a\nb" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct config_key key = { .name = "x", .type = CONFIG_LIST };
		char *value = NULL;

		assert_ok(config_value_parse(&key, cases[i].text, &value));
		assert_string_equal(value, cases[i].value);
		free(value);
	}
}

static void values_are_printed_in_their_largest_unit(void **state)
{
	static const struct {
		const char *name, *text, *printed;
	} cases[] = {
		{ "interval", "60", "1m" },
		{ "interval", "90s", "90s" },
		{ "interval", "1500ms", "1500ms" },
		{ "interval", "3600000ms", "1h" },
		{ "memory", "1048576", "1MiB" },
		{ "memory", "1000", "1000B" },
		{ "memory", "0", "0B" },
		{ "on_cpu.disabled", "on", "true" },
		{ "on_cpu.regex", "java", "java" },
		{ "on_cpu.regex", "", "\"\"" },
		{ "on_cpu.regex", "yes", "\"yes\"" },
		{ "on_cpu.regex", "12", "\"12\"" },
		{ "on_cpu.regex", "a: b", "\"a: b\"" },
		{ "on_cpu.regex", "/usr/bin", "/usr/bin" },
		{ "on_cpu.regex", "-", "\"-\"" },
		{ "hosts", "a,b c", "[a, \"b c\"]" },
		{ "hosts", "", "[]" },
	};
	SCOPED_TEST_CONFIG(config);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes out = BYTES_INIT(1000);

		assert_ok(config_value_parse(key_of(cases[i].name), cases[i].text, &config));
		config_value_print(key_of(cases[i].name), &config, &out);
		assert_bytes_equal_text(&out, cases[i].printed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_parsed_with_units),
		cmocka_unit_test(invalid_numbers_are_refused_and_change_nothing),
		cmocka_unit_test(booleans_have_several_spellings),
		cmocka_unit_test(limits_are_part_of_the_range),
		cmocka_unit_test(lists_are_split_at_commas_and_trimmed),
		cmocka_unit_test(values_are_printed_in_their_largest_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
