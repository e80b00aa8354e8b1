/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One look-up of the identifier and its steps. Internal to identifier.c and identifier_look_up.c.
 */

#include "agent/executable/executable_file.h"
#include "agent/helper/avoid_list.h"
#include "agent/helper/identifier.h"
#include "agent/helper/protocol.h"
#include "common/hash_table.h"
#include "common/vec.h"

struct look_up {
	struct identifier *identifier;
	struct mapped_file file; /* the path is owned */
	struct file_facts facts;
	struct file_identity identity;
	int fd;         /* the file, from OPEN until the end; -1: none */
	bool is_single; /* its LOOK must be the only one in its message */
	bool has_ended;
	bool is_unavailable; /* it ended without an answer, for a reason that may be temporary */
	uint64_t ended_ns;
	uint32_t number;
	uint32_t executable;     /* number of the executable; 0: none */
	uint32_t known_by_facts; /* executable that LOOK found by the file's facts; 0: none */
	uint64_t watch_ticket;   /* from file_watch_add() */
};

VEC_DEFINE(number_vec, uint32_t);

/* The look-ups of one LOOK message. */
struct batch {
	struct identifier *identifier;
	uint32_t numbers[FINDER_MAX_ITEMS];
	size_t count;
};

struct identifier {
	struct executable_cache *executables;
	struct helper_pool *pool;
	struct file_watch *watch; /* NULL: inotify is not available */
	uint64_t swept_ns;
	struct hash_table *look_ups;      /* uint32_t -> struct look_up * */
	struct avoid_list *bad_devices;   /* by uint64_t device number */
	struct avoid_list *refused_files; /* by struct file_key */
	struct number_vec queued;         /* look-ups that are not submitted yet */
	uint32_t last_number;
	size_t n_pending;
	uint64_t now_ns; /* of the last flush */
	identifier_ended ended;
	void *ended_arg;
	struct identifier_stats stats;
	struct helper_message message;
};

/* NULL: there is no look-up with this number any more. */
struct look_up *look_up_find(struct identifier *identifier, uint32_t number);

void look_up_free(struct look_up *look_up);

/*
 * Ends a look-up for a reason that may be temporary: a helper died, timed out, or was not used at
 * all.
 */
void look_up_end_unavailable(struct look_up *look_up);

/* Whether the file's device is avoided, because it did not answer a short time ago. */
bool look_up_is_avoided(const struct look_up *look_up);

/* Submits its OPEN step. */
void look_up_open(struct look_up *look_up);

/* Appends a look-up to a request to a finder. False: it does not fit. */
bool look_up_add_to_request(struct helper_message *message, const struct look_up *look_up);

/* Handles the answer to a LOOK. A helper_done; @arg is the struct batch, which is freed. */
void look_up_on_answer(void *arg, int error, struct helper_message *answer);
