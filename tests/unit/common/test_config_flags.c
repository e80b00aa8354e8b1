/* SPDX-License-Identifier: Apache-2.0 */
#include "common/config_flags.h"

#include "tests/unit/common/config_fixture.h"

enum { OPTION_CHECK = 0x100, OPTION_FIRST_KEY };

static const struct argp_option fixed[] = {
	{ "check-config", OPTION_CHECK, NULL, 0, "Check.", 1 },
};

static const struct config_flag_alias aliases[] = { { "at", "port" } };

static const struct config_flag_source source = {
	.fixed = fixed,
	.n_fixed = ARRAY_SIZE(fixed),
	.table = &test_table,
	.first_key = OPTION_FIRST_KEY,
	.group = 2,
	.aliases = aliases,
	.n_aliases = ARRAY_SIZE(aliases),
};

static error_t remember(int key, char *argument, struct argp_state *state)
{
	(void)argument;
	if (key < OPTION_CHECK || key >= ARGP_KEY_END)
		return ARGP_ERR_UNKNOWN;
	*(int *)state->input = key;
	return 0;
}

static int key_of(const char *argument)
{
	scoped(config_flags_release) struct config_flags flags = {};
	char *argv[] = { (char[]){ "program" }, strdup(argument), NULL };
	struct argp argp = { .parser = remember };
	int key = 0;

	assert_ok(config_flags_init(&flags, &source));
	argp.options = flags.options;
	if (argp_parse(&argp, 2, argv, ARGP_NO_EXIT | ARGP_NO_HELP | ARGP_SILENT, NULL, &key) != 0)
		key = -1;
	free(argv[1]);
	return key;
}

static void both_spellings_are_the_same_flag(void **state)
{
	static const struct {
		const char *argument;
		int key;
	} cases[] = {
		{ "--check-config", OPTION_CHECK },
		{ "--check_config", OPTION_CHECK },
		{ "--on_cpu.disabled", OPTION_FIRST_KEY },
		{ "--on-cpu.disabled=no", OPTION_FIRST_KEY },
		{ "--on_cpu.frequency=1", OPTION_FIRST_KEY + 1 },
		{ "--on-cpu.frequency=1", OPTION_FIRST_KEY + 1 },
		{ "--port=1", OPTION_FIRST_KEY + 6 },
		{ "--at=1", OPTION_FIRST_KEY + 6 },
		/* A prefix that is equal in both spellings is not ambiguous. */
		{ "--on-cpu.f=1", OPTION_FIRST_KEY + 1 },
		{ "--check", OPTION_CHECK },
		{ "--on.cpu.frequency=1", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (key_of(cases[i].argument) != cases[i].key)
			fail_msg("%s is %d", cases[i].argument, key_of(cases[i].argument));
}

static void help_shows_the_spelling_with_hyphens_only(void **state)
{
	scoped(config_flags_release) struct config_flags flags = {};
	struct argp argp = { .parser = remember };
	scoped_free char *help = NULL;
	char program[] = "program";
	size_t size;
	FILE *out = open_memstream(&help, &size);

	(void)state;
	assert_non_null(out);
	assert_ok(config_flags_init(&flags, &source));
	argp.options = flags.options;
	argp_help(&argp, out, ARGP_HELP_LONG, program);
	(void)fclose(out);
	assert_non_null(strstr(help, "--on-cpu.frequency=NUMBER"));
	assert_non_null(strstr(help, "--check-config"));
	assert_null(strchr(help, '_'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_spellings_are_the_same_flag),
		cmocka_unit_test(help_shows_the_spelling_with_hyphens_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
