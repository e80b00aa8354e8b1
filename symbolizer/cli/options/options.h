/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The options that commands share, as argp children: a command lists those it has, and its parser
 * points state->child_inputs at the structs to fill. Mistakes end the program with status 2, --help
 * with 0.
 */

#include <argp.h>

#include "common/base.h"
#include "common/event_type.h"
#include "symbolizer/cli/options/time_range.h"

/* --server, --token, --token-file, --json; HEARTH_SERVER and HEARTH_TOKEN where they are not given.
 */
struct connection_options {
	const char *server;
	const char *token;
	const char *token_file;
	bool json;
};

/* --since, --until, --last. @range is resolved when all is read. */
struct range_options {
	struct time_range_texts texts;
	struct time_range range;
};

/* The service that is every process of every host. */
#define SERVICE_TOTAL "Total"

/* SERVICE or --service, --event, --filter, --fold-threads, --no-inlines and the range. */
struct selection_options {
	const char *service; /* NULL: what the filter leaves */
	enum event_type event;
	const char *filter;
	const char *by; /* of --by: a tag, for a branch or row per value; NULL: none */
	bool fold_threads;
	bool no_inlines;
	struct range_options range;
};

#define SELECTION_BY_PROCESS "process_id"

/*
 * The tag that --by means: "process" and "pid" are process_id, "container" is container_id; any
 * other word is the name of a tag or label.
 */
const char *tag_of_word(const char *word);

/* --rows and --width. */
struct output_options {
	uint32_t rows;  /* 0: all */
	bool has_rows;  /* --rows was given */
	uint32_t width; /* columns; 0: those of the terminal */
};

/* A service, or a filter that may leave few enough of them. */
static inline bool selection_is_given(const struct selection_options *selection)
{
	return selection->service || (selection->filter && selection->filter[0]);
}

/* What a command that is printed has to name with --server to reach the same server; NULL: nothing.
 */
const char *connection_server_to_type(const struct connection_options *options);

extern const struct argp connection_argp;
extern const struct argp range_argp;
extern const struct argp selection_argp;
/* --by, of commands that can group; its input is a struct selection_options. */
extern const struct argp by_argp;
/* --rows and --width, or --width alone; the input is a struct output_options. */
extern const struct argp output_argp;
extern const struct argp width_argp;

/* What agents take samples of today; other types may come from elsewhere. */
#define COLLECTED_EVENTS "on-cpu, off-cpu and run-queue"

/* Exits with status 2 and the text when @text is no number from @min to @max. */
uint32_t options_number_from(struct argp_state *state, const char *option, const char *text,
			     uint32_t min, uint32_t max);
/* The same from 0. */
uint32_t options_number(struct argp_state *state, const char *option, const char *text,
			uint32_t max);
