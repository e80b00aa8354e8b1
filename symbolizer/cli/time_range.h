/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Times as people write them on a command line. All are unix seconds; "now" comes in as a
 * parameter.
 *
 *   a moment     now · -10m, now-10m, 10m (ago) · 1724230800 · 2026-08-21T09:30:00Z ·
 * 2026-08-21T09:30:00.5+02:00 2026-08-21 09:30 · 2026-08-21 (without a zone: local time) a duration
 * 90s · 5m · 2h · 7d · 1w · 90 (seconds) · 1h30m
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
#define TIME_RANGE_MESSAGE_SIZE 192

/*
 * --last counts back from --until (now without one); --since alone reaches until now. Without any:
 * the last 15 minutes. -EINVAL with @ret_message.
 */
int time_range_resolve(const struct time_range_texts *texts, uint64_t now_s,
		       struct time_range *ret_range, char ret_message[TIME_RANGE_MESSAGE_SIZE]);
