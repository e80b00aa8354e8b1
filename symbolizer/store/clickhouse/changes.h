/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The rows of in_process_changes (in_process_tables.h) of one group of batches: each unit and
 * tenant once.
 */

#include "common/hash_table.h"
#include "symbolizer/store/batch.h"
#include "symbolizer/store/clickhouse/client.h"

struct changes {
	struct hash_table *units; /* a set of (tenant, unit) */
	struct bytes rows;
	uint64_t change, stored_ns;
};

int changes_init(struct changes *changes, size_t max_bytes);
void changes_release(struct changes *changes);

/* Begins a group. @change is a number that no other group has. @stored_ns: wall clock. */
void changes_begin(struct changes *changes, uint64_t change, uint64_t stored_ns);

/*
 * Adds the units of the samples of @batch, without those above IN_PROCESS_MAX_UNIT. 0 or a negative
 * errno.
 */
int changes_add(struct changes *changes, const char *tenant, const struct batch *batch);

/* Inserts the rows. 0 or an error of @client. */
int changes_insert(const struct changes *changes, struct clickhouse_client *client,
		   uint64_t timeout_ns);
