/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * tag_filter: AND OR NOT, parentheses, = != > < >= <= IN NOT IN LIKE NOT LIKE REGEXP NOT REGEXP IS
 * [NOT] NULL. Strings in single or double quotes, names bare or in backticks. A tag that is absent
 * is NULL; !=, NOT IN, NOT LIKE and NOT REGEXP select it. LIKE takes *, % and _, without regard to
 * case; REGEXP is unanchored PCRE2; `ip` and `host_ip` take CIDR. The grammar with examples is in
 * docs/filter-language.md.
 *
 * A filter is immutable once parsed: any thread may match with it.
 */

#include "common/arena.h"

struct filter;

#define FILTER_MESSAGE_SIZE 160

/* A name longer than this is no tag. */
#define FILTER_MAX_NAME_BYTES 256

struct filter_error {
	size_t offset; /* in bytes from the start of the text */
	char message[FILTER_MESSAGE_SIZE];
	bool unknown_tag; /* @message names a tag that is none: the caller can say which there are
			   */
};

/* Returns the number of values of tag @name (0: NULL) and points *ret_values at them. */
typedef size_t (*filter_lookup)(void *arg, const char *name, const char *const **ret_values);

/* Whether @name is a tag at all (an unknown name is the user's error). */
typedef bool (*filter_known)(void *arg, const char *name);

/* An empty text (or only blanks) gives a filter that selects everything. -EINVAL with @ret_error;
 * -ENOMEM. */
int filter_parse(const char *text, filter_known known, void *known_arg, struct filter **ret_filter,
		 struct filter_error *ret_error);
struct filter *filter_free(struct filter *filter);

/* 1 selected, 0 not, -E2BIG when a regular expression hit its limits. */
int filter_matches(const struct filter *filter, filter_lookup lookup, void *lookup_arg);

DEFINE_SCOPED(struct filter *, filter_free);
