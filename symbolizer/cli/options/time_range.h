/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parses times as people write them on a command line. Results are unix seconds; callers pass the
 * present time as @now_s. A time without a zone is local time.
 *
 *   a moment     now · 03:12 · 03:12:30 (the latest such moment) · today · yesterday ·
 *                yesterday 03:12 · 10m ago · 10 minutes ago · -10m, now-10m, 10m (ago) ·
 *                2026-08-21T09:30:00Z · 2026-08-21T09:30:00.5+02:00 · 2026-08-21 09:30 ·
 *                2026-08-21 · 1724230800
 *   a duration   90s · 5m · 2h · 7d · 1w · 1h30m · 5 minutes
 *
 * A number without a unit is not a duration. As a moment it means unix seconds, and must be 0 or at
 * least 100000000 (in 1973).
 */

#include "common/base.h"

struct time_range {
	uint64_t since_s; /* the first second */
	uint64_t until_s; /* the last second, included */
};

/* Returns 0 or -EINVAL. */
int time_duration_parse(const char *text, uint64_t *ret_seconds);
int time_moment_parse(const char *text, uint64_t now_s, uint64_t *ret_moment_s);

/* The parameters since and until of a request. The server excludes the end of the range. */
struct time_range_parameters {
	char since[24];
	char until[24];
};

struct time_range_parameters time_range_parameters(const struct time_range *range);

/* The arguments of the options; NULL: the option is not given. */
struct time_range_texts {
	const char *since;
	const char *until;
	const char *last;
};

#define TIME_RANGE_DEFAULT_LAST "15m"
#define TIME_RANGE_MESSAGE_SIZE 256

/*
 * Computes the range. --last counts back from --until, or from now without --until. --since without
 * --until ends now. Without any option the range is the last 15 minutes. A time of day as --since
 * means the latest such moment before --until, so that 23:50 to 00:10 is a range across midnight.
 * Returns 0, or -EINVAL and sets @ret_message to a sentence with examples.
 */
int time_range_resolve(const struct time_range_texts *texts, uint64_t now_s,
		       struct time_range *ret_range, char ret_message[TIME_RANGE_MESSAGE_SIZE]);
