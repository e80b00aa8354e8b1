/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The common part of commands that show one function: `hearth source` and `hearth disassembly`.
 * They take "[SERVICE] FUNCTION", and the options of a selection, of the connection and of the
 * output.
 */

#include <argp.h>
#include <jansson.h>

#include "common/bytes.h"
#include "symbolizer/cli/client/client.h"
#include "symbolizer/cli/list/source_finder.h"
#include "symbolizer/cli/options/exit_code.h"
#include "symbolizer/cli/options/options.h"

struct function_options {
	struct connection_options connection;
	struct selection_options selection;
	struct output_options output;
	const char *function;
	const char *folder; /* --dir; NULL: none */
};

/*
 * The parser of such a command; its input is a struct function_options. The children of the command
 * are those of selection, connection and output, in this order.
 */
error_t function_parse(int key, char *text, struct argp_state *state);

/* The help text of --dir, a row { "dir", 'd', "FOLDER", 0, FUNCTION_DIR_HELP, 6 }. */
#define FUNCTION_DIR_HELP                                                                          \
	"read source files below FOLDER: of /build/app/src/a.c, FOLDER/build/app/src/a.c, "        \
	"FOLDER/app/src/a.c, FOLDER/src/a.c or FOLDER/a.c"

#define FUNCTION_ARGUMENTS "[SERVICE] FUNCTION"

struct function_command {
	const char *path;   /* "/v1/source" */
	const char *syntax; /* parameter of the request; NULL: none */
	/* Appends the answer to @out; 0, -EBADMSG or the error of @out. */
	int (*write)(const json_t *answer, const struct function_options *options, void *arg,
		     struct source_finder *finder, struct bytes *out);
	void *arg;
};

/* Asks the server and prints the answer. EXIT_NO_DATA: no samples, or none with the function. */
enum exit_code function_command_run(const struct function_command *command,
				    const struct function_options *options);

/* Columns of the output. */
int function_width(const struct function_options *options);
