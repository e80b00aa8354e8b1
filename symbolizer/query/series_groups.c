/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/series_groups.h"

#include <stdio.h>
#include <string.h>

#include "common/hash_table.h"
#include "symbolizer/flame/label.h"
#include "symbolizer/query/filter/tags.h"

/* The hash table compares keys byte by byte, so the struct must have no padding. */
struct group_key {
	uint64_t process; /* 0: any with the same paths */
	uint64_t path_set;
	uint32_t main_executable;
	uint32_t levels[SERIES_GROUP_MAX_LEVELS]; /* 1 + string_id; 0: no such level */
};

static_assert(sizeof(struct group_key) == 32, "no padding");

static int add_level(struct series_group *group, struct tree *tree, const char *text)
{
	assert(group->n_levels < SERIES_GROUP_MAX_LEVELS);
	return tree_intern_label(tree, text, strlen(text), &group->levels[group->n_levels++]);
}

static int add_named_level(struct series_group *group, struct tree *tree, char letter,
			   const char *name)
{
	char text[LABEL_MAX_BYTES];

	(void)snprintf(text, sizeof(text), "[%c] %s", letter, name && name[0] ? name : "unknown");
	return add_level(group, tree, text);
}

/* Adds "[g] tag=value". Several values (addresses) are joined by commas; no value is "NULL". */
static int add_tag_level(struct series_group *group, const struct store_series *series,
			 const char *tag, struct tree *tree)
{
	struct series_tags tags = { .series = series };
	const char *const *values = NULL;
	size_t n_values = series_tag_values(&tags, tag, &values);
	char text[LABEL_MAX_BYTES];
	size_t used;

	used = (size_t)snprintf(text, sizeof(text), "[g] %.*s=", FILTER_MAX_NAME_BYTES, tag);
	if (n_values == 0)
		(void)snprintf(text + used, sizeof(text) - used, "NULL");
	for (size_t i = 0; i < n_values && used < sizeof(text) - 1; i++) {
		(void)snprintf(text + used, sizeof(text) - used, "%s%s", i > 0 ? "," : "",
			       values[i]);
		used += strlen(text + used);
	}
	return add_level(group, tree, text);
}

/*
 * Each kernel thread is the main thread of a separate process, but one service contains all kernel
 * threads of a kind. A kernel thread with another name than its service therefore gets a [t] level.
 */
static bool is_main_thread(const struct store_series *series)
{
	const struct store_process *process = series->process;

	if (series->tid != process->pid)
		return false;
	return !process->kernel_thread || !series->thread_name ||
	       strcmp(series->thread_name, process->name) == 0;
}

static int describe_group(const struct store_series *series,
			  const struct series_group_options *options, struct tree *tree,
			  struct series_group *ret_group)
{
	const struct store_process *process = series->process;
	bool main_thread = is_main_thread(series);
	struct series_group group = { .process = process };
	int r;

	if (options->group_by) {
		r = add_tag_level(&group, series, options->group_by, tree);
		if (r < 0)
			return r;
	}
	if (options->total || (main_thread && !options->fold_threads)) {
		r = add_named_level(&group, tree, 'p', process->name);
		if (r < 0)
			return r;
	}
	if (!main_thread && !options->fold_threads) {
		r = add_named_level(&group, tree, 't', series->thread_name);
		if (r < 0)
			return r;
	}
	*ret_group = group;
	return 0;
}

static struct group_key key_of(const struct series_group *group,
			       const struct series_group_options *options)
{
	const struct store_process *process = group->process;
	struct group_key key = {};

	if (options->per_process)
		key.process = process->id;
	/* Labels of frames depend on the process, except in the kernel. */
	if (!options->total && !process->kernel_thread) {
		key.main_executable = process->main_executable;
		key.path_set = process->path_set;
		if (process->path_set == 0 || process->main_executable == 0)
			key.process = process->id;
	}
	for (uint32_t i = 0; i < group->n_levels; i++)
		key.levels[i] = group->levels[i] + 1;
	return key;
}

/* Finds or adds the group with @key. */
static int number_group(struct series_groups *groups, struct hash_table *numbers,
			const struct group_key *key, const struct series_group *group,
			uint32_t *ret_number)
{
	void *value;
	int r;

	r = hash_table_insert(numbers, key, &value);
	if (r < 0)
		return r;
	if (r > 0) {
		*(uint32_t *)value = groups->n_groups;
		groups->groups[groups->n_groups++] = *group;
	}
	*ret_number = *(uint32_t *)value;
	return 0;
}

int series_groups_make(const struct store_series *series, size_t n_series,
		       const struct series_group_options *options, struct tree *tree,
		       struct arena *arena, struct series_groups *ret_groups)
{
	scoped(hash_table_freep) struct hash_table *numbers = NULL;
	struct series_groups groups = {};
	int r;

	groups.groups = arena_alloc_array(arena, n_series, sizeof(*groups.groups));
	groups.group_of_series =
		arena_alloc_array(arena, n_series, sizeof(*groups.group_of_series));
	if (!groups.groups || !groups.group_of_series)
		return -ENOMEM;
	r = hash_table_new(sizeof(struct group_key), sizeof(uint32_t), 0, &numbers);
	if (r < 0)
		return r;

	for (size_t i = 0; i < n_series; i++) {
		struct series_group group;
		struct group_key key;

		r = describe_group(&series[i], options, tree, &group);
		if (r < 0)
			return r;
		key = key_of(&group, options);
		r = number_group(&groups, numbers, &key, &group, &groups.group_of_series[i]);
		if (r < 0)
			return r;
	}
	*ret_groups = groups;
	return 0;
}

int series_groups_repeat(struct series_groups *groups, uint32_t n_blocks, struct arena *arena)
{
	const size_t count = (size_t)groups->n_groups * n_blocks;
	struct series_group *repeated = arena_alloc_array(arena, count, sizeof(*repeated));

	if (!repeated)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		repeated[i] = groups->groups[i % groups->n_groups];
		repeated[i].block = (uint32_t)(i / groups->n_groups);
	}
	groups->groups = repeated;
	return 0;
}

int series_group_node(const struct series_group *group, struct tree *tree, uint32_t *ret_node)
{
	uint32_t node = 0;

	for (uint32_t i = 0; i < group->n_levels; i++) {
		char type = tree_label_type(tree, group->levels[i]);
		int r;

		r = tree_child_of_label(tree, node, group->levels[i], type, &node);
		if (r < 0)
			return r;
	}
	*ret_node = node;
	return 0;
}
