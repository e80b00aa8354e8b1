/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Regular expressions of users, matched by PCRE2 without anchors. Limits of matching steps, depth
 * and heap bound the time and memory of every pattern.
 */

#include "common/base.h"

struct pattern;

/*
 * 0, -ENOMEM, or -EINVAL: @ret_message (of @message_size bytes) describes the error, and
 * *ret_offset is its offset in @text.
 */
int pattern_new(const char *text, bool ignore_case, char *ret_message, size_t message_size,
		size_t *ret_offset, struct pattern **ret_pattern);
struct pattern *pattern_free(struct pattern *pattern);

/* 1: matches, 0: does not match, -E2BIG: a limit was exceeded, -ENOMEM. Thread-safe. */
int pattern_matches(const struct pattern *pattern, const char *text, size_t length);

#include "common/scoped.h"
DEFINE_SCOPED(struct pattern *, pattern_free);
