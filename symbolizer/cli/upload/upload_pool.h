/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Collects files and uploads them with several threads, while it prints progress and results. */

#include "common/vec.h"
#include "symbolizer/cli/upload/upload_file.h"

struct upload_item {
	char *path;    /* owned */
	bool is_named; /* the user named it: print it if it is skipped */
};

VEC_DEFINE(upload_list, struct upload_item);

/*
 * Adds @path, or with @recursive all regular files below it, each once even if it has several
 * names. Follows a link at @path, but no links below it. Logs errors but -ENOMEM.
 */
int upload_list_add(struct upload_list *list, const char *path, bool recursive);
void upload_list_release(struct upload_list *list);

struct upload_totals {
	uint64_t n_files[UPLOAD_OUTCOME_COUNT];
	uint64_t bytes_done;
};

/*
 * Uploads all files with at most @n_at_a_time threads. Returns 0, or -EIO if no thread could be
 * started.
 */
int upload_all(const struct connection_options *connection, const struct upload_settings *settings,
	       const struct upload_list *list, unsigned int n_at_a_time,
	       struct upload_totals *ret_totals);
