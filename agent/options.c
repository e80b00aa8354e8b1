/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/options.h"

#include "common/scoped.h"

static const struct argp_option fixed_options[] = {
	CONFIG_OPTION_ROW_FILE(AGENT_CONFIG_FILE, 1),
	CONFIG_OPTION_ROWS_PRINT(0, 1),
	CONFIG_OPTION_ROWS_HELP(3),
};

static const struct config_flag_alias aliases[] = {
	{ "spool", "spool.folder" },
};

static const struct config_flag_source flags = {
	.fixed = fixed_options,
	.n_fixed = ARRAY_SIZE(fixed_options),
	.table = &agent_config_table,
	.first_key = CONFIG_OPTION_FIRST_KEY,
	.group = 2,
	.aliases = aliases,
	.n_aliases = ARRAY_SIZE(aliases),
};

static int finish(void *config, char message[CONFIG_MESSAGE_SIZE])
{
	return agent_config_finish(config, message);
}

/*
 * Hides the token, because users paste the output into tickets. A token that was read from a file
 * is left out, because it is read from there again.
 */
static int print_effective(void *arg, struct bytes *out)
{
	char hidden[] = "(set)", in_file[] = "";
	struct agent_config *config = arg;
	char *token = config->token;
	int r;

	if (*config->token_file)
		config->token = in_file;
	else if (*token)
		config->token = hidden;
	r = config_print(&agent_config_table, config, out);
	config->token = token;
	return r;
}

static const struct config_program program = {
	.name = "hearth-agent",
	.doc = "Profiles every process of this host and sends the samples to a Hearth "
	       "server.\v"
	       "Flags override HEARTH_AGENT_* variables, which override the file.",
	.path = AGENT_CONFIG_FILE,
	.title = AGENT_CONFIG_TITLE,
	.flags = &flags,
	.finish = finish,
	.print = print_effective,
};

int options_parse(int argc, char **argv, char *const *environment, FILE *out,
		  struct agent_config *ret_config, char ret_message[CONFIG_MESSAGE_SIZE])
{
	scoped(agent_config_release) struct agent_config config = {};
	int r;

	r = config_options_parse(&program, NULL, argc, argv, environment, out, &config,
				 ret_message);
	if (r == OPTIONS_RUN) {
		*ret_config = config;
		config = (struct agent_config){};
	}
	return r;
}
