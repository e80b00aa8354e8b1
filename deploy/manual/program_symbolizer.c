/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manual-hearth-symbolizer FOLDER DATE: writes the manual pages and completions of
 * `hearth-symbolizer`.
 */

#include <stdio.h>

#include "symbolizer/options.h"
#include "deploy/manual/program.h"

static void parse_arguments(const void *arg)
{
	char name[] = "hearth-symbolizer";
	char *argv[] = { name, NULL };
	char *environment[] = { NULL };
	char message[CONFIG_MESSAGE_SIZE];
	struct symbolizer_config config;

	(void)arg;
	/* The call ends when the table is captured, so it reads no configuration. */
	(void)options_parse(1, argv, environment, stdout, &config, message);
}

int main(int argc, char **argv)
{
	struct manual_program program = {
		.name = "hearth-symbolizer",
		.summary = "stores the samples of a fleet and serves its profiles",
		.section = '8',
		.config = &symbolizer_config_table,
		.config_path = SYMBOLIZER_CONFIG_FILE,
	};

	return manual_main(argc, argv, &program, parse_arguments);
}
