/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Lists the options of a program in groups, as argp's `--help` shows them: the options of its table
 * and of the tables that it includes (argp children).
 *
 * Programs do not export their tables. So option_list_capture() calls the function of a program
 * that parses arguments, and this library replaces libc's argp_parse() by a function that copies
 * the table and returns an error. Texts are copied, because a program may free its table before it
 * returns. Rows of one group have the same pointer as heading. Used by one thread.
 */

#include <argp.h>

#include "common/arena.h"
#include "common/vec.h"

struct option_row {
	const char *name;
	const char *argument; /* NULL: no argument */
	const char *doc;      /* NULL: an alias of the row above */
	const char *heading;  /* heading of its group; NULL: none */
	int group;
	char letter; /* 0: no short form */
	bool argument_is_optional;
	bool is_hidden;
};

VEC_DEFINE(option_vec, struct option_row);

struct option_list {
	const char *arguments; /* "SERVICE", one alternative per line; NULL: none */
	const char *doc;       /* NULL: none; a vertical tab begins the text below the options */
	struct option_vec rows;
	struct arena *texts; /* memory of the texts above and in @rows */
};

/*
 * Calls @parse and copies the table that it passes to argp_parse(). 0; -ENOENT: @parse did not call
 * argp_parse(); -ENOMEM. The caller releases @ret_list.
 */
int option_list_capture(void (*parse)(const void *arg), const void *arg,
			struct option_list *ret_list);

void option_list_release(struct option_list *list);

/* Lists the options of a table without a program. 0 or -ENOMEM. */
int option_list_of_table(const struct argp *argp, struct option_list *ret_list);

/* Whether help and completions show the option. */
static inline bool option_is_shown(const struct option_row *row)
{
	return !row->is_hidden;
}
