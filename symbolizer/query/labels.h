/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The labels of selected series: their names, and the combinations of values of some labels. Names
 * are those of label selectors (label_selector.h).
 *
 * Results are sorted, in @arena. Functions return 0 or a negative errno of the store, or of
 * selection_make() with its message.
 */

#include "symbolizer/query/profile.h"

/* Names of labels that some of the series have. @request->type may be EVENT_NONE: all types. */
int labels_list_names(struct store_view *view, const struct profile_request *request,
		      struct arena *arena, const char ***ret_names, size_t *ret_count,
		      char ret_message[PROFILE_MESSAGE_SIZE]);

/* The values of labels[i] are values[i]; NULL: the series lack it. */
struct label_combination {
	const char **values;
};

/* The combinations of values of @labels that series have. */
int labels_list_values(struct store_view *view, const struct profile_request *request,
		       const char *const *labels, size_t n_labels, struct arena *arena,
		       struct label_combination **ret_items, size_t *ret_count,
		       char ret_message[PROFILE_MESSAGE_SIZE]);
