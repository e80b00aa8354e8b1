/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process/copied_code.h"

static bool is_same_file(const struct process_mapping *a, const struct process_mapping *b)
{
	return a->path == b->path && a->reported.device == b->reported.device &&
	       a->reported.inode == b->reported.inode &&
	       a->reported.generation == b->reported.generation;
}

/*
 * Whether both put the file at the same addresses. Offsets may be larger than addresses: the
 * difference wraps.
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
	/*
	 * Memory that was copied piece by piece becomes one mapping: what lies there may be
	 * several.
	 */
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
 * A range between two mappings of a file, as they are left when only whole huge pages of the code
 * are copied.
 */
static void find_between(const struct process_image_context *context,
			 const struct process_mapping *before, struct process_mapping *mapping,
			 const struct process_mapping *behind)
{
	if (before->end == mapping->start && mapping->end == behind->start &&
	    is_same_placement(before, behind) && process_mapping_has_file(context, before))
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
