/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Regular expressions of users: PCRE2, unanchored, with match, depth and heap limits, so that no
 * pattern can hang us.
 */

#include "common/base.h"

struct pattern;

/*
 * On -EINVAL, @ret_message (of @message_size) says what is wrong and *ret_offset where. Also
 * -ENOMEM.
 */
int pattern_new(const char *text, bool ignore_case, char *ret_message, size_t message_size,
		size_t *ret_offset, struct pattern **ret_pattern);
struct pattern *pattern_free(struct pattern *pattern);

/* 1 matches, 0 does not, -E2BIG when a limit was hit. Thread-safe. */
int pattern_matches(const struct pattern *pattern, const char *text, size_t length);

#include "common/scoped.h"
DEFINE_SCOPED(struct pattern *, pattern_free);
