/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a series can be selected and grouped by: the tags of tags.def, and every label of its
 * process and host, by its name or as "label." and its name. A label of the process hides one of
 * the host.
 */

#include "symbolizer/query/filter/filter.h"
#include "symbolizer/store/store.h"

/* The tags of one series; the values it hands out are valid until the next question. */
struct series_tags {
	const struct store_series *series;
	const char *value;
	char number[24];
};

/* A filter_lookup; @series_tags is a struct series_tags. */
size_t series_tag_values(void *series_tags, const char *name, const char *const **ret_values);

/*
 * The names that are tags. Labels are looked for among the series at hand, then among all hosts and
 * label names of the tenant, which is only done for a name that is not known yet. @error is the
 * store's, when it failed meanwhile.
 */
struct tag_names {
	struct store *store;
	const char *tenant;
	struct arena *arena;
	const struct store_series *series;
	size_t n_series;
	const char **labels; /* of the store, once a name was not known */
	size_t n_labels;
	int error;
};

/* A filter_known; @tag_names is a struct tag_names. */
bool tag_is_known(void *tag_names, const char *name);

/* The known tag or label whose name is most like @name, or NULL when none is. */
const char *tag_names_nearest(const struct tag_names *names, const char *name);

/* "app_service, process_id, ..., label, ...", as many as fit, for people. */
void tag_names_print(const struct tag_names *names, char *ret_text, size_t size);
