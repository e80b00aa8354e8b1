/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/options.h"

#include <ctype.h>

#include "common/config_flags.h"
#include "common/file.h"
#include "tests/support/unit.h"

#define MAX_ARGUMENTS 64

static char *no_environment[] = { NULL };

/* The result of parsing one command line. */
struct outcome {
	int r;
	struct agent_config config;
	char message[CONFIG_MESSAGE_SIZE];
	char *output; /* written to @out */
	size_t output_size;
};

static void outcome_release(struct outcome *outcome)
{
	agent_config_release(&outcome->config);
	free(outcome->output);
}

static struct outcome parse(char *const *environment, const char *const *arguments)
{
	struct outcome outcome = {};
	char *argv[MAX_ARGUMENTS + 2] = { (char *)"hearth-agent" };
	FILE *out = open_memstream(&outcome.output, &outcome.output_size);
	int argc = 1;

	assert_non_null(out);
	for (; arguments[argc - 1]; argc++) {
		assert_true(argc <= MAX_ARGUMENTS);
		argv[argc] = (char *)arguments[argc - 1];
	}
	outcome.r = options_parse(argc, argv, environment, out, &outcome.config, outcome.message);
	/* The same arguments are parsed again on SIGHUP, so they must be unchanged. */
	for (int i = 1; i < argc; i++)
		assert_ptr_equal(argv[i], arguments[i - 1]);
	(void)fclose(out);
	return outcome;
}

#define parse_flags(...) parse(no_environment, (const char *const[]){ __VA_ARGS__, NULL })

static void flags_override_the_environment_which_overrides_the_file(void **state)
{
	static const char yaml[] =
		"on_cpu:\n  frequency: 10\n  cpu: 1\nserver: http://file:1\nhost.name: file\n";
	static char *environment[] = { (char *)"HEARTH_AGENT_SERVER=http://environment:1",
				       (char *)"HEARTH_AGENT_HOST_NAME=environment",
				       (char *)"PATH=/bin", NULL };
	scoped_free char *path = write_file_in(*state, "agent.yaml", yaml, strlen(yaml));
	scoped(outcome_release) struct outcome outcome =
		parse(environment,
		      (const char *const[]){ "--server=http://flag:1", "--config", path, NULL });

	assert_int_equal(outcome.r, OPTIONS_RUN);
	assert_string_equal(outcome.config.server, "http://flag:1");
	assert_string_equal(outcome.config.host_name, "environment");
	assert_int_equal(outcome.config.on_cpu_frequency, 10);
	assert_int_equal(outcome.config.on_cpu_cpu, 1);
	assert_int_equal(outcome.config.upload_bytes_per_s, 4 * MIB);
}

static void every_key_is_a_flag_and_some_have_a_second_name(void **state)
{
	scoped(outcome_release) struct outcome outcome =
		parse_flags("--on_cpu.frequency=49", "--spool", "/somewhere", "--insecure-tls",
			    "--log_level", "debug", "--unwind.cache-folder=/there");

	(void)state;
	assert_int_equal(outcome.r, OPTIONS_RUN);
	assert_int_equal(outcome.config.on_cpu_frequency, 49);
	assert_string_equal(outcome.config.spool_folder, "/somewhere");
	assert_true(outcome.config.insecure_tls);
	assert_string_equal(outcome.config.log_level, "debug");
	assert_string_equal(outcome.config.unwind_cache_folder, "/there");
}

static void errors_name_the_flag(void **state)
{
	static const struct {
		const char *argument, *in_message;
	} cases[] = {
		{ "--on_cpu.frequency=fast", "--on-cpu.frequency" },
		{ "--config=/nonexistent.yaml", "'/nonexistent.yaml' does not exist" },
		{ "--ring_size=3MiB", "ring_size" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(outcome_release) struct outcome outcome = parse_flags(cases[i].argument);

		assert_true(outcome.r < 0);
		if (!strstr(outcome.message, cases[i].in_message))
			fail_msg("'%s' is not in '%s'", cases[i].in_message, outcome.message);
	}
}

static void answers_are_printed_instead_of_a_run(void **state)
{
	scoped(outcome_release) struct outcome check = parse_flags("--check-config");
	scoped(outcome_release) struct outcome bad_check =
		parse_flags("--check-config", "--server=nonsense");
	scoped(outcome_release) struct outcome print =
		parse_flags("--print-config", "--on_cpu.frequency=7");
	scoped(outcome_release) struct outcome version = parse_flags("--version");
	scoped(outcome_release) struct outcome help = parse_flags("--help");

	(void)state;
	assert_int_equal(check.r, OPTIONS_ANSWERED);
	assert_string_equal(check.output, "the configuration is valid\n");
	assert_int_equal(bad_check.r, -EINVAL);
	assert_int_equal(print.r, OPTIONS_ANSWERED);
	assert_non_null(strstr(print.output, "\non_cpu.frequency: 7\n"));
	assert_int_equal(version.r, OPTIONS_ANSWERED);
	assert_string_equal(version.output, "hearth-agent " HEARTH_VERSION "\n");
	assert_int_equal(help.r, OPTIONS_ANSWERED);
	for (size_t i = 0; i < agent_config_table.n_keys; i++) {
		char name[CONFIG_FLAG_NAME_SIZE];

		config_flag_name(agent_config_table.keys[i].name, name);
		assert_non_null(strstr(help.output, name));
	}
}

static void the_printed_configuration_can_be_loaded_and_has_no_token(void **state)
{
	scoped(outcome_release) struct outcome first = parse_flags(
		"--print-config", "--token=abc", "--host.labels=a=b,c=d", "--batch_interval=7s");
	scoped_free char *path = NULL;

	assert_int_equal(first.r, OPTIONS_ANSWERED);
	assert_null(strstr(first.output, "abc"));
	path = write_file_in(*state, "agent.yaml", first.output, first.output_size);
	{
		scoped(outcome_release) struct outcome second = parse_flags("--config", path);

		assert_int_equal(second.r, OPTIONS_RUN);
		assert_string_equal(second.config.host_labels, "a=b\nc=d");
		assert_int_equal(second.config.batch_interval_ns, 7 * NSEC_PER_SEC);
	}
}

/* Converts each printed line "key: value" to "@prefix KEY=value". The caller frees the texts. */
static size_t split_lines(const char *printed, const char *prefix, char **ret_words)
{
	scoped_free char *copy = strdup(printed);
	bool is_variable = *prefix != '-';
	char *rest = copy;
	size_t count = 0;

	for (char *line = strsep(&rest, "\n"); line && *line; line = strsep(&rest, "\n")) {
		char *colon = strchr(line, ':');

		assert_true(count < MAX_ARGUMENTS);
		*colon = '\0';
		for (char *next = line; is_variable && *next; next++)
			*next = *next == '.' ? '_' : (char)toupper((unsigned char)*next);
		assert_true(asprintf(&ret_words[count++], "%s%s=%s", prefix, line, colon + 2) > 0);
	}
	return count;
}

static void printed_values_are_accepted_by_flags_variables_and_file(void **state)
{
	scoped(outcome_release) struct outcome first = parse_flags(
		"--print-config", "--host.labels=env=prod,rack=r1", "--server=127.0.0.1:24002",
		"--process_matcher=[\"a{1,2}=x\", \"^b$=c d\"]", "--on-cpu.regex=a \"b\" \\d",
		"--off_cpu.min_blocking_time=1500us", "--ring_size=8MiB", "--host.name=\303\244");
	scoped_free char *path =
		write_file_in(*state, "agent.yaml", first.output, first.output_size);
	char *flags[MAX_ARGUMENTS + 2] = {}, *variables[MAX_ARGUMENTS + 1] = {};
	size_t n_flags = split_lines(first.output, "--", flags);
	size_t n_variables = split_lines(first.output, "HEARTH_AGENT_", variables);

	assert_int_equal(first.r, OPTIONS_ANSWERED);
	assert_int_equal(n_flags, agent_config_table.n_keys);
	flags[n_flags] = strdup("--print-config");
	{
		scoped(outcome_release) struct outcome by_flags =
			parse(no_environment, (const char *const *)flags);
		scoped(outcome_release) struct outcome by_variables =
			parse(variables, (const char *const[]){ "--print-config", NULL });
		scoped(outcome_release) struct outcome by_file =
			parse_flags("--print-config", "--config", path);

		assert_string_equal(by_flags.output, first.output);
		assert_string_equal(by_variables.output, first.output);
		assert_string_equal(by_file.output, first.output);
	}
	for (size_t i = 0; i <= n_flags; i++)
		free(flags[i]);
	for (size_t i = 0; i < n_variables; i++)
		free(variables[i]);
}

/* The files are generated by `hearth-agent --print-...`. */
static void generated_files_in_the_repository_are_current(void **state)
{
	static const struct {
		const char *flag, *path;
	} cases[] = {
		{ "--print-default-config", SOURCE_FOLDER "/deploy/config/agent.yaml" },
		{ "--print-config-markdown", SOURCE_FOLDER "/docs/configuration-agent.md" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(outcome_release) struct outcome outcome = parse_flags(cases[i].flag);
		scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);

		assert_int_equal(outcome.r, OPTIONS_ANSWERED);
		assert_ok(file_read(cases[i].path, &content));
		if (content.size != outcome.output_size ||
		    memcmp(content.data, outcome.output, content.size) != 0)
			fail_msg("'%s' is not what hearth-agent %s prints", cases[i].path,
				 cases[i].flag);
	}
}

static void the_default_file_is_valid_when_all_keys_are_uncommented(void **state)
{
	scoped(outcome_release) struct outcome outcome = parse_flags("--print-default-config");
	scoped_free char *yaml = calloc(1, outcome.output_size + 1);
	scoped_free char *path = NULL;
	char *to = yaml;

	/* "#key: value" is a commented key, "# text" is a comment. */
	for (const char *line = outcome.output; *line;) {
		size_t length = strcspn(line, "\n") + 1;
		size_t skip = line[0] == '#' && line[1] != ' ' && line[1] != '\n' ? 1 : 0;

		memcpy(to, line + skip, length - skip);
		to += length - skip;
		line += length;
	}
	path = write_file_in(*state, "agent.yaml", yaml, strlen(yaml));
	{
		scoped(outcome_release) struct outcome read = parse_flags("--config", path);

		if (read.r != OPTIONS_RUN)
			fail_msg("%s", read.message);
		assert_int_equal(read.config.on_cpu_frequency, 99);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(flags_override_the_environment_which_overrides_the_file),
		cmocka_unit_test(every_key_is_a_flag_and_some_have_a_second_name),
		cmocka_unit_test(errors_name_the_flag),
		cmocka_unit_test(answers_are_printed_instead_of_a_run),
		in_folder(the_printed_configuration_can_be_loaded_and_has_no_token),
		in_folder(printed_values_are_accepted_by_flags_variables_and_file),
		cmocka_unit_test(generated_files_in_the_repository_are_current),
		in_folder(the_default_file_is_valid_when_all_keys_are_uncommented),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
