/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Takes comparisons out of a filter that has to select a profile by itself, as in DeepFlow's
 * Grafana plugin:
 *
 *   app_service IN ('nginx') AND profile_event_type IN ('on-cpu') AND time>=1700000000 AND
 *   time<=1700000900
 *
 * Only comparisons that AND joins with all others are taken; the filter has the rest.
 */

#include "symbolizer/query/filter/filter.h"

/* [from_s, to_s] unix seconds: empty if from_s > to_s. A bound that is not given is 0 or
 * UINT64_MAX. */
struct filter_range {
	uint64_t from_s, to_s;
};

/*
 * Takes all comparisons of `time`. Returns 0, or -EINVAL with *ret_error: one of them stands in
 * another place, or has another form than >=, >, <=, < or = with a number of seconds.
 */
int filter_take_range(struct filter *filter, struct filter_range *ret_range,
		      struct filter_error *ret_error);

/* Takes the first comparison that requires @tag to be one value, tag = 'value' or IN ('value').
 * Returns the value, which the filter owns, or NULL if there is none. */
const char *filter_take_value(struct filter *filter, const char *tag);

/*
 * Lists the values to which the filter limits @tag: those of tag = 'value', of IN (...), and of
 * such comparisons joined by OR. Returns their number, 0 if the filter does not limit the tag; the
 * first @max are stored. The filter keeps its comparisons and owns the values, which may be equal.
 */
size_t filter_list_values(const struct filter *filter, const char *tag, const char **ret_values,
			  size_t max);
