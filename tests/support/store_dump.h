/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes everything that the operations of a view return as lines of text, without handles, sorted.
 * Two engines that store the same batches must have equal dumps.
 */

#include "common/bytes.h"
#include "symbolizer/store/store.h"

struct dump_request {
	const char *tenant;
	uint64_t from_slot, to_slot;
	const char *const *counters; /* [n_counters] names for store_scan_counters() */
	size_t n_counters;
};

/* Appends the lines, ended with a zero byte. A failure of an operation ends the test. */
void store_dump(struct store *store, const struct dump_request *request, struct bytes *out);
