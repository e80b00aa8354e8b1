/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What stands below a profile of which part has no names. */

#include "symbolizer/cli/client/client.h"
#include "symbolizer/cli/profile/call_tree.h"

struct unresolved_hint {
	const struct selection_options *selection;
	const struct connection_options *connection;
	int width;
};

/*
 * Appends which files' code has no names in @tree, and how to learn more; nothing where it is less
 * than 1 %. The server is asked for the files only then. A question that fails is said, and leaves
 * @out as it is.
 */
void unresolved_hint_append(struct client *client, const struct unresolved_hint *hint,
			    const struct call_tree *tree, struct bytes *out);
