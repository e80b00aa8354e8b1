/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the server under test has used so far. */

#include <sys/types.h>

#include "common/base.h"

struct server_usage {
	uint64_t cpu_ns;         /* of the server and of its ended children */
	uint64_t rss_peak_bytes; /* of the server alone */
	uint64_t n_syncs, sync_ns;
	uint64_t own_cpu_ns; /* of the calling process */
};

/* @syncs: the file of sync_count.h, or NULL. Returns 0 or a negative errno. */
int server_usage_read(pid_t server, const char *syncs, struct server_usage *ret_usage);
