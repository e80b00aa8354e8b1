/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Asks for /healthz 20 times a second on a connection and a thread of its own. A duration is
 * measured from the time at which the request was due, so that a late answer also lengthens the
 * durations of the requests that had to wait for it.
 */

#include "tests/bench/fleet/latencies.h"

struct fleet_health;

int fleet_health_start(const char *server, struct fleet_health **ret_health);

/* Ends the thread. Moves the durations to @ret_latencies, and returns the number of failures. */
size_t fleet_health_stop(struct fleet_health *health, struct latencies *ret_latencies);
