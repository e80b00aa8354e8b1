/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves the strings that processes still use to a new string table, so that the old one can be
 * freed.
 */
#include "agent/process/process_table_internal.h"

struct compaction {
	const struct string_table *old;
	struct string_table *fresh;
	uint64_t number;
};

static int move_string(struct compaction *compaction, string_id *id)
{
	return string_table_intern(compaction->fresh, string_table_text(compaction->old, *id),
				   string_table_length(compaction->old, *id), id);
}

static int move_strings_of(void *arg, struct process *process)
{
	struct process_mappings *mappings = process->mappings;
	struct compaction *compaction = arg;
	int r;

	r = move_string(compaction, &process->executable_path);
	if (r < 0)
		return r;
	for (size_t i = 0; i < process->n_labels; i++) {
		r = move_string(compaction, &process->labels[i].name);
		if (r < 0)
			return r;
		r = move_string(compaction, &process->labels[i].value);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < process->n_paths; i++) {
		r = move_string(compaction, &process->paths[i].path);
		if (r < 0)
			return r;
	}
	/* Forked children share the mappings, which must be moved only once. */
	if (!mappings || mappings->compaction == compaction->number)
		return 0;
	mappings->compaction = compaction->number;
	for (size_t i = 0; i < mappings->count; i++) {
		r = move_string(compaction, &mappings->items[i].path);
		if (r < 0)
			return r;
	}
	return 0;
}

int process_table_compact_strings(struct process_table *table, size_t limit_bytes, size_t max_bytes)
{
	struct compaction compaction = { .old = table->context.strings,
					 .number = ++table->compaction };
	int r;

	if (string_table_bytes(table->context.strings) <= limit_bytes)
		return 0;
	/*
	 * The strings in use fit, because all strings fitted before. The only possible error is
	 * lack of memory, which ends the agent.
	 */
	r = string_table_new(max_bytes, &compaction.fresh);
	if (r < 0)
		return r;
	r = process_table_each(table, move_strings_of, &compaction);
	if (r < 0) {
		(void)string_table_free(compaction.fresh);
		return r;
	}
	string_table_replace_take(table->context.strings, compaction.fresh);
	cgroup_cache_clear(table->context.cgroups);
	return 0;
}
