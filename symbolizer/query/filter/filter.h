/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * tag_filter: a boolean expression over the tags of a series, parsed once and matched against every
 * series. docs/filter-language.md has the grammar and examples.
 *
 * The language has AND, OR, NOT, parentheses, = != > < >= <=, [NOT] IN, [NOT] LIKE, [NOT] REGEXP
 * and IS [NOT] NULL. Strings stand in single or double quotes, names bare or in backticks. An
 * absent tag is NULL; !=, NOT IN, NOT LIKE and NOT REGEXP select it. LIKE ignores case and has the
 * wildcards *, % and _. REGEXP is unanchored PCRE2. The tags `ip` and `host_ip` accept CIDR ranges.
 *
 * A filter is immutable after parsing: any number of threads may match with it.
 */

#include "common/arena.h"

struct filter;

#define FILTER_MESSAGE_SIZE 160

/* The parser rejects longer names as unknown tags. */
#define FILTER_MAX_NAME_BYTES 256

struct filter_error {
	size_t offset; /* in bytes from the start of the text */
	char message[FILTER_MESSAGE_SIZE];
	bool unknown_tag; /* the error is an unknown tag: the caller can append the known ones */
};

/* Returns the number of values of tag @name (0: the tag is NULL) and points *ret_values at them. */
typedef size_t (*filter_lookup)(void *arg, const char *name, const char *const **ret_values);

/* Returns whether @name is a tag. An unknown name is an error of the user. */
typedef bool (*filter_known)(void *arg, const char *name);

/*
 * Parses @text. Text that is empty or blank becomes a filter that selects everything. Returns 0,
 * -EINVAL and fills *ret_error, or -ENOMEM.
 */
int filter_parse(const char *text, filter_known known, void *known_arg, struct filter **ret_filter,
		 struct filter_error *ret_error);
struct filter *filter_free(struct filter *filter);

/* Returns 1 if the filter selects the series, 0 if not, -E2BIG if a regular expression exceeded its
 * limits. */
int filter_matches(const struct filter *filter, filter_lookup lookup, void *lookup_arg);

DEFINE_SCOPED(struct filter *, filter_free);
