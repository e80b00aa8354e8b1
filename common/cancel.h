/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A request to end long work early. The thread that works checks the flag in its loops, and returns
 * -ECANCELED; any thread sets it. A check costs one load.
 */

#include <stdatomic.h>

#include "common/base.h"

struct cancel {
	atomic_bool is_requested;
};

static inline void cancel_request(struct cancel *cancel)
{
	atomic_store_explicit(&cancel->is_requested, true, memory_order_relaxed);
}

/* @cancel NULL: the work cannot be ended early. */
static inline bool cancel_is_requested(const struct cancel *cancel)
{
	return cancel && atomic_load_explicit(&cancel->is_requested, memory_order_relaxed);
}
