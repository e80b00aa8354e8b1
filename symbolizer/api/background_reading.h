/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A value that a thread reads when somebody asks for it, so that the caller waits for a limited
 * time even if the disk does not answer. /readyz and /metrics use it.
 *
 * background_reading_get() starts a reading and waits for its end. If that takes longer than
 * wait_ns, it returns the value of the last reading instead, and -ETIMEDOUT once the reading has
 * lasted hang_ns. Thread-safe.
 */

#include "common/base.h"

struct background_reading;

struct background_reading_options {
	/* Writes the value. One call at a time, on the thread; it may block for any time. */
	void (*read)(void *arg, void *ret_value);
	void *arg;
	size_t value_size;
	uint64_t wait_ns; /* longest wait of background_reading_get() */
	uint64_t hang_ns;
};

int background_reading_new(const struct background_reading_options *options,
			   struct background_reading **ret_reading);

/* Waits for the end of a reading that is under way. Returns NULL. */
struct background_reading *background_reading_free(struct background_reading *reading);

/*
 * 0: *ret_value is set. -ETIMEDOUT: the reading has lasted longer than hang_ns, or it is the first
 * one and has lasted longer than wait_ns.
 */
int background_reading_get(struct background_reading *reading, void *ret_value);

#include "common/scoped.h"
DEFINE_SCOPED(struct background_reading *, background_reading_free);
