/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keys (devices, files) whose handling failed, and until when to leave each alone.
 *
 * The first failures are free; each further one doubles the time for which the key is avoided, up to a maximum. A key
 * that fails for ever thus costs less and less, and a key that failed for a passing reason is tried again soon. A full
 * list forgets all keys.
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
	unsigned int free_failures; /* so many failures in a row do not make a key avoided */
	uint64_t first_ns, max_ns;  /* how long a key is avoided: at first, and at most */
};

/* -ENOMEM */
int avoid_list_new(const struct avoid_list_options *options, struct avoid_list **ret_list);
struct avoid_list *avoid_list_free(struct avoid_list *list);

/* @now_ns: monotonic, here and below. */
bool avoid_list_has(const struct avoid_list *list, const void *key, uint64_t now_ns);

/* The handling of @key failed. Without memory the failure is forgotten. */
void avoid_list_add_failure(struct avoid_list *list, const void *key, uint64_t now_ns);

/* The handling of @key succeeded: forgets its failures. */
void avoid_list_forgive(struct avoid_list *list, const void *key);

DEFINE_SCOPED(struct avoid_list *, avoid_list_free);
