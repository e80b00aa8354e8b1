/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/fleet_health.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"

#define INTERVAL_NS (NSEC_PER_SEC / 20)
#define TIMEOUT_S   30

struct fleet_health {
	CURL *easy;
	pthread_t thread;
	atomic_bool stops;
	struct latencies latencies;
	size_t n_failures;
};

static size_t ignore(char *data, size_t size, size_t count, void *argument)
{
	(void)data;
	(void)argument;
	return size * count;
}

static void sleep_until(uint64_t time_ns)
{
	const struct timespec time = { .tv_sec = (time_t)(time_ns / NSEC_PER_SEC),
				       .tv_nsec = (long)(time_ns % NSEC_PER_SEC) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

static void *ask(void *argument)
{
	struct fleet_health *health = argument;
	uint64_t due_ns = clock_monotonic_ns(&system_clock);

	while (!atomic_load(&health->stops)) {
		long status = 0;
		CURLcode code = curl_easy_perform(health->easy);

		(void)curl_easy_getinfo(health->easy, CURLINFO_RESPONSE_CODE, &status);
		if (code != CURLE_OK || status != 200)
			health->n_failures++;
		if (vec_push(&health->latencies, clock_monotonic_ns(&system_clock) - due_ns) < 0)
			break;
		due_ns += INTERVAL_NS;
		sleep_until(due_ns);
	}
	return NULL;
}

static struct fleet_health *fleet_health_free(struct fleet_health *health)
{
	if (health->easy)
		curl_easy_cleanup(health->easy);
	vec_release(&health->latencies);
	free(health);
	return NULL;
}

int fleet_health_start(const char *server, struct fleet_health **ret_health)
{
	struct fleet_health *health = calloc(1, sizeof(*health));
	char url[256];

	if (!health)
		return -ENOMEM;
	health->easy = curl_easy_init();
	if (!health->easy) {
		(void)fleet_health_free(health);
		return -ENOMEM;
	}
	(void)snprintf(url, sizeof(url), "%s/healthz", server);
	(void)curl_easy_setopt(health->easy, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(health->easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(health->easy, CURLOPT_TIMEOUT, (long)TIMEOUT_S);
	(void)curl_easy_setopt(health->easy, CURLOPT_WRITEFUNCTION, ignore);
	(void)curl_easy_setopt(health->easy, CURLOPT_URL, url);
	if (pthread_create(&health->thread, NULL, ask, health) != 0) {
		(void)fleet_health_free(health);
		return -EAGAIN;
	}
	*ret_health = health;
	return 0;
}

size_t fleet_health_stop(struct fleet_health *health, struct latencies *ret_latencies)
{
	size_t n_failures;

	atomic_store(&health->stops, true);
	(void)pthread_join(health->thread, NULL);
	*ret_latencies = health->latencies;
	health->latencies = (struct latencies){};
	n_failures = health->n_failures;
	(void)fleet_health_free(health);
	return n_failures;
}
