/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/publish/mapping_set.h"

#include "common/frame.h"

void mapping_set_release(struct mapping_set *set)
{
	vec_release(&set->mappings);
}

static struct abi_mapping abi_mapping_of(const struct process_mapping *mapping)
{
	if (!mapping->executable)
		return (struct abi_mapping){ .start = mapping->start,
					     .end = mapping->end,
					     .kind = FRAME_NATIVE };
	return (struct abi_mapping){
		.start = mapping->start,
		.end = mapping->end,
		.bias = mapping->bias,
		.executable = mapping->executable->number,
		.kind = mapping->kind,
		.interpreter = mapping->executable->interpreter_index,
	};
}

/*
 * Appends @mapping. If it and the last mapping are anonymous and at most @gap_bytes apart, extends
 * the last one instead.
 */
static int append(struct abi_mapping_vec *mappings, const struct abi_mapping *mapping,
		  uint64_t gap_bytes)
{
	struct abi_mapping *last =
		mappings->count > 0 ? &mappings->items[mappings->count - 1] : NULL;

	if (last && !last->executable && !mapping->executable &&
	    mapping->start - last->end <= gap_bytes) {
		last->end = mapping->end;
		return 0;
	}
	return vec_push(mappings, *mapping);
}

static void merge_across_gaps(struct abi_mapping_vec *mappings)
{
	size_t count = mappings->count;

	mappings->count = 0;
	/* In place: the list only becomes shorter, so no item is overwritten before it is read. */
	for (size_t i = 0; i < count; i++) {
		struct abi_mapping mapping = mappings->items[i];

		(void)append(mappings, &mapping, UINT64_MAX);
	}
}

/* The last item becomes one range that stands for all mappings that do not fit. */
static void cut_off(struct abi_mapping_vec *mappings)
{
	struct abi_mapping *last = &mappings->items[ABI_MAX_MAPPINGS - 1];

	*last = (struct abi_mapping){
		.start = last->start,
		.end = mappings->items[mappings->count - 1].end,
		.kind = FRAME_NATIVE,
	};
	mappings->count = ABI_MAX_MAPPINGS;
}

int mapping_set_fill(struct mapping_set *set, const struct process_mappings *from)
{
	vec_clear(&set->mappings);
	for (size_t i = 0; i < from->count; i++) {
		struct abi_mapping mapping = abi_mapping_of(&from->items[i]);
		int r = append(&set->mappings, &mapping, 0);

		if (r < 0)
			return r;
	}
	if (set->mappings.count <= ABI_MAX_MAPPINGS)
		return 0;
	merge_across_gaps(&set->mappings);
	if (set->mappings.count > ABI_MAX_MAPPINGS)
		cut_off(&set->mappings);
	return 1;
}

uint32_t mapping_set_n_chunks(const struct mapping_set *set)
{
	return (uint32_t)((set->mappings.count + ABI_MAPPINGS_PER_CHUNK - 1) /
			  ABI_MAPPINGS_PER_CHUNK);
}

static void fill_directory(const struct mapping_set *set, struct abi_mapping_chunk *directory)
{
	directory->n_mappings = mapping_set_n_chunks(set);
	for (uint32_t i = 0; i < directory->n_mappings; i++)
		directory->chunk_start[i] =
			set->mappings.items[(size_t)i * ABI_MAPPINGS_PER_CHUNK].start;
}

void mapping_set_chunk(const struct mapping_set *set, uint32_t number, uint32_t index,
		       struct abi_mapping_chunk *ret_chunk)
{
	size_t first = (size_t)index * ABI_MAPPINGS_PER_CHUNK;

	assert(index == ABI_DIRECTORY || first < set->mappings.count);
	*ret_chunk = (struct abi_mapping_chunk){ .set = number };
	if (index == ABI_DIRECTORY) {
		fill_directory(set, ret_chunk);
		return;
	}
	ret_chunk->n_mappings =
		(uint32_t)MIN(set->mappings.count - first, (size_t)ABI_MAPPINGS_PER_CHUNK);
	memcpy(ret_chunk->mappings, set->mappings.items + first,
	       ret_chunk->n_mappings * sizeof(*ret_chunk->mappings));
}
