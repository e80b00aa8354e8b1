/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The options that commands share, as argp children. A command lists the children that it needs,
 * and its parser sets state->child_inputs to the structs that they fill. A mistake in the arguments
 * ends the program with status 2, --help ends it with 0.
 */

#include <argp.h>

#include "common/base.h"
#include "common/event_type.h"
#include "symbolizer/cli/options/time_range.h"

/*
 * --server, --token, --token-file, --json. Defaults are the environment variables HEARTH_SERVER,
 * HEARTH_TOKEN and HEARTH_TOKEN_FILE.
 */
struct connection_options {
	const char *server;
	const char *token;
	const char *token_file;
	bool json;
};

/* --since, --until, --last. @range is computed after all arguments are parsed. */
struct range_options {
	struct time_range_texts texts;
	struct time_range range;
};

/* The name of the service that stands for all processes of all hosts. */
#define SERVICE_TOTAL "Total"

/* SERVICE or --service, --event, --filter, --fold-threads, --no-inlines and the range. */
struct selection_options {
	const char *service; /* NULL: all services that match @filter */
	enum event_type event;
	/* Set before parsing: --event may name a type that only the server knows. */
	bool takes_any_event;
	const char *other_event; /* its name, if @event is EVENT_NONE */
	const char *filter;
	const char *callers_of; /* --callers-of or --callees-of: a function; NULL: the whole tree */
	const char *callees_of;
	const char *by; /* --by: the tag to group by, a branch or row per value; NULL: none */
	bool fold_threads;
	bool no_inlines;
	struct range_options range;
};

#define SELECTION_BY_PROCESS "process_id"

/*
 * Returns the tag for an argument of --by: "process" and "pid" are process_id, "container" is
 * container_id; any other word is already the name of a tag or label.
 */
const char *tag_of_word(const char *word);

/* --rows and --width. */
struct output_options {
	uint32_t rows;  /* 0: all */
	bool has_rows;  /* --rows was given */
	uint32_t width; /* columns; 0: those of the terminal */
};

/* Returns whether the user named a service, or gave a filter that may match few enough services. */
static inline bool selection_is_given(const struct selection_options *selection)
{
	return selection->service || (selection->filter && selection->filter[0]);
}

/*
 * Returns the URL that a printed command needs after --server to reach the same server; NULL if the
 * command reaches it by default.
 */
const char *connection_server_to_print(const struct connection_options *options);

extern const struct argp connection_argp;
extern const struct argp range_argp;
extern const struct argp selection_argp;
/* --by, for commands that can group; the input is a struct selection_options. */
extern const struct argp by_argp;
/* --rows and --width, or --width alone; the input is a struct output_options. */
extern const struct argp output_argp;
extern const struct argp width_argp;

/* The options of the commands that print a selection: selection, connection, --by and output. */
extern const struct argp_child printed_selection_children[];
/* The same, and --callers-of and --callees-of. */
extern const struct argp_child printed_profile_children[];
/* Set the inputs of printed_selection_children, for ARGP_KEY_INIT of their parser, and of
 * printed_profile_children. */
void pass_printed_selection(struct argp_state *state, struct selection_options *selection,
			    struct connection_options *connection, struct output_options *output);
void pass_printed_profile(struct argp_state *state, struct selection_options *selection,
			  struct connection_options *connection, struct output_options *output);

/* The event types that agents sample. Other programs may send other types. */
#define COLLECTED_EVENTS "on-cpu, off-cpu and run-queue"

/* Prints an error and exits with status 2 if @text is not a number from @min to @max. */
uint32_t options_number_from(struct argp_state *state, const char *option, const char *text,
			     uint32_t min, uint32_t max);
/* Does the same with a @min of 0. */
uint32_t options_number(struct argp_state *state, const char *option, const char *text,
			uint32_t max);
