/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The numbers of the agent's metrics: the rows of agent/metrics.def, in their order. */

#include "common/metrics.h"

enum agent_metric {
#define AGENT_METRIC(id, ...) AGENT_METRIC_##id,
#include "agent/metrics.def"
	AGENT_METRIC_COUNT,
};
