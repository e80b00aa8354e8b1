/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manual-hearth-agent FOLDER DATE: writes the manual pages and completions of `hearth-agent`.
 */

#include <stdio.h>

#include "agent/options.h"
#include "deploy/manual/program.h"

static void parse_arguments(const void *arg)
{
	char name[] = "hearth-agent";
	char *argv[] = { name, NULL };
	char *environment[] = { NULL };
	char message[CONFIG_MESSAGE_SIZE];
	struct agent_config config;

	(void)arg;
	/* The call ends when the table is captured, so it reads no configuration. */
	(void)options_parse(1, argv, environment, stdout, &config, message);
}

int main(int argc, char **argv)
{
	struct manual_program program = {
		.name = "hearth-agent",
		.summary = "profiles every process of a host",
		.section = '8',
		.config = &agent_config_table,
		.config_path = AGENT_CONFIG_FILE,
	};

	return manual_main(argc, argv, &program, parse_arguments);
}
