/* SPDX-License-Identifier: Apache-2.0 */
#include "common/config_options.h"

#include "common/bytes.h"
#include "tests/unit/common/config_fixture.h"

#define MAX_ARGUMENTS 8

static char *no_environment[] = { NULL };

enum { OPTION_DOUBLE = CONFIG_OPTION_FIRST_OWN, OPTION_GREET };

static const struct argp_option fixed[] = {
	CONFIG_OPTION_ROW_FILE("/nonexistent/default.yaml", 1),
	CONFIG_OPTION_ROWS_PRINT(0, 1),
	{ "double", OPTION_DOUBLE, "NUMBER", 0, "Sets two keys.", 1 },
	{ "greet", OPTION_GREET, "NAME", 0, "Prints a greeting and exits.", 1 },
	CONFIG_OPTION_ROWS_HELP(3),
};

static const struct config_flag_source flags = {
	.fixed = fixed,
	.n_fixed = ARRAY_SIZE(fixed),
	.table = &test_table,
	.first_key = CONFIG_OPTION_FIRST_KEY,
	.group = 2,
};

static int finish(void *arg, char message[CONFIG_MESSAGE_SIZE])
{
	const struct test_config *config = arg;

	if (config->port != 666)
		return 0;
	(void)snprintf(message, CONFIG_MESSAGE_SIZE, "port: 666 is reserved");
	return -EINVAL;
}

static int take_own(struct config_options *options, void *own, int key, const char *argument)
{
	if (key == OPTION_GREET) {
		*(const char **)own = argument;
		return 1;
	}
	assert_ok(config_options_add(options, "double", "unlimited", argument));
	return config_options_add(options, "double", "on_cpu.frequency", argument);
}

static int answer_own(const struct config_options *options, void *own, FILE *out,
		      char message[CONFIG_MESSAGE_SIZE])
{
	const char *port = config_options_value(options, "port");

	(void)message;
	(void)fprintf(out, "hello %s, port %s\n", *(const char **)own, port ? port : "unset");
	return 0;
}

static const struct config_program program = {
	.name = "example",
	.doc = "An example.",
	.path = "/nonexistent/default.yaml",
	.title = "Configuration of the example",
	.flags = &flags,
	.finish = finish,
	.take_own = take_own,
	.answer_own = answer_own,
};

struct outcome {
	int r;
	struct test_config config;
	char message[CONFIG_MESSAGE_SIZE];
	char *output;
	size_t output_size;
};

static void outcome_release(struct outcome *outcome)
{
	test_config_release(&outcome->config);
	free(outcome->output);
}

static struct outcome parse(const struct config_program *of, char *const *environment,
			    const char *const *arguments)
{
	struct outcome outcome = {};
	char *argv[MAX_ARGUMENTS + 2] = { (char *)"example" };
	FILE *out = open_memstream(&outcome.output, &outcome.output_size);
	const char *own = NULL;
	int argc = 1;

	assert_non_null(out);
	for (; arguments[argc - 1]; argc++) {
		assert_true(argc <= MAX_ARGUMENTS);
		argv[argc] = (char *)arguments[argc - 1];
	}
	outcome.r = config_options_parse(of, &own, argc, argv, environment, out, &outcome.config,
					 outcome.message);
	for (int i = 1; i < argc; i++)
		assert_ptr_equal(argv[i], arguments[i - 1]);
	(void)fclose(out);
	return outcome;
}

#define parse_flags(...) parse(&program, no_environment, (const char *const[]){ __VA_ARGS__, NULL })

static void flags_override_the_environment_which_overrides_the_file(void **state)
{
	static const char yaml[] = "port: 1\nunlimited: 2\nmemory: 3MiB\n";
	static char *environment[] = { (char *)"TEST_PORT=10", (char *)"TEST_UNLIMITED=20", NULL };
	scoped_free char *path = write_file_in(*state, "test.yaml", yaml, strlen(yaml));
	scoped(outcome_release) struct outcome outcome =
		parse(&program, environment,
		      (const char *const[]){ "--port=100", "--config", path, NULL });

	assert_int_equal(outcome.r, OPTIONS_RUN);
	assert_int_equal(outcome.config.port, 100);
	assert_int_equal(outcome.config.unlimited, 20);
	assert_int_equal(outcome.config.memory_bytes, 3 * MIB);
	assert_string_equal(outcome.output, "");
}

static void a_missing_file_is_an_error_only_if_it_was_named(void **state)
{
	scoped(outcome_release) struct outcome unnamed = parse_flags("--port=1");
	scoped(outcome_release) struct outcome named = parse_flags("--config=/nonexistent.yaml");

	(void)state;
	assert_int_equal(unnamed.r, OPTIONS_RUN);
	assert_int_equal(named.r, -ENOENT);
	assert_string_equal(named.message, "'/nonexistent.yaml' does not exist");
}

static void an_option_of_the_program_can_set_keys(void **state)
{
	scoped(outcome_release) struct outcome good = parse_flags("--double=30", "--unlimited=4");
	scoped(outcome_release) struct outcome bad = parse_flags("--double=many");

	(void)state;
	assert_int_equal(good.r, OPTIONS_RUN);
	assert_int_equal(good.config.frequency, 30);
	assert_int_equal(good.config.unlimited, 4);
	assert_int_equal(bad.r, -EINVAL);
	assert_non_null(strstr(bad.message, "--double"));
}

static void the_first_requested_answer_is_written(void **state)
{
	static const struct {
		const char *arguments[3];
		const char *output;
	} cases[] = {
		{ { "--version" }, "example " HEARTH_VERSION "\n" },
		{ { "--check-config" }, "the configuration is valid\n" },
		{ { "--check-config", "--version" }, "the configuration is valid\n" },
		{ { "--version", "--check-config" }, "example " HEARTH_VERSION "\n" },
		{ { "--greet=you", "--port=8" }, "hello you, port 8\n" },
		{ { "--version", "--greet=you" }, "example " HEARTH_VERSION "\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(outcome_release) struct outcome outcome =
			parse(&program, no_environment, cases[i].arguments);

		assert_int_equal(outcome.r, OPTIONS_ANSWERED);
		assert_string_equal(outcome.output, cases[i].output);
	}
}

static void help_and_printed_documents_come_from_the_tables(void **state)
{
	static const struct {
		const char *argument, *part;
	} cases[] = {
		{ "--help", "--on-cpu.frequency=NUMBER" },
		{ "--help", "Configuration file" },
		{ "--usage", "Usage: example" },
		{ "--print-config", "frequency: 99" },
		{ "--print-default-config", "Configuration of the example" },
		{ "--print-config-markdown", "| `memory` |" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(outcome_release) struct outcome outcome = parse_flags(cases[i].argument);

		assert_int_equal(outcome.r, OPTIONS_ANSWERED);
		if (!strstr(outcome.output, cases[i].part))
			fail_msg("no '%s' in '%s'", cases[i].part, outcome.output);
	}
}

static int print_nothing_but_port(void *arg, struct bytes *out)
{
	const struct test_config *config = arg;

	return bytes_append_format(out, "port %d\n", (int)config->port);
}

static void a_program_can_print_its_configuration_itself(void **state)
{
	struct config_program printing = program;
	scoped(outcome_release) struct outcome outcome = {};

	(void)state;
	printing.print = print_nothing_but_port;
	outcome = parse(&printing, no_environment,
			(const char *const[]){ "--print-config", "--port=5", NULL });
	assert_int_equal(outcome.r, OPTIONS_ANSWERED);
	assert_string_equal(outcome.output, "port 5\n");
}

static void a_configuration_that_the_program_refuses_is_an_error(void **state)
{
	scoped(outcome_release) struct outcome outcome = parse_flags("--port=666");

	(void)state;
	assert_int_equal(outcome.r, -EINVAL);
	assert_string_equal(outcome.message, "port: 666 is reserved");
}

static void an_answer_that_cannot_be_written_is_an_error(void **state)
{
	char *argv[] = { (char *)"example", (char *)"--version", NULL };
	char message[CONFIG_MESSAGE_SIZE];
	struct test_config config = {};
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(full);
	assert_int_equal(config_options_parse(&program, NULL, 2, argv, no_environment, full,
					      &config, message),
			 -EIO);
	assert_string_equal(message, "cannot write the answer");
	(void)fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(flags_override_the_environment_which_overrides_the_file),
		cmocka_unit_test(a_missing_file_is_an_error_only_if_it_was_named),
		cmocka_unit_test(an_option_of_the_program_can_set_keys),
		cmocka_unit_test(the_first_requested_answer_is_written),
		cmocka_unit_test(help_and_printed_documents_come_from_the_tables),
		cmocka_unit_test(a_program_can_print_its_configuration_itself),
		cmocka_unit_test(a_configuration_that_the_program_refuses_is_an_error),
		cmocka_unit_test(an_answer_that_cannot_be_written_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
