/* SPDX-License-Identifier: Apache-2.0 */
#include "deploy/manual/option_list.h"

#include "tests/support/unit.h"

static const struct argp_option child_rows[] = {
	{ NULL, 0, NULL, 0, "Server:", 10 },
	{ "server", 's', "URL", 0, "the server", 0 },
	{},
};
static const struct argp child = { .options = child_rows };
static const struct argp_child children[] = { { &child, 0, NULL, 0 }, {} };
static const struct argp_option rows[] = {
	{ "last", 0x100, "DURATION", 0, "the last 5m", 20 },
	{ "latest", 0, NULL, OPTION_ALIAS, NULL, 0 },
	{ "early", 0x101, "BOOL", OPTION_ARG_OPTIONAL, "in the first group", 1 },
	{},
};
static const struct argp parser = { .options = rows, .children = children, .args_doc = "FILE..." };

static void parse(const void *arg)
{
	char name[] = "program";
	char *argv[] = { name, NULL };

	if (arg)
		assert_int_equal(
			argp_parse(&parser, 1, argv, *(const unsigned int *)arg, NULL, NULL),
			EINVAL);
}

static void options_of_a_program_are_listed_by_group_with_those_of_its_children(void **state)
{
	static const char *const expected[] = { "early", "server", "last", "latest" };
	const unsigned int flags = ARGP_NO_HELP;
	struct option_list list;

	(void)state;
	assert_int_equal(option_list_capture(parse, &flags, &list), 0);
	assert_string_equal(list.arguments, "FILE...");
	assert_int_equal(list.rows.count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(list.rows.items[i].name, expected[i]);
	assert_true(list.rows.items[0].argument_is_optional);
	assert_string_equal(list.rows.items[1].heading, "Server:");
	assert_int_equal(list.rows.items[1].letter, 's');
	option_list_release(&list);
}

static void an_alias_has_the_argument_of_its_option(void **state)
{
	const unsigned int flags = ARGP_NO_HELP;
	struct option_list list;

	(void)state;
	assert_int_equal(option_list_capture(parse, &flags, &list), 0);
	assert_string_equal(list.rows.items[3].argument, "DURATION");
	assert_null(list.rows.items[3].doc);
	option_list_release(&list);
}

static const struct argp_option own_rows[] = {
	{ "rows", 'n', "N", 0, "in the group of the child", 10 },
	{},
};
static const struct argp with_own_rows = { .options = own_rows, .children = children };

static void options_of_one_group_have_one_heading_in_any_table(void **state)
{
	struct option_list list;

	(void)state;
	assert_int_equal(option_list_of_table(&with_own_rows, &list), 0);
	assert_int_equal(list.rows.count, 2);
	assert_string_equal(list.rows.items[0].name, "rows");
	assert_string_equal(list.rows.items[0].heading, "Server:");
	assert_ptr_equal(list.rows.items[0].heading, list.rows.items[1].heading);
	option_list_release(&list);
}

/* Frees its table before it returns. The table has a hidden alias and a shown one. */
static void parse_table_on_heap(const void *arg)
{
	const struct argp_option table[] = {
		{ "check-config", 0x100, "FILE", 0, "checks", 1 },
		{ "check_config", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
		{ "check", 0, NULL, OPTION_ALIAS, NULL, 0 },
		{},
	};
	struct argp_option *options = malloc(sizeof(table));
	char *names = malloc(64);
	char name[] = "program";
	char *argv[] = { name, NULL };

	(void)arg;
	assert_non_null(options);
	assert_non_null(names);
	memcpy(options, table, sizeof(table));
	(void)snprintf(names, 64, "check-config");
	options[0].name = names;
	assert_int_equal(
		argp_parse(&(struct argp){ .options = options }, 1, argv, ARGP_NO_HELP, NULL, NULL),
		EINVAL);
	memset(names, 'x', 63);
	memset(options, 0, sizeof(table));
	free(names);
	free(options);
}

static void texts_outlive_the_table(void **state)
{
	struct option_list list;

	(void)state;
	assert_int_equal(option_list_capture(parse_table_on_heap, NULL, &list), 0);
	assert_int_equal(list.rows.count, 3);
	assert_string_equal(list.rows.items[0].name, "check-config");
	assert_string_equal(list.rows.items[0].argument, "FILE");
	assert_string_equal(list.rows.items[0].doc, "checks");
	assert_string_equal(list.rows.items[2].name, "check");
	option_list_release(&list);
}

static void a_hidden_name_of_a_shown_option_is_hidden(void **state)
{
	struct option_list list;

	(void)state;
	assert_int_equal(option_list_capture(parse_table_on_heap, NULL, &list), 0);
	assert_true(option_is_shown(&list.rows.items[0]));
	assert_false(option_is_shown(&list.rows.items[1]));
	assert_true(option_is_shown(&list.rows.items[2]));
	option_list_release(&list);
}

static void options_of_argp_are_last(void **state)
{
	const unsigned int flags = 0;
	struct option_list list;

	(void)state;
	assert_int_equal(option_list_capture(parse, &flags, &list), 0);
	assert_int_equal(list.rows.count, 6);
	assert_string_equal(list.rows.items[4].name, "help");
	assert_string_equal(list.rows.items[5].name, "usage");
	option_list_release(&list);
}

static void a_program_that_parses_nothing_has_no_options(void **state)
{
	struct option_list list;

	(void)state;
	assert_int_equal(option_list_capture(parse, NULL, &list), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			options_of_a_program_are_listed_by_group_with_those_of_its_children),
		cmocka_unit_test(an_alias_has_the_argument_of_its_option),
		cmocka_unit_test(options_of_one_group_have_one_heading_in_any_table),
		cmocka_unit_test(texts_outlive_the_table),
		cmocka_unit_test(a_hidden_name_of_a_shown_option_is_hidden),
		cmocka_unit_test(options_of_argp_are_last),
		cmocka_unit_test(a_program_that_parses_nothing_has_no_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
