/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/options/options.h"

#include <stdlib.h>

#include "tests/support/unit.h"

static struct connection_options parse(void)
{
	char name[] = "hearth";
	char *arguments[] = { name, NULL };
	struct connection_options options = {};

	assert_int_equal(argp_parse(&connection_argp, 1, arguments, 0, NULL, &options), 0);
	return options;
}

static void an_empty_variable_counts_as_not_set(void **state)
{
	struct connection_options options;

	(void)state;
	assert_int_equal(setenv("HEARTH_SERVER", "", 1), 0);
	assert_int_equal(setenv("HEARTH_TOKEN", "", 1), 0);
	assert_int_equal(setenv("HEARTH_TOKEN_FILE", "/etc/token", 1), 0);
	options = parse();
	assert_string_equal(options.server, "http://127.0.0.1:20416");
	assert_null(options.token);
	assert_string_equal(options.token_file, "/etc/token");
	assert_int_equal(setenv("HEARTH_TOKEN_FILE", "", 1), 0);
	assert_null(parse().token_file);
}

static void a_token_overrides_a_token_file(void **state)
{
	struct connection_options options;

	(void)state;
	assert_int_equal(setenv("HEARTH_TOKEN", "secret", 1), 0);
	assert_int_equal(setenv("HEARTH_TOKEN_FILE", "/etc/token", 1), 0);
	options = parse();
	assert_string_equal(options.token, "secret");
	assert_null(options.token_file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_variable_counts_as_not_set),
		cmocka_unit_test(a_token_overrides_a_token_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
