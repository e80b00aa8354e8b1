/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Times as people write them on a command line. All are unix seconds; "now" comes in as a
 * parameter. Without a zone it is local time.
 *
 *   a moment     now · 03:12 · 03:12:30 (the latest such moment) · today · yesterday ·
 *                yesterday 03:12 · 10m ago · 10 minutes ago · -10m, now-10m, 10m (ago) ·
 *                2026-08-21T09:30:00Z · 2026-08-21T09:30:00.5+02:00 · 2026-08-21 09:30 ·
 *                2026-08-21 · 1724230800
 *   a duration   90s · 5m · 2h · 7d · 1w · 1h30m · 5 minutes
 *
 * A number without a unit is refused as a duration. As a moment it is unix seconds; below 100000000
 * (in 1973) it is refused, but for 0.
 */

#include "common/base.h"

struct time_range {
	uint64_t since_s; /* the first second */
	uint64_t until_s; /* the last second, included */
};

/* 0 or -EINVAL. */
int time_duration_parse(const char *text, uint64_t *ret_seconds);
int time_moment_parse(const char *text, uint64_t now_s, uint64_t *ret_moment_s);

/* As given by the user; NULL where not. */
struct time_range_texts {
	const char *since;
	const char *until;
	const char *last;
};

#define TIME_RANGE_DEFAULT_LAST "15m"
#define TIME_RANGE_MESSAGE_SIZE 256

/*
 * --last counts back from --until (now without one); --since alone reaches until now. Without any:
 * the last 15 minutes. A time of day as --since is the latest one before --until, so that 23:50 to
 * 00:10 is a range across midnight. -EINVAL with @ret_message, one sentence with examples.
 */
int time_range_resolve(const struct time_range_texts *texts, uint64_t now_s,
		       struct time_range *ret_range, char ret_message[TIME_RANGE_MESSAGE_SIZE]);
