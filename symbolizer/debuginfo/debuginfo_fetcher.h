/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The interface between the store and a client of upstream servers (upstream/). The store does not
 * know the client: the client registers itself as fetcher, and the store asks it for files that the
 * store lacks. The store keeps the negative cache, since its database outlives the process.
 */

#include "symbolizer/debuginfo/debuginfo_store.h"

/* fetch() must not block. */
struct debuginfo_fetcher {
	void (*fetch)(struct debuginfo_fetcher *fetcher, const struct debuginfo_key *key);
};

/* NULL: no upstream servers. The fetcher must stay valid until all other users of the store end. */
void debuginfo_set_fetcher(struct debuginfo_store *store, struct debuginfo_fetcher *fetcher);

const struct clock *debuginfo_clock(const struct debuginfo_store *store);

/* Returns 1 if the last attempts for @key failed and the next one is not due yet, else 0. */
int negative_cache_contains(struct debuginfo_store *store, const struct debuginfo_key *key);

/*
 * Records a failed attempt for @key. @unreachable: no server could be asked, so the next attempt
 * is due soon.
 */
void negative_cache_add(struct debuginfo_store *store, const struct debuginfo_key *key,
			bool unreachable);
