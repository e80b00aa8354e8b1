/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The tags by which a filter selects and group_by groups series: the rows of tags.def and every
 * label of the series, its process and its host. A label can be named directly or with the prefix
 * "label.". A label of the series hides one of the process with the same name, and that one a label
 * of the host.
 */

#include "symbolizer/query/filter/filter.h"
#include "symbolizer/store/store_view.h"

/* The tags of one series. A value is valid until the next call of series_tag_values(). */
struct series_tags {
	const struct store_series *series;
	const char *value;
	char number[24];
};

/* A filter_lookup; its argument is a struct series_tags. */
size_t series_tag_values(void *series_tags, const char *name, const char *const **ret_values);

/* Joins the values of a tag with ","; *ret_text is in @arena, or NULL if the series has no such
 * tag. Returns 0 or -ENOMEM. */
int series_tag_join(const struct store_series *series, const char *name, struct arena *arena,
		    const char **ret_text);

/*
 * The names that are tags. A label is searched first in @series, and only if they lack it, among
 * the hosts and label names of the view's tenant. @error is the error of the store if that search
 * failed.
 */
struct tag_names {
	struct store_view *view;
	struct arena *arena;
	const struct store_series *series;
	size_t n_series;
	const char **labels; /* from the store, read after the first unknown name */
	size_t n_labels;
	int error;
};

/* A filter_known; its argument is a struct tag_names. */
bool tag_is_known(void *tag_names, const char *name);

/* Returns the known tag or label with the smallest edit distance to @name; NULL: none is close. */
const char *tag_names_nearest(const struct tag_names *names, const char *name);

/* Writes "app_service, process_id, ..., label, ...", as many as fit, for an error message. */
void tag_names_print(const struct tag_names *names, char *ret_text, size_t size);
