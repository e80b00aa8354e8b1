/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The peer of the server's writes: a loop that appends each body to a file and waits until it is on
 * the disk. No store with one write per batch can be faster.
 */

#include "common/bytes.h"
#include "tests/bench/fleet/latencies.h"

/*
 * Writes @bodies[count], again and again, to a new file in @folder for @duration_ns, and removes
 * it. Returns 0 or a negative errno.
 */
int disk_peer_run(const char *folder, const struct bytes_view *bodies, size_t count,
		  uint64_t duration_ns, struct latencies *ret_latencies);
