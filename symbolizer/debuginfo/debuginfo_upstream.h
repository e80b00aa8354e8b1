/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is lacking is fetched from other debuginfod servers: in the background, one transfer for all
 * who want the same, with a memory of what they do not have either (in debuginfo.db) that gets
 * longer with every try and is cleared by an upload. What comes is checked like an upload, above
 * all that it has the build-ID that was asked for.
 *
 * Servers may name each other as upstream. A request carries the servers it came through; one that
 * finds itself among them answers from what it has.
 */

#include "symbolizer/debuginfo/debuginfo_store.h"

struct debuginfo_upstream;

struct debuginfo_upstream_options {
	const char *urls;    /* one per line, asked in this order */
	uint64_t timeout_ns; /* without a byte */
	uint64_t max_bytes;  /* of one file */
};

/* The servers a request came through: its Via and X-Forwarded-For headers; NULL where it has none.
 */
struct debuginfo_hops {
	const char *via;
	const char *forwarded_for;
};

enum debuginfo_upstream_answer {
	UPSTREAM_HAS_NOTHING, /* known to be missing, a loop, too far away, or too much is wanted */
	UPSTREAM_IS_ASKED,    /* on its way, or will be */
};

/* Fetches until it is stopped. The store asks it for what agents are asked for, too. -EINVAL with a
 * message for a URL that is none. */
int debuginfo_upstream_new(struct debuginfo_store *store,
			   const struct debuginfo_upstream_options *options,
			   struct debuginfo_upstream **ret_upstream,
			   char ret_message[DEBUGINFO_MESSAGE_SIZE]);

/* Ends transfers and whoever waits; nothing is asked any more. */
void debuginfo_upstream_stop(struct debuginfo_upstream *upstream);

/* After the last call of others, and before the store is freed. */
struct debuginfo_upstream *debuginfo_upstream_free(struct debuginfo_upstream *upstream);

/* Never waits. NAMES is fetched as DEBUGINFO. */
enum debuginfo_upstream_answer debuginfo_upstream_want(struct debuginfo_upstream *upstream,
						       const struct debuginfo_key *key,
						       const struct debuginfo_hops *hops);

/* Until it is decided whether @key comes, at most @patience_ns. */
void debuginfo_upstream_wait(struct debuginfo_upstream *upstream, const struct debuginfo_key *key,
			     uint64_t patience_ns);

/* 0, or -EINVAL with a message. */
int debuginfo_upstream_check_url(const char *url, size_t length,
				 char ret_message[DEBUGINFO_MESSAGE_SIZE]);

struct debuginfo_upstream_counts {
	uint64_t n_fetched;
	uint64_t n_missing;
	uint64_t n_refused; /* not what was asked for, or too large */
	uint64_t n_failed;  /* no server could be asked */
	uint64_t bytes;
};
struct debuginfo_upstream_counts debuginfo_upstream_counts(struct debuginfo_upstream *upstream);

DEFINE_SCOPED(struct debuginfo_upstream *, debuginfo_upstream_free);
