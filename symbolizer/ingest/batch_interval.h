/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Back-pressure: the interval that an answer requests of its agent (BatchAnswer.batch_interval_ms).
 *
 * The same samples cost less in fewer batches: an agent with an interval of 60 s sends a twelfth of
 * the batches of one with 5 s. So the interval grows with the time for which batches wait for the
 * store, and it shrinks with the first answer that is fast again.
 */

#include "common/base.h"

/*
 * A batch that takes less time is normal: the disk was slow, or a group of batches was large.
 * ClickHouse gets a group of batches each second, which takes some tenths of a second.
 */
#define BATCH_INTERVAL_SLOW_NS (3 * NSEC_PER_SEC)

/* The longest interval of an agent's configuration. */
#define BATCH_INTERVAL_MAX_MS 60000

/*
 * @waited_ns: from the arrival of the request until its batch was stored. Returns the interval, ten
 * times @waited_ns within the limits above, or 0: as the agent is configured.
 */
uint32_t batch_interval_ms(uint64_t waited_ns);
