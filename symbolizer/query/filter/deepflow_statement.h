/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The statements of DeepFlow's querier that its Grafana plugin sends before it shows a profile.
 * They look like SQL, but the server compares them word by word with a table, and answers no
 * others. Words match without regard to case.
 *
 * The values of a tag may be followed by WHERE with a filter (filter.h), and by LIMIT with the
 * number of values, or with the number of those to skip and that number. One more statement lists
 * the combinations of values of several tags:
 *
 *   SELECT tag [AS name] {, tag [AS name]} FROM table [WHERE ...] GROUP BY tag {, tag} [LIMIT ...]
 *
 * Enum(tag) is the same as the tag, and each selected tag is one of GROUP BY.
 */

#include "common/arena.h"
#include "symbolizer/query/filter/filter.h"

/* X(id, statement). A word in capitals stands for any name. */
/* clang-format off */
#define DEEPFLOW_STATEMENTS(X)                                                                     \
	X(DATABASES, "show databases")                                                             \
	X(LANGUAGE, "show language")                                                               \
	X(TABLES, "show tables")                                                                   \
	X(FUNCTIONS, "show metrics functions from TABLE")                                          \
	X(METRICS, "show metrics from TABLE")                                                      \
	X(TAGS, "show tags from TABLE")                                                            \
	X(TAG_VALUES, "show tag TAG values from TABLE")                                            \
	X(EVENT_TYPES, "select profile_event_type as `value`, profile_event_type as "              \
		       "`display_name` from TABLE group by profile_event_type")
/* clang-format on */

enum deepflow_statement_kind {
#define X(id, text) DEEPFLOW_##id,
	DEEPFLOW_STATEMENTS(X)
#undef X
		DEEPFLOW_SELECT,
};

/* DeepFlow's limit of values without LIMIT, and the largest one here. */
#define DEEPFLOW_MAX_VALUES 10000

/* Columns of a SELECT, and tags of its GROUP BY. */
#define DEEPFLOW_MAX_COLUMNS 16

struct deepflow_column {
	const char *name; /* in the answer */
	const char *tag;
	size_t group; /* index of the tag in groups */
};

struct deepflow_statement {
	enum deepflow_statement_kind kind;
	/* In the arena; NULL if the statement has none. */
	const char *table, *tag;
	const char *condition;   /* of WHERE; "" without one */
	size_t condition_offset; /* in the text, in bytes */
	uint64_t skip, count;    /* of LIMIT; count <= DEEPFLOW_MAX_VALUES */
	/* Of DEEPFLOW_SELECT. */
	struct deepflow_column columns[DEEPFLOW_MAX_COLUMNS];
	const char *groups[DEEPFLOW_MAX_COLUMNS];
	size_t n_columns, n_groups;
};

/*
 * Parses @text. Returns 0; -EINVAL with *ret_error, whose message is empty if @text is none of the
 * statements; or -ENOMEM. A pure function of its input.
 */
int deepflow_statement_parse(const char *text, struct arena *arena,
			     struct deepflow_statement *ret_statement,
			     struct filter_error *ret_error);
