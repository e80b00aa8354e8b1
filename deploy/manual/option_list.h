/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The options of a program, as argp's `--help` shows them: those of its table and of the tables
 * that it includes (argp children), in groups.
 *
 * Programs keep their tables to themselves. option_list_capture() calls a program's own function
 * that parses arguments; this library defines argp_parse() in place of libc's, which copies the
 * table that it is given and returns an error. Texts are copied, because a program may free its
 * table before it returns. Rows of one group have the same pointer as heading. One thread.
 */

#include <argp.h>

#include "common/arena.h"
#include "common/vec.h"

struct option_row {
	const char *name;
	const char *argument; /* NULL: it takes none */
	const char *doc;      /* NULL: another name of the row above */
	const char *heading;  /* of its group; NULL: none */
	int group;
	char letter; /* 0: no short form */
	bool argument_is_optional;
	bool is_hidden;
};

VEC_DEFINE(option_vec, struct option_row);

struct option_list {
	const char *arguments; /* "SERVICE", one alternative a line; NULL: none */
	const char *doc;       /* NULL: none; a vertical tab begins what stands below the options */
	struct option_vec rows;
	struct arena *texts; /* what the pointers above and in @rows point to */
};

/*
 * @parse calls argp_parse(). -ENOENT: it did not; -ENOMEM. @ret_list is to be released.
 */
int option_list_capture(void (*parse)(const void *arg), const void *arg,
			struct option_list *ret_list);

void option_list_release(struct option_list *list);

/* Options whose group has the number @group, or all with INT_MIN; for a table that is no program's.
 */
int option_list_of_table(const struct argp *argp, struct option_list *ret_list);

/* Whether a person is to see it. */
static inline bool option_is_shown(const struct option_row *row)
{
	return !row->is_hidden;
}
