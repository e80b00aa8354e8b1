/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Label selectors of Pyroscope and Prometheus, {service_name="nginx", host=~"web-.*"}, as filters.
 *
 * A selector is a list of comparisons that all have to hold. The operators are = != =~ !~. A label
 * that a series lacks is equal to "". Regular expressions match whole values. Names are bare, or in
 * quotes if they have other characters than letters, digits, '_' and '.'. Names that no series has
 * are no error. Two names have a meaning of their own:
 *
 *   service_name      the tag app_service
 *   __profile_type__  only with = ; it selects an event type, not series
 */

#include "symbolizer/query/filter/filter.h"

#define LABEL_SERVICE_NAME "service_name"
#define LABEL_PROFILE_TYPE "__profile_type__"

struct label_selector {
	struct filter *filter; /* owned; series that one of the selectors selects */
	/* In the filter; NULL: there is no such comparison, or there are several selectors. */
	const char *service;      /* the value that service_name has to equal */
	const char *profile_type; /* the value of __profile_type__ */
};

/*
 * Parses @count selectors, of which one has to select a series. An empty text selects everything.
 * Returns 0, -EINVAL and fills *ret_error (with an offset in the selector at fault), or -ENOMEM.
 */
int label_selector_parse(char *const *texts, size_t count, struct label_selector *ret_selector,
			 struct filter_error *ret_error);
void label_selector_release(struct label_selector *selector);

/* The tag that a label name means. */
const char *label_tag(const char *label);
