/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A reading is one call of options.read(). Readings are numbered from 1. background_reading_get()
 * waits for a reading that begins after the call, because a reading in progress may have looked at
 * the disk before the call. All waiting callers share the next reading.
 */

#include "symbolizer/api/background_reading.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/condition.h"

struct background_reading {
	struct background_reading_options options;
	pthread_t thread;
	bool has_thread;
	void *fresh; /* of the reading in progress; only the thread uses it, without the lock */

	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t changed;
	bool stops;
	void *value;       /* of the last reading */
	uint64_t n_wanted; /* number of the last reading for which a caller waits */
	uint64_t n_begun, n_done;
	uint64_t begun_ns; /* CLOCK_MONOTONIC, of the last reading that began */
};

static uint64_t now_ns(void)
{
	return clock_monotonic_ns(&system_clock);
}

static void *work(void *arg)
{
	struct background_reading *reading = arg;

	(void)pthread_mutex_lock(&reading->lock);
	while (!reading->stops) {
		if (reading->n_begun >= reading->n_wanted) {
			(void)pthread_cond_wait(&reading->changed, &reading->lock);
			continue;
		}
		reading->n_begun++;
		reading->begun_ns = now_ns();
		(void)pthread_mutex_unlock(&reading->lock);
		reading->options.read(reading->options.arg, reading->fresh);
		(void)pthread_mutex_lock(&reading->lock);
		memcpy(reading->value, reading->fresh, reading->options.value_size);
		reading->n_done = reading->n_begun;
		(void)pthread_cond_broadcast(&reading->changed);
	}
	(void)pthread_mutex_unlock(&reading->lock);
	return NULL;
}

int background_reading_new(const struct background_reading_options *options,
			   struct background_reading **ret_reading)
{
	scoped(background_reading_freep) struct background_reading *reading =
		calloc(1, sizeof(*reading));
	int r;

	if (!reading)
		return -ENOMEM;
	reading->options = *options;
	(void)pthread_mutex_init(&reading->lock, NULL);
	condition_init(&reading->changed);
	reading->fresh = calloc(1, options->value_size);
	reading->value = calloc(1, options->value_size);
	if (!reading->fresh || !reading->value)
		return -ENOMEM;
	r = pthread_create(&reading->thread, NULL, work, reading);
	if (r != 0)
		return -r;
	reading->has_thread = true;
	*ret_reading = take_ptr(reading);
	return 0;
}

struct background_reading *background_reading_free(struct background_reading *reading)
{
	if (!reading)
		return NULL;
	if (reading->has_thread) {
		(void)pthread_mutex_lock(&reading->lock);
		reading->stops = true;
		(void)pthread_cond_broadcast(&reading->changed);
		(void)pthread_mutex_unlock(&reading->lock);
		(void)pthread_join(reading->thread, NULL);
	}
	(void)pthread_cond_destroy(&reading->changed);
	(void)pthread_mutex_destroy(&reading->lock);
	free(reading->fresh);
	free(reading->value);
	free(reading);
	return NULL;
}

/* The caller holds the lock. Waits until reading number @number has ended, for at most wait_ns. */
static void wait_for(struct background_reading *reading, uint64_t number)
{
	uint64_t deadline_ns = now_ns() + reading->options.wait_ns;

	while (reading->n_done < number &&
	       condition_wait_until(&reading->changed, &reading->lock, deadline_ns))
		;
}

/* Whether the reading in progress has lasted hang_ns. The caller holds the lock. */
static bool hangs(const struct background_reading *reading)
{
	return reading->n_begun > reading->n_done &&
	       now_ns() - reading->begun_ns >= reading->options.hang_ns;
}

int background_reading_get(struct background_reading *reading, void *ret_value)
{
	uint64_t number;
	int r = 0;

	(void)pthread_mutex_lock(&reading->lock);
	number = reading->n_begun + 1;
	if (number > reading->n_wanted) {
		reading->n_wanted = number;
		(void)pthread_cond_broadcast(&reading->changed);
	}
	wait_for(reading, number);
	if (reading->n_done == 0 || (reading->n_done < number && hangs(reading)))
		r = -ETIMEDOUT;
	else
		memcpy(ret_value, reading->value, reading->options.value_size);
	(void)pthread_mutex_unlock(&reading->lock);
	return r;
}
