/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table: key -> number of failures and time until which the key is avoided. */
#include "agent/helper/avoid_list.h"

#include <stdlib.h>

#include "common/base.h"
#include "common/hash_table.h"

/* After this many doublings of first_ns, the time exceeds any max_ns. */
#define MAX_DOUBLINGS 20

struct avoided {
	uint64_t until_ns;
	unsigned int n_failures;
};

struct avoid_list {
	struct avoid_list_options options;
	struct hash_table *keys; /* key -> struct avoided */
};

int avoid_list_new(const struct avoid_list_options *options, struct avoid_list **ret_list)
{
	scoped(avoid_list_freep) struct avoid_list *list = calloc(1, sizeof(*list));
	int r;

	if (!list)
		return -ENOMEM;
	list->options = *options;
	r = hash_table_new(options->key_size, sizeof(struct avoided), options->max_keys,
			   &list->keys);
	if (r < 0)
		return r;
	*ret_list = take_ptr(list);
	return 0;
}

struct avoid_list *avoid_list_free(struct avoid_list *list)
{
	if (!list)
		return NULL;
	(void)hash_table_free(list->keys);
	free(list);
	return NULL;
}

bool avoid_list_has(const struct avoid_list *list, const void *key, uint64_t now_ns)
{
	const struct avoided *avoided = hash_table_find(list->keys, key);

	return avoided && avoided->until_ns > now_ns;
}

uint64_t avoid_list_until_ns(const struct avoid_list *list, const void *key)
{
	const struct avoided *avoided = hash_table_find(list->keys, key);

	return avoided ? avoided->until_ns : 0;
}

bool avoid_list_is_empty(const struct avoid_list *list)
{
	return hash_table_count(list->keys) == 0;
}

void avoid_list_add_failure(struct avoid_list *list, const void *key, uint64_t now_ns)
{
	const struct avoid_list_options *options = &list->options;
	struct avoided *avoided;
	unsigned int doublings;
	void *value;
	int r;

	if (hash_table_count(list->keys) >= options->max_keys && !hash_table_find(list->keys, key))
		hash_table_clear(list->keys);
	r = hash_table_insert(list->keys, key, &value);
	if (r < 0)
		return;
	avoided = value;
	avoided->n_failures++;
	if (avoided->n_failures <= options->free_failures)
		return;
	doublings =
		MIN(avoided->n_failures - options->free_failures - 1, (unsigned int)MAX_DOUBLINGS);
	avoided->until_ns = now_ns + MIN(options->first_ns << doublings, options->max_ns);
	if (options->max_failures > 0 && avoided->n_failures >= options->max_failures)
		avoided->until_ns = UINT64_MAX;
}

void avoid_list_forgive(struct avoid_list *list, const void *key)
{
	if (hash_table_count(list->keys) > 0)
		(void)hash_table_remove(list->keys, key);
}
