/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/options.h"

#include "tests/support/unit.h"

#define MAX_ARGUMENTS 12

static char *const no_environment[] = { NULL };

/* @arguments end with NULL. argp needs a writable copy. */
static int parse(const char *const *arguments, char *const *environment, FILE *out,
		 struct symbolizer_config *config, char *message)
{
	char *argv[MAX_ARGUMENTS + 1] = { strdup("hearth-symbolizer") };
	int argc = 1, r;

	for (; arguments[argc - 1]; argc++)
		argv[argc] = strdup(arguments[argc - 1]);
	r = options_parse(argc, argv, environment, out, config, message);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
	return r;
}

static void without_flags_all_keys_have_defaults(void **state)
{
	static const char *const arguments[] = { "--config=/dev/null", NULL };
	scoped(symbolizer_config_release) struct symbolizer_config config = {};
	char message[CONFIG_MESSAGE_SIZE];

	(void)state;
	if (parse(arguments, no_environment, stdout, &config, message) != OPTIONS_RUN)
		fail_msg("%s", message);
	assert_string_equal(config.listen, "127.0.0.1:20416");
	assert_string_equal(config.data, "/var/lib/hearth");
	assert_string_equal(config.tokens, "");
	assert_false(config.insecure);
	assert_int_equal(config.retention_ns, UINT64_C(7) * 86400 * NSEC_PER_SEC);
	assert_int_equal(config.symbol_cache_bytes, GIB);
	assert_int_equal(symbolizer_config_from_agents(&config), DEBUGINFO_FROM_AGENTS_SYMBOLS);
	assert_int_equal(config.threads, 0);
	assert_int_equal(symbolizer_config_log_level(&config), LOG_LEVEL_INFO);
}

static void a_flag_overrides_the_environment_which_overrides_the_file(void **state)
{
	static const char file[] = "threads: 1\nmax_connections: 10\ndata: /file\nretention: 1d\n";
	scoped_free char *path = write_file_in(*state, "config.yaml", file, strlen(file));
	char *const environment[] = { (char[]){ "HEARTH_SYMBOLIZER_THREADS=2" },
				      (char[]){ "HEARTH_SYMBOLIZER_DATA=/environment" },
				      (char[]){ "HEARTH_SYMBOLIZER_DEBUGINFO_FROM_AGENTS=none" },
				      NULL };
	const char *const arguments[] = { "--threads", "3", "--config", path, "--insecure", NULL };
	scoped(symbolizer_config_release) struct symbolizer_config config = {};
	char message[CONFIG_MESSAGE_SIZE];

	if (parse(arguments, environment, stdout, &config, message) != OPTIONS_RUN)
		fail_msg("%s", message);
	assert_int_equal(config.threads, 3);
	assert_string_equal(config.data, "/environment");
	assert_int_equal(config.max_connections, 10);
	assert_int_equal(config.retention_ns, UINT64_C(86400) * NSEC_PER_SEC);
	assert_true(config.insecure);
	assert_int_equal(symbolizer_config_from_agents(&config), DEBUGINFO_FROM_AGENTS_NONE);
}

static void the_last_of_port_and_listen_is_used(void **state)
{
	static const struct {
		const char *arguments[4];
		const char *listen;
	} cases[] = {
		{ { "--config=/dev/null", "--port=8080" }, "127.0.0.1:8080" },
		{ { "--config=/dev/null", "--listen=[::1]:1,10.0.0.1:2" }, "[::1]:1\n10.0.0.1:2" },
		{ { "--config=/dev/null", "--listen=[::1]:1", "--port=7" }, "127.0.0.1:7" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(symbolizer_config_release) struct symbolizer_config config = {};
		char message[CONFIG_MESSAGE_SIZE];

		if (parse(cases[i].arguments, no_environment, stdout, &config, message) !=
		    OPTIONS_RUN)
			fail_msg("%s", message);
		assert_string_equal(config.listen, cases[i].listen);
	}
}

static void errors_name_the_flag_or_key(void **state)
{
	static const struct {
		const char *arguments[4];
		const char *part;
	} cases[] = {
		{ { "--config=/nonexistent.yaml" }, "'/nonexistent.yaml'" },
		{ { "--config=/dev/null", "--threads=many" }, "--threads" },
		{ { "--config=/dev/null", "--threads=1000" }, "--threads" },
		{ { "--config=/dev/null", "--port=99999" }, "'127.0.0.1:99999' is not an address" },
		{ { "--config=/dev/null", "--listen=localhost" },
		  "listen: 'localhost' is not an address" },
		{ { "--config=/dev/null", "--data=" }, "data: a folder is needed" },
		{ { "--config=/dev/null", "--log_level=loud" }, "log_level: 'loud' is none of" },
		{ { "--config=/dev/null", "--debuginfo.from_agents=some" },
		  "debuginfo.from_agents: 'some' is none" },
		{ { "--config=/dev/null", "--tokens=/nonexistent" },
		  "tokens: cannot read tokens file '/nonexistent'" },
		{ { "--make-token=ci", "--scopes=write" }, "--scopes: 'write'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(symbolizer_config_release) struct symbolizer_config config = {};
		char message[CONFIG_MESSAGE_SIZE] = "";

		assert_true(parse(cases[i].arguments, no_environment, stdout, &config, message) <
			    0);
		if (!strstr(message, cases[i].part))
			fail_msg("no '%s' in '%s'", cases[i].part, message);
	}
}

static void answers_are_printed_instead_of_a_run(void **state)
{
	static const struct {
		const char *arguments[4];
		const char *part;
	} cases[] = {
		{ { "--version" }, "hearth-symbolizer " },
		{ { "--help" }, "--debuginfo.max-upload-size" },
		{ { "--usage" }, "Usage:" },
		{ { "--check-config", "--config=/dev/null" }, "the configuration is valid" },
		{ { "--print-config", "--config=/dev/null", "--port=99" },
		  "listen: [\"127.0.0.1:99\"]" },
		{ { "--print-default-config" }, "#retention: 7d" },
		{ { "--print-config-markdown" }, "| `retention` |" },
		{ { "--make-token=ci", "--scopes=admin" }, "scopes: [admin]" },
		{ { "--make_token=ci", "--scopes=read" }, "scopes: [read]" },
		{ { "--print_config", "--config=/dev/null", "--symbol-cache=3GiB" },
		  "symbol_cache: 3GiB" },
		{ { "--print_config", "--config=/dev/null",
		    "--listen=[\"[::1]:1\", \"127.0.0.1:2\"]" },
		  "listen: [\"[::1]:1\", \"127.0.0.1:2\"]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(symbolizer_config_release) struct symbolizer_config config = {};
		char message[CONFIG_MESSAGE_SIZE] = "";
		scoped_free char *printed = NULL;
		size_t size;
		FILE *out = open_memstream(&printed, &size);

		assert_non_null(out);
		if (parse(cases[i].arguments, no_environment, out, &config, message) !=
		    OPTIONS_ANSWERED)
			fail_msg("%s: %s", cases[i].arguments[0], message);
		(void)fclose(out);
		if (!strstr(printed, cases[i].part))
			fail_msg("no '%s' in '%s'", cases[i].part, printed);
	}
}

static void a_backup_is_a_run_with_the_configured_folder(void **state)
{
	const char *const arguments[4] = { "--backup=/mnt/copy", "--config=/dev/null",
					   "--data=/srv/hearth" };
	scoped(symbolizer_config_release) struct symbolizer_config config = {};
	char message[CONFIG_MESSAGE_SIZE] = "";

	(void)state;
	assert_int_equal(parse(arguments, no_environment, stdout, &config, message), OPTIONS_RUN);
	assert_string_equal(config.backup, "/mnt/copy");
	assert_string_equal(config.data, "/srv/hearth");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_flags_all_keys_have_defaults),
		cmocka_unit_test(a_backup_is_a_run_with_the_configured_folder),
		in_folder(a_flag_overrides_the_environment_which_overrides_the_file),
		cmocka_unit_test(the_last_of_port_and_listen_is_used),
		cmocka_unit_test(errors_name_the_flag_or_key),
		cmocka_unit_test(answers_are_printed_instead_of_a_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
