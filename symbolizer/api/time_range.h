/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The time range of a query string: last=15m, or since= and until= as unix seconds or RFC 3339
 * ("2025-01-31T08:00:00Z", "...+01:00"). until defaults to now. last is the length of the range
 * before until. The range is [since, until).
 */

#include "common/clock.h"
#include "symbolizer/http/message.h"

struct time_range {
	uint64_t since_wall_ns;
	uint64_t until_wall_ns;
	uint64_t from_slot; /* [from_slot, to_slot) covers the range */
	uint64_t to_slot;
};

#define TIME_RANGE_MESSAGE_SIZE 256

/* Returns 0, or -EINVAL with a message that names the parameter and the accepted forms. */
int time_range_parse(const struct http_request *request, const struct clock *clock,
		     uint64_t default_last_ns, struct time_range *ret_range,
		     char ret_message[TIME_RANGE_MESSAGE_SIZE]);

/* Parses "500ms", "90s", "15m", "2h", "7d"; a plain number is in seconds. Returns 0, or -EINVAL,
 * also for a duration of 0. */
int duration_parse(const char *text, uint64_t *ret_ns);

/* Parses unix seconds or RFC 3339. Returns 0, or -EINVAL, also before 1970 and after 9999. */
int wall_time_parse(const char *text, uint64_t *ret_wall_ns);
