/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Requests the sum of each host from the server: the profile of Total with group_by=host. */

#include "common/event_type.h"
#include "common/hash_table.h"

/* Names of hosts are zero-padded keys of this size. */
#define FLEET_HOST_SIZE 32

/*
 * Fills @ret_sums, a table from char[FLEET_HOST_SIZE] to uint64_t, with the value of each host in
 * the answer (microseconds or bytes), and sets *ret_total to the total of the root. Returns 0, or a
 * negative errno after a message on standard error.
 */
int fleet_totals_fetch(const char *server, enum event_type type, uint64_t from_s, uint64_t to_s,
		       struct hash_table *ret_sums, uint64_t *ret_total);
