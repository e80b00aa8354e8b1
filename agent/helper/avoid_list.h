/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keys (devices or files) that failed, with the time until which each is avoided.
 *
 * After some free failures a key is avoided. Each further failure doubles that time, up to a
 * maximum, so that a key which fails permanently is tried less and less often, and a key which
 * failed for a passing reason is tried again soon. A list may also give a key up after a number of
 * failures. When the list is full it forgets all keys.
 *
 * One thread uses a list.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/scoped.h"

struct avoid_list;

struct avoid_list_options {
	size_t key_size;
	size_t max_keys;
	unsigned int free_failures; /* failures in a row after which a key is not avoided yet */
	uint64_t first_ns, max_ns;  /* how long a key is avoided: at first, and at most */
	/* failures in a row after which a key is avoided for good; 0: no limit */
	unsigned int max_failures;
};

/* -ENOMEM */
int avoid_list_new(const struct avoid_list_options *options, struct avoid_list **ret_list);
struct avoid_list *avoid_list_free(struct avoid_list *list);

/* @now_ns: monotonic, here and below. */
bool avoid_list_has(const struct avoid_list *list, const void *key, uint64_t now_ns);

/* The time until which @key is avoided: 0: it never failed; UINT64_MAX: for good. */
uint64_t avoid_list_until_ns(const struct avoid_list *list, const void *key);

/* No key failed and was not forgiven. */
bool avoid_list_is_empty(const struct avoid_list *list);

/* The handling of @key failed. Without memory the failure is forgotten. */
void avoid_list_add_failure(struct avoid_list *list, const void *key, uint64_t now_ns);

/* The handling of @key succeeded: forgets its failures. */
void avoid_list_forgive(struct avoid_list *list, const void *key);

DEFINE_SCOPED(struct avoid_list *, avoid_list_free);
