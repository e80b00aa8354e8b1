/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Counters and gauges from a metrics.def table, printed in the Prometheus text format 0.0.4.
 *
 * A program lists its metrics as X(ID, "name", COUNTER|GAUGE, "label=\"value\",..." or "", "help").
 * Rows with the same name are adjacent. Values are atomic: any thread may change them.
 */

#include <stdatomic.h>

#include "common/bytes.h"

enum metric_type {
	METRIC_COUNTER,
	METRIC_GAUGE,
};

struct metric_row {
	const char *name; /* without the prefix */
	enum metric_type type;
	const char *labels;
	const char *help;
};

static inline void metric_add(_Atomic uint64_t *values, unsigned int id, uint64_t amount)
{
	atomic_fetch_add_explicit(&values[id], amount, memory_order_relaxed);
}

static inline void metric_set(_Atomic uint64_t *values, unsigned int id, uint64_t value)
{
	atomic_store_explicit(&values[id], value, memory_order_relaxed);
}

static inline uint64_t metric_get(_Atomic uint64_t *values, unsigned int id)
{
	return atomic_load_explicit(&values[id], memory_order_relaxed);
}

/* @prefix is "hearth_agent_" or similar. 0, or the error of @out. */
int metrics_print(const char *prefix, const struct metric_row *rows, _Atomic uint64_t *values,
		  size_t count, struct bytes *out);
