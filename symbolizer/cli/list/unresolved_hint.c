/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/cli/list/unresolved_hint.h"

#include "symbolizer/cli/list/unresolved_list.h"
#include "symbolizer/cli/list/unresolved_text.h"
#include "symbolizer/cli/print/scoped_json.h"

/* Number of files that are requested: more than unresolved_hint_write() shows. */
#define HINT_ROWS 5

void unresolved_hint_append(struct client *client, const struct unresolved_hint *hint,
			    const struct call_tree *tree, struct bytes *out)
{
	const struct unresolved_text_options options = {
		.selection = hint->selection,
		.server = connection_server_to_print(hint->connection),
		.width = hint->width,
	};
	scoped(json_freep) json_t *root = NULL;

	if (tree->unresolved == 0 ||
	    100 * (double)tree->unresolved < UNRESOLVED_MIN_PCT * (double)tree->nodes[0].total)
		return;
	if (unresolved_fetch(client, hint->selection, HINT_ROWS, &root) < 0)
		return;
	unresolved_hint_write(root, &options, out);
}
