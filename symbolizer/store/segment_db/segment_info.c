/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/segment_db/segment_info.h"

#include <string.h>

#include "symbolizer/store/segment/segment_layout.h"
#include "symbolizer/store/segment_db/day_file.h"

/* Whether no row has a time. */
static bool is_empty(const struct segment *segment)
{
	return segment->count[SEGMENT_ROW] == 0 && segment->count[SEGMENT_TOTAL] == 0;
}

static uint64_t memory_bytes(const struct segment *segment)
{
	uint64_t bytes = segment->text_bytes;

	for (unsigned int i = 0; i < SEGMENT_TABLE_COUNT; i++)
		bytes += segment->count[i] * segment_table_layout(i).n_columns * sizeof(uint64_t);
	return bytes;
}

static const char *copy_text(const struct segment *segment, enum segment_column column,
			     struct arena *arena)
{
	struct bytes_view text = segment_text(segment, segment->column[column][0]);

	return arena_copy_text(arena, (const char *)text.data, text.size);
}

/*
 * The rows of roll-ups have the first slot of their hour. A roll-up of zeros has no rows, but
 * totals.
 */
static void find_slots(const struct segment *segment, struct segment_info *info)
{
	const bool has_rows = segment->count[SEGMENT_ROW] > 0;
	const uint64_t *slots = segment->column[has_rows ? ROW_SLOT : TOTAL_FIRST_SLOT];
	const uint64_t first = has_rows ? slots[0] : slots[0] - slots[0] % SEGMENT_SLOTS_PER_HOUR;

	info->first_slot = first;
	info->last_slot = first;
	for (size_t i = 1; i < segment->count[SEGMENT_ROW]; i++) {
		info->first_slot = MIN(info->first_slot, slots[i]);
		info->last_slot = MAX(info->last_slot, slots[i]);
	}
}

static bool is_without_stacks(const struct segment *segment)
{
	for (size_t i = 0; i < segment->count[SEGMENT_PROCESS]; i++)
		if (!(segment->column[PROCESS_FLAGS][i] & SEGMENT_WITHOUT_STACKS))
			return false;
	return true;
}

int segment_info_of(const struct segment *segment, struct arena *arena,
		    struct segment_info *ret_info)
{
	struct segment_info info = {};

	if (segment->count[SEGMENT_HEAD] != 1 || is_empty(segment))
		return -EBADMSG;
	info.tenant = copy_text(segment, HEAD_TENANT, arena);
	info.service = copy_text(segment, HEAD_SERVICE, arena);
	info.event = copy_text(segment, HEAD_EVENT, arena);
	info.unit = copy_text(segment, HEAD_UNIT, arena);
	if (!info.tenant || !info.service || !info.event || !info.unit)
		return -ENOMEM;
	info.event_kind = (enum event_value_kind)segment->column[HEAD_EVENT_KIND][0];
	info.kind = (enum segment_kind)segment->column[HEAD_KIND][0];
	find_slots(segment, &info);
	if (segment_day_of_slot(info.first_slot) != segment_day_of_slot(info.last_slot))
		return -EBADMSG;
	info.n_hosts = segment->count[SEGMENT_HOST];
	info.n_rows = segment->count[SEGMENT_ROW];
	info.memory_bytes = memory_bytes(segment);
	info.without_stacks = is_without_stacks(segment);
	*ret_info = info;
	return 0;
}

bool segment_info_same_head(const struct segment_info *a, const struct segment_info *b)
{
	return a->kind == b->kind && a->event_kind == b->event_kind &&
	       strcmp(a->tenant, b->tenant) == 0 && strcmp(a->service, b->service) == 0 &&
	       strcmp(a->event, b->event) == 0 && strcmp(a->unit, b->unit) == 0;
}

bool segment_info_equal(const struct segment_info *a, const struct segment_info *b)
{
	return segment_info_same_head(a, b) && a->first_slot == b->first_slot &&
	       a->last_slot == b->last_slot && a->n_hosts == b->n_hosts && a->n_rows == b->n_rows &&
	       a->n_bytes == b->n_bytes && a->memory_bytes == b->memory_bytes &&
	       a->without_stacks == b->without_stacks;
}

bool segment_info_same_hour(const struct segment_info *a, const struct segment_info *b)
{
	struct segment_info b_as_a = *b;

	b_as_a.kind = a->kind;
	return segment_info_hour(a) == segment_info_hour(b) && segment_info_same_head(a, &b_as_a);
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

int segment_info_order(const struct segment_info *a, const struct segment_info *b)
{
	int order = strcmp(a->tenant, b->tenant);

	if (order == 0)
		order = strcmp(a->service, b->service);
	if (order == 0)
		order = strcmp(a->event, b->event);
	if (order == 0)
		order = strcmp(a->unit, b->unit);
	if (order == 0)
		order = compare(a->event_kind, b->event_kind);
	if (order == 0)
		order = compare(segment_info_hour(a), segment_info_hour(b));
	/* SEGMENT_ROLLUP is the larger number. */
	if (order == 0)
		order = compare(b->kind, a->kind);
	return order ? order : compare(a->id, b->id);
}
