/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Downloads files that the store lacks from other debuginfod servers, in background threads.
 * Requests for the same file share one download. The store keeps a negative cache of files that no
 * server has: its wait grows with every failed attempt, and an upload clears it. A downloaded file
 * is checked like an upload, above all for the requested build-ID.
 *
 * Servers may name each other as upstream. A request lists the servers it has passed. A server
 * that finds itself in the list answers from its own store only.
 */

#include "symbolizer/debuginfo/debuginfo_store.h"

struct debuginfo_upstream;

struct debuginfo_upstream_options {
	const char *urls;    /* one per line, in the order of asking */
	uint64_t timeout_ns; /* without a byte */
	uint64_t max_bytes;  /* of one file */
};

/* Servers that a request has passed: its Via and X-Forwarded-For headers, NULL if it has none. */
struct debuginfo_hops {
	const char *via;
	const char *forwarded_for;
};

enum debuginfo_upstream_answer {
	UPSTREAM_HAS_NOTHING, /* in the negative cache, a loop, too many hops, or a full queue */
	UPSTREAM_IS_ASKED,    /* queued, or being downloaded */
};

/*
 * Starts the threads. Registers as fetcher of the store, which requests the files for which it
 * asks agents. -EINVAL with a message for an invalid URL.
 */
int debuginfo_upstream_new(struct debuginfo_store *store,
			   const struct debuginfo_upstream_options *options,
			   struct debuginfo_upstream **ret_upstream,
			   char ret_message[DEBUGINFO_MESSAGE_SIZE]);

/* Aborts downloads, ends all waits, and unregisters from the store. */
void debuginfo_upstream_stop(struct debuginfo_upstream *upstream);

/* Call it after the last call of another thread, and before the store is freed. */
struct debuginfo_upstream *debuginfo_upstream_free(struct debuginfo_upstream *upstream);

/* Queues a download; does not block. Kind NAMES is downloaded as DEBUGINFO. */
enum debuginfo_upstream_answer debuginfo_upstream_want(struct debuginfo_upstream *upstream,
						       const struct debuginfo_key *key,
						       const struct debuginfo_hops *hops);

/* Waits until the download of @key has ended, at most @patience_ns. */
void debuginfo_upstream_wait(struct debuginfo_upstream *upstream, const struct debuginfo_key *key,
			     uint64_t patience_ns);

/* Returns 0, or -EINVAL with a message. */
int debuginfo_upstream_check_url(const char *url, size_t length,
				 char ret_message[DEBUGINFO_MESSAGE_SIZE]);

struct debuginfo_upstream_counts {
	uint64_t n_fetched;
	uint64_t n_missing;
	uint64_t n_refused; /* not the requested file, or too large */
	uint64_t n_failed;  /* no server could be asked */
	uint64_t bytes;
};
struct debuginfo_upstream_counts debuginfo_upstream_counts(struct debuginfo_upstream *upstream);

DEFINE_SCOPED(struct debuginfo_upstream *, debuginfo_upstream_free);
