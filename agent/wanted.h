/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The executables that the server requested and that are not uploaded yet. The caller ranks them,
 * because their order changes with every batch of samples.
 */

#include <stdbool.h>

#include "common/elf/build_id.h"
#include "common/vec.h"

struct wanted {
	struct executable_id id;
	uint32_t what;          /* Wanted.what of proto/batch.proto */
	bool trusted_only;      /* wait for a file that only root can write */
	unsigned int n_failed;  /* attempts that failed because a helper died or hung */
	uint64_t not_before_ns; /* monotonic: time of the next attempt after a failed one */
};

VEC_DEFINE(wanted_vec, struct wanted);

/* Most executables that wait, more than any host runs. A request beyond it is ignored. */
#define WANTED_MAX 4096

/*
 * Adds a request. If the executable waits already, a file that others than root can write is
 * accepted as soon as one of the requests accepts it. 0 or -ENOMEM.
 */
int wanted_add(struct wanted_vec *queue, const struct wanted *wanted);

#define WANTED_NOT_NOW 0

/* The place of a request: the largest comes first. WANTED_NOT_NOW: it stays in the queue. */
typedef uint64_t wanted_rank_fn(void *arg, const struct wanted *wanted);

/*
 * Removes the request with the largest rank, of equal ones the oldest. Returns whether there is one
 * that may be uploaded now.
 */
bool wanted_take(struct wanted_vec *queue, wanted_rank_fn *rank, void *arg,
		 struct wanted *ret_wanted);
