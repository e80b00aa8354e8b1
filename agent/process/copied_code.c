/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process/copied_code.h"

static bool is_same_file(const struct process_mapping *a, const struct process_mapping *b)
{
	return a->path == b->path && a->reported.device == b->reported.device &&
	       a->reported.inode == b->reported.inode &&
	       a->reported.generation == b->reported.generation;
}

/*
 * Whether both map one file with the same distance between address and offset. If an offset is
 * larger than its address, the unsigned difference wraps, and the comparison still holds.
 */
static bool is_same_placement(const struct process_mapping *a, const struct process_mapping *b)
{
	return is_same_file(a, b) && a->start - a->file_offset == b->start - b->file_offset;
}

static void make_copy(struct process_mapping *mapping, const struct process_mapping *of)
{
	mapping->file_offset = of->file_offset + (mapping->start - of->start);
	mapping->path = of->path;
	mapping->reported = of->reported;
	mapping->is_copy = true;
}

void copied_code_find(const struct process_image_context *context,
		      const struct process_mappings *mappings, struct process_mapping *mapping)
{
	const struct process_mapping *first;
	size_t at;

	if (!mappings)
		return;
	at = process_mappings_first_above(mappings, mapping->start);
	if (at == mappings->count || mappings->items[at].start > mapping->start)
		return;
	first = &mappings->items[at];
	if (!process_mapping_has_file(context, first))
		return;
	/* Memory that was copied in pieces becomes one mapping, so it may cover several. */
	while (mappings->items[at].end < mapping->end) {
		const struct process_mapping *next = &mappings->items[at + 1];

		if (at + 1 == mappings->count || next->start != mappings->items[at].end ||
		    !is_same_placement(first, next))
			return;
		at++;
	}
	make_copy(mapping, first);
}

/*
 * Handles a mapping between two mappings of a file. A program that copies only whole huge pages of
 * its code leaves the rest on both sides.
 */
static void find_between(const struct process_image_context *context,
			 const struct process_mapping *before, struct process_mapping *mapping,
			 const struct process_mapping *after)
{
	if (before->end == mapping->start && mapping->end == after->start &&
	    is_same_placement(before, after) && process_mapping_has_file(context, before))
		make_copy(mapping, before);
}

void copied_code_find_all(const struct process_image_context *context,
			  struct process_mappings *mappings, const struct process_mappings *before)
{
	for (size_t i = 0; i < mappings->count; i++) {
		struct process_mapping *mapping = &mappings->items[i];

		if (!process_mapping_is_anonymous(context, mapping))
			continue;
		copied_code_find(context, before, mapping);
		if (!mapping->is_copy && i > 0 && i + 1 < mappings->count)
			find_between(context, mapping - 1, mapping, mapping + 1);
	}
}
