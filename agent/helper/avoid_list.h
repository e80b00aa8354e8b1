/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A list of keys (devices or files) that failed, each with the time until which it is avoided.
 *
 * After some free failures a key is avoided for a time. Each further failure doubles that time up
 * to a maximum. So a key that fails permanently is tried less and less often, and a key that failed
 * for a temporary reason is tried again soon. Optionally, a key is avoided permanently after a
 * number of failures. When the list is full, all keys are removed.
 *
 * Used by one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/scoped.h"

struct avoid_list;

struct avoid_list_options {
	size_t key_size;
	size_t max_keys;
	unsigned int free_failures; /* successive failures without consequence */
	uint64_t first_ns, max_ns;  /* for how long a key is avoided: first and maximum time */
	/* successive failures after which a key is avoided permanently; 0: no limit */
	unsigned int max_failures;
};

/* 0 or -ENOMEM. */
int avoid_list_new(const struct avoid_list_options *options, struct avoid_list **ret_list);
struct avoid_list *avoid_list_free(struct avoid_list *list);

/* Whether @key is avoided at @now_ns. @now_ns is monotonic, here and below. */
bool avoid_list_has(const struct avoid_list *list, const void *key, uint64_t now_ns);

/* Time until which @key is avoided. 0: it never failed; UINT64_MAX: permanently. */
uint64_t avoid_list_until_ns(const struct avoid_list *list, const void *key);

/* True if there is no key with a failure. */
bool avoid_list_is_empty(const struct avoid_list *list);

/* Records a failure of @key. If memory is short, nothing is recorded. */
void avoid_list_add_failure(struct avoid_list *list, const void *key, uint64_t now_ns);

/* Removes all failures of @key, because handling it succeeded. */
void avoid_list_forgive(struct avoid_list *list, const void *key);

DEFINE_SCOPED(struct avoid_list *, avoid_list_free);
