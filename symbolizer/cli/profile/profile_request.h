/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A selection as the body of POST /v1/profile/ProfileTracing or as GET /v1/flame, and the answers.
 */

#include "common/bytes.h"
#include "symbolizer/cli/client/client.h"
#include "symbolizer/cli/profile/call_tree.h"

enum profile_format {
	PROFILE_NODES,   /* the default of the API: what --json prints */
	PROFILE_COLUMNS, /* what call_tree_from_answer() reads, with the figures of the query */
};

/* Appends the JSON body. @max_nodes 0: all. */
int profile_request_write(const struct selection_options *selection, enum profile_format format,
			  uint32_t max_nodes, struct bytes *out);

/* Asks and appends the whole answer. Errors are said. */
int profile_fetch(struct client *client, const struct selection_options *selection,
		  enum profile_format format, uint32_t max_nodes, struct bytes *ret_answer);

/* Appends the path and parameters of GET /v1/flame, and a NUL. */
int profile_path_write(struct client *client, const struct selection_options *selection,
		       uint32_t max_nodes, struct bytes *out);

/*
 * Asks GET /v1/flame for a tree, or ProfileTracing where the filter is too long for a URL. 1 found;
 * 0 no data, and the server's explanation is on stderr; errors are said.
 */
int profile_fetch_tree(struct client *client, const struct selection_options *selection,
		       uint32_t max_nodes, struct call_tree **ret_tree);
