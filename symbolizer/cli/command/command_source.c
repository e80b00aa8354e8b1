/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hearth source: prints the lines of a function with their values. The text of a file is that of
 * --dir, or else that which was uploaded to the server, or else the file with this path on this
 * machine.
 */

#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/command/function_command.h"
#include "symbolizer/cli/list/source_text.h"

static const struct argp_option options_of_source[] = {
	{ "dir", 'd', "FOLDER", 0, FUNCTION_DIR_HELP, 6 }, {}
};

static const struct argp_child children[] = { { &selection_argp, 0, NULL, 0 },
					      { &connection_argp, 0, NULL, 0 },
					      { &width_argp, 0, NULL, 0 },
					      {} };

static const struct argp source_argp = {
	.options = options_of_source,
	.parser = function_parse,
	.args_doc = FUNCTION_ARGUMENTS,
	.children = children,
	.doc = "Shows where a function spends its time: self is the value of its own code at a "
	       "line, total adds what the line called. The text of a line is shown if the file is "
	       "below --dir, was uploaded to the server, or has the same path on this machine.",
};

static int write_lines(const json_t *answer, const struct function_options *options, void *arg,
		       struct source_finder *finder, struct bytes *out)
{
	const struct source_text_options layout = {
		.event = options->selection.event,
		.width = function_width(options),
		.find = source_finder_find,
		.find_arg = finder,
	};

	(void)arg;
	return source_text_write(answer, &layout, out);
}

enum exit_code command_source(int argc, char **argv)
{
	static const struct function_command command = { .path = "/v1/source",
							 .write = write_lines };
	struct function_options options = {};

	if (argp_parse(&source_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	return function_command_run(&command, &options);
}
