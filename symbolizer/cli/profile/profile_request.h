/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Requests a profile with POST /v1/profile/ProfileTracing or GET /v1/flame. */

#include "common/bytes.h"
#include "symbolizer/cli/client/client.h"
#include "symbolizer/cli/profile/call_tree.h"

enum profile_format {
	PROFILE_NODES,   /* the default of the API, printed by --json */
	PROFILE_COLUMNS, /* for call_tree_from_answer(), with the figures of the query */
};

/* Appends the JSON body of ProfileTracing. @max_nodes 0: all. */
int profile_request_write(const struct selection_options *selection, enum profile_format format,
			  uint32_t max_nodes, struct bytes *out);

/* Sends ProfileTracing and appends the whole answer. Logs errors. */
int profile_fetch(struct client *client, const struct selection_options *selection,
		  enum profile_format format, uint32_t max_nodes, struct bytes *ret_answer);

/* Appends the path and parameters of GET /v1/flame, and a NUL. */
int profile_path_write(struct client *client, const struct selection_options *selection,
		       uint32_t max_nodes, struct bytes *out);

/* The same for GET /v1/export. */
int profile_export_path_write(struct client *client, const struct selection_options *selection,
			      const char *format, struct bytes *out);

/*
 * Fetches a tree with GET /v1/flame, or with ProfileTracing if the filter is too long for a URL.
 * Returns 1 and sets *ret_tree; 0 if there is no data, and prints the server's reason to stderr;
 * logs errors.
 */
int profile_fetch_tree(struct client *client, const struct selection_options *selection,
		       uint32_t max_nodes, struct call_tree **ret_tree);
