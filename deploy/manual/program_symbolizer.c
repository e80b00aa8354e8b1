/* SPDX-License-Identifier: Apache-2.0 */

/*
 * manual-hearth-symbolizer FOLDER DATE: writes the manual pages and completions of
 * `hearth-symbolizer`.
 */

#include <stdio.h>
#include <stdlib.h>

#include "symbolizer/options.h"
#include "common/log.h"
#include "deploy/manual/program.h"

static void parse_arguments(const void *arg)
{
	char name[] = "hearth-symbolizer";
	char *argv[] = { name, NULL };
	char *environment[] = { NULL };
	char message[OPTIONS_MESSAGE_SIZE];
	struct symbolizer_config config;

	(void)arg;
	/* The table is captured before anything is read: there is no configuration afterwards. */
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
	int status = EXIT_FAILURE;
	int r;

	if (argc != 3) {
		(void)fprintf(stderr, "usage: %s FOLDER DATE\n", argv[0]);
		return EXIT_FAILURE;
	}
	r = option_list_capture(parse_arguments, NULL, &program.options);
	if (r < 0)
		(void)log_error_errno(r, "cannot read the table of options: %m");
	else
		status = write_manual(&program, argv[1], argv[2]);
	option_list_release(&program.options);
	return status;
}
