/* SPDX-License-Identifier: Apache-2.0 */

/* hearth disassembly: prints the machine instructions of a function with their values. */

#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/command/function_command.h"
#include "symbolizer/cli/list/disassembly_text.h"

struct disassembly_options {
	struct function_options function; /* first: function_parse() reads it */
	bool all, att;
	uint32_t rows; /* 0: all instructions with values */
};

#define KEY_ATT 0x100

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct disassembly_options *options = state->input;

	switch (key) {
	case 'a':
		options->all = true;
		return 0;
	case KEY_ATT:
		options->att = true;
		return 0;
	case 'n':
		options->rows = options_number(state, "--rows", text, 1000000);
		return 0;
	default:
		return function_parse(key, text, state);
	}
}

static const struct argp_option options_of_disassembly[] = {
	{ "all", 'a', NULL, 0, "also the code that has no values", 6 },
	{ "att", KEY_ATT, NULL, 0, "the syntax of AT&T, for x86-64 (default: that of Intel)", 6 },
	{ "dir", 'd', "FOLDER", 0, FUNCTION_DIR_HELP, 6 },
	{ "rows", 'n', "N", 0,
	  "the N instructions with the largest total, and those around them (0: all with values)",
	  6 },
	{}
};

static const struct argp_child children[] = { { &selection_argp, 0, NULL, 0 },
					      { &connection_argp, 0, NULL, 0 },
					      { &width_argp, 0, NULL, 0 },
					      {} };

static const struct argp disassembly_argp = {
	.options = options_of_disassembly,
	.parser = parse,
	.args_doc = FUNCTION_ARGUMENTS,
	.children = children,
	.doc = "Shows which machine instructions of a function take its time: self is the value of "
	       "samples that were taken there, total adds what a call called. The server must have "
	       "the executable with its code (hearth upload FILE); without it, only addresses are "
	       "shown. Source lines are shown as by 'hearth source'.",
};

static int write_code(const json_t *answer, const struct function_options *options, void *arg,
		      struct source_finder *finder, struct bytes *out)
{
	const struct disassembly_options *own = arg;
	const struct disassembly_text_options layout = {
		.event = options->selection.event,
		.width = function_width(options),
		.all = own->all,
		.rows = own->rows,
		.find = source_finder_find,
		.find_arg = finder,
	};

	return disassembly_text_write(answer, &layout, out);
}

enum exit_code command_disassembly(int argc, char **argv)
{
	struct disassembly_options options = {};
	struct function_command command = { .path = "/v1/disassembly",
					    .write = write_code,
					    .arg = &options };

	if (argp_parse(&disassembly_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	command.syntax = options.att ? "att" : "intel";
	return function_command_run(&command, &options.function);
}
