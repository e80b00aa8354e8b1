/* SPDX-License-Identifier: Apache-2.0 */
/* The confidence of shares: docs/http-api.md#confidence. */

#include <stdio.h>

#include "symbolizer/api/answer.h"
#include "symbolizer/query/share_interval.h"

/* Of the interval: 95 %. */
#define PROBABILITY 0.975

/* Room for the longest name and a suffix. */
#define KEY_SIZE 64

static double samples_of(uint64_t value, const struct profile_stats *stats)
{
	return (double)value / (double)stats->longest_period_ns;
}

static void write_samples(struct json_writer *json, uint64_t value,
			  const struct profile_stats *stats)
{
	json_uint(json, (uint64_t)(samples_of(value, stats) + 0.5));
}

void answer_samples(struct json_writer *json, const struct profile_stats *stats)
{
	json_key(json, "samples");
	if (stats->longest_period_ns > 0)
		write_samples(json, stats->value_total, stats);
	else
		json_null_value(json);
}

/* Two decimal digits of a per cent are less than the interval of ten million samples. */
static double percent(double share)
{
	return (double)(int64_t)(share * 10000 + 0.5) / 100;
}

void answer_share(struct json_writer *json, const char *name, uint64_t part, uint64_t whole,
		  const struct profile_stats *stats)
{
	struct share_interval interval;
	char key[KEY_SIZE];

	if (stats->longest_period_ns == 0 || whole == 0)
		return;
	interval = share_binomial_interval((double)MIN(part, whole) / (double)whole,
					   samples_of(whole, stats), normal_quantile(PROBABILITY));
	(void)snprintf(key, sizeof(key), "%s_samples", name);
	json_key(json, key);
	write_samples(json, part, stats);
	(void)snprintf(key, sizeof(key), "%s_share", name);
	json_key(json, key);
	json_array_begin(json);
	json_double(json, percent(interval.low));
	json_double(json, percent(interval.high));
	json_array_end(json);
}
