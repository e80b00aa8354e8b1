/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The lines below a profile that name the files without function names. */

#include "symbolizer/cli/client/client.h"
#include "symbolizer/cli/profile/call_tree.h"

struct unresolved_hint {
	const struct selection_options *selection;
	const struct connection_options *connection;
	int width;
};

/*
 * If at least 1 % of @tree has no names, fetches the files that lack them and appends them with a
 * command that explains more. If the request fails, logs an error and appends nothing.
 */
void unresolved_hint_append(struct client *client, const struct unresolved_hint *hint,
			    const struct call_tree *tree, struct bytes *out);
