/* SPDX-License-Identifier: Apache-2.0 */

/* This program is also the command that the tests run: argv[0] is "hearth", argv[1] says what it
 * does. */

#include "symbolizer/cli/mcp/command_output.h"

#include <signal.h>

#include "tests/support/unit.h"

static int be_the_command(const char *what)
{
	char byte;

	if (strcmp(what, "both") == 0) {
		(void)printf("rows\n");
		(void)fprintf(stderr, "notes\n");
		return read(STDIN_FILENO, &byte, 1) == 0 ? 3 : 1;
	}
	if (strcmp(what, "long") == 0)
		for (size_t i = 0; i < COMMAND_OUTPUT_MAX_BYTES; i++)
			(void)printf("%s", i % 2 == 0 ? "ab" : "cd");
	if (strcmp(what, "crash") == 0)
		(void)raise(SIGKILL);
	return 0;
}

static void run(const char *what, struct command_output *ret_output)
{
	char program[] = "hearth", argument[16];
	char *arguments[] = { program, argument, NULL };

	(void)snprintf(argument, sizeof(argument), "%s", what);
	assert_ok(command_output_run(arguments, ret_output));
}

static void both_outputs_and_the_exit_status_are_collected(void **state)
{
	scoped_command_output struct command_output output;

	(void)state;
	run("both", &output);
	assert_bytes_equal_text(&output.out, "rows\n");
	assert_bytes_equal_text(&output.messages, "notes\n");
	assert_int_equal(output.exit_status, 3);
	assert_false(output.is_cut);
}

static void the_begin_of_a_long_output_is_kept(void **state)
{
	scoped_command_output struct command_output output;

	(void)state;
	run("long", &output);
	assert_int_equal(output.out.size, COMMAND_OUTPUT_MAX_BYTES);
	assert_memory_equal(output.out.data, "abcdabcd", 8);
	assert_int_equal(output.exit_status, 0);
	assert_true(output.is_cut);
}

static void a_command_that_a_signal_ends_has_no_exit_status(void **state)
{
	scoped_command_output struct command_output output;

	(void)state;
	run("crash", &output);
	assert_int_equal(output.exit_status, -1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_outputs_and_the_exit_status_are_collected),
		cmocka_unit_test(the_begin_of_a_long_output_is_kept),
		cmocka_unit_test(a_command_that_a_signal_ends_has_no_exit_status),
	};

	if (argc == 2 && strcmp(argv[0], "hearth") == 0)
		return be_the_command(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
