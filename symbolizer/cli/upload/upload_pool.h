/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Many files to the server, several at a time: which files, who takes the next one, what is said
 * while they go.
 */

#include "common/vec.h"
#include "symbolizer/cli/upload/upload_file.h"

struct upload_item {
	char *path;    /* owned */
	bool is_named; /* by the user: what is skipped is said */
};

VEC_DEFINE(upload_list, struct upload_item);

/*
 * Adds @path, or with @recursive all regular files below it, once each however they are linked; 0,
 * or a negative errno after a message. What @path links to is followed, links below it are not.
 */
int upload_list_add(struct upload_list *list, const char *path, bool recursive);
void upload_list_release(struct upload_list *list);

struct upload_totals {
	uint64_t n_files[UPLOAD_OUTCOME_COUNT];
	uint64_t bytes_done;
};

/* @n_at_a_time connections. 0, or a negative errno after a message when none could be made. */
int upload_all(const struct connection_options *connection, const struct upload_settings *settings,
	       const struct upload_list *list, unsigned int n_at_a_time,
	       struct upload_totals *ret_totals);
