/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The batches of one epoch of a real agent, in the order of their sequence numbers, as capture_sink
 * stored them. A capture is read-only after capture_open() and may be shared by threads.
 */

#include "common/arena.h"
#include "common/hash_table.h"
#include "proto/batch.pb-c.h"
#include "symbolizer/store/batch.h"

struct capture_batch {
	Hearth__V1__Batch *message;
	struct batch batch;            /* the same, decoded */
	uint64_t sums[EVENT_TYPE_END]; /* per event type, in its unit */
	uint64_t n_samples;            /* counts of series with a period, and rows of others */
};

/*
 *   batches[n_batches]  batch i + 1 begins where batch i ends
 *   series              u32 number -> struct batch_series of its last definition
 *   new_processes       set of the u32 numbers of processes that started after opened_ns
 *   new_pids            set of their u32 pids
 */
struct capture {
	struct arena *arena;
	struct capture_batch *batches;
	size_t n_batches;
	struct hash_table *series;
	struct hash_table *new_processes;
	struct hash_table *new_pids;
	uint64_t opened_ns, closed_ns; /* monotonic clock of the host of the agent */
};

#define CAPTURE_MESSAGE_SIZE 512

/*
 * Returns 0, or a negative errno with a message. A folder with the batches of two epochs is
 * refused.
 */
int capture_open(const char *folder, struct capture **ret_capture,
		 char ret_message[CAPTURE_MESSAGE_SIZE]);

/* The same from bodies in memory. */
int capture_from_bodies(const struct bytes_view *bodies, size_t count, struct capture **ret_capture,
			char ret_message[CAPTURE_MESSAGE_SIZE]);

struct capture *capture_free(struct capture *capture);

DEFINE_SCOPED(struct capture *, capture_free);
