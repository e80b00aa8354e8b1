/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Asks the server for the sum of each host, as a user would: Total, grouped by host. */

#include "common/event_type.h"
#include "common/hash_table.h"

/* Names of hosts are zero-padded keys of this size. */
#define FLEET_HOST_SIZE 32

/*
 * Fills @ret_sums, a table from char[FLEET_HOST_SIZE] to uint64_t, with what the answer says for
 * each host, in the unit of answers (microseconds or bytes); *ret_total is the root's total.
 * Returns 0 or a negative errno, after a message on standard error.
 */
int fleet_totals_fetch(const char *server, enum event_type type, uint64_t from_s, uint64_t to_s,
		       struct hash_table *ret_sums, uint64_t *ret_total);
