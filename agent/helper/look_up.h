/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One look-up of the identifier, and its steps. Internal to identifier.c and look_up.c.
 */

#include "agent/executable/executable_file.h"
#include "agent/helper/avoid_list.h"
#include "agent/helper/identifier.h"
#include "agent/helper/protocol.h"
#include "common/hash_table.h"
#include "common/vec.h"

/*
 * Longer than a look-up takes on a busy host. A disk that has to start may take longer, and is
 * tried again later.
 */
#define FINDER_TIMEOUT_NS (3 * NSEC_PER_SEC)

struct look_up {
	struct identifier *identifier;
	struct mapped_file file; /* the path is owned */
	struct file_facts facts;
	struct file_identity identity;
	int fd;     /* the file, from OPEN until the end, or -1 */
	bool alone; /* its LOOK is the only one in its message */
	bool has_ended;
	bool is_unavailable; /* it ended without an answer, for a reason that may pass */
	uint64_t ended_ns;
	uint32_t number;
	uint32_t executable;   /* number of the executable, 0: none */
	uint32_t looked_like;  /* the executable that LOOK found, 0: none */
	uint64_t watch_ticket; /* of file_watch_add() */
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
	struct file_watch *watch; /* NULL: the kernel has no inotify instance left for us */
	uint64_t swept_ns;
	struct hash_table *look_ups;      /* uint32_t -> struct look_up * */
	struct avoid_list *bad_devices;   /* by uint64_t device number */
	struct avoid_list *refused_files; /* by struct file_key */
	struct number_vec asked;          /* not handed out yet */
	uint32_t last_number;
	size_t n_pending;
	uint64_t now_ns; /* of the last flush */
	identifier_ended ended;
	void *ended_arg;
	struct identifier_stats stats;
	struct helper_message message;
};

/* NULL: it was forgotten. */
struct look_up *look_up_find(struct identifier *identifier, uint32_t number);

void look_up_free(struct look_up *look_up);

/*
 * Ends it because a helper died, ran out of time or was not asked at all: the same look-up may
 * succeed later.
 */
void look_up_end_unavailable(struct look_up *look_up);

/* Whether its device did not answer a short time ago. */
bool look_up_is_left_alone(const struct look_up *look_up);

/* Begins with its OPEN. */
void look_up_open(struct look_up *look_up);

/* A request to a finder: an empty one, and one more look-up in it. False: it does not fit. */
void look_up_begin_request(struct helper_message *message, enum finder_operation operation);
bool look_up_add_to_request(struct helper_message *message, const struct look_up *look_up);

/* The answer to a LOOK. A helper_done, @arg is the struct batch, which is freed. */
void look_up_on_looked(void *arg, int error, struct helper_message *answer);
