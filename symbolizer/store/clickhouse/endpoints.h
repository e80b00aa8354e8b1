/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The servers of a cluster that a client may ask. It asks one until that one fails, and then the
 * next. Each list begins at a random one, so that clients spread over the servers.
 */

#include "common/bytes.h"
#include "common/scoped.h"
#include "common/vec.h"

struct endpoints {
	VEC_DEFINE(, char *) urls; /* without a slash at the end; at least one */
	size_t current;
};

/* Reads a list of URLs that are separated by commas. 0; -EINVAL: it has none; -ENOMEM. */
int endpoints_init(struct endpoints *endpoints, const char *list, uint64_t random);
void endpoints_release(struct endpoints *endpoints);

const char *endpoints_current(const struct endpoints *endpoints);

/* Goes on to the next server, after the last to the first. */
void endpoints_next(struct endpoints *endpoints);

/*
 * Finds the next URL of a list: *list is moved behind it. Returns its length, 0 at the end of the
 * list, and where it begins in *ret_url. Empty entries and spaces around URLs are skipped.
 */
size_t endpoints_parse(const char **list, const char **ret_url);
