/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One constant for each row of agent/metrics.def: the index of the metric in an array of metrics.
 */

#include "common/metrics.h"

enum agent_metric {
#define AGENT_METRIC(id, ...) AGENT_METRIC_##id,
#include "agent/metrics.def"
	AGENT_METRIC_COUNT,
};
