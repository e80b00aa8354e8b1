/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lives as long as the view is in tables, of which the memory is accounted after each part: a
 * part can add no more than its own decoded size, which is bounded.
 */

#include "symbolizer/store/segment_view/segment_view_private.h"

#include "common/hash.h"
#include "common/scoped.h"
#include "symbolizer/store/segment/segment_layout.h"

/* Of a text's entries in the string table. */
#define BYTES_PER_TEXT UINT64_C(40)

static void init_tables(struct segment_view *view)
{
	tuple_table_init(&view->head_ids, 2);
	tuple_table_init(&view->labels, 4);
	tuple_table_init(&view->host_ids, 1);
	tuple_table_init(&view->object_ids, 2);
	tuple_table_init(&view->paths, 4);
	tuple_table_init(&view->path_sets, 5);
	tuple_table_init(&view->process_ids, 6);
	tuple_table_init(&view->series, 8);
	tuple_table_init(&view->frames, 4);
	tuple_table_init(&view->nodes, 3);
	tuple_table_init(&view->stacks, 2);
}

int segment_view_new(const struct segment_view_options *options, struct segment_view **ret_view)
{
	scoped(segment_view_freep) struct segment_view *view = calloc(1, sizeof(*view));
	int r;

	if (!view)
		return -ENOMEM;
	view->options = *options;
	view->content = (struct bytes)BYTES_INIT(options->max_part_bytes);
	view->path_seeds[0] = hash_seed();
	view->path_seeds[1] = hash_seed();
	init_tables(view);
	r = arena_new_in(options->max_bytes, options->store.memory, &view->arena);
	if (r == 0)
		r = arena_new_in(options->max_part_bytes, options->store.memory, &view->scratch);
	if (r == 0)
		r = string_table_new(options->max_bytes, &view->texts);
	if (r < 0)
		return r;
	*ret_view = take_ptr(view);
	return 0;
}

static void release_tables(struct segment_view *view)
{
	struct tuple_table *const tables[] = {
		&view->head_ids, &view->labels,    &view->host_ids,    &view->object_ids,
		&view->paths,    &view->path_sets, &view->process_ids, &view->series,
		&view->frames,   &view->nodes,     &view->stacks,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		tuple_table_release(tables[i]);
	vec_release(&view->heads);
	vec_release(&view->events);
	vec_release(&view->hosts);
	vec_release(&view->objects);
	vec_release(&view->path_sums);
	vec_release(&view->processes);
}

struct segment_view *segment_view_free(struct segment_view *view)
{
	if (!view)
		return NULL;
	release_tables(view);
	vec_release(&view->parts);
	segment_codec_release(&view->codec);
	bytes_release(&view->content);
	(void)string_table_free(view->texts);
	(void)arena_free(view->arena);
	(void)arena_free(view->scratch);
	memory_budget_give(view->options.store.memory, view->taken_bytes);
	free(view);
	return NULL;
}

static uint64_t table_bytes(const struct segment_view *view)
{
	const struct tuple_table *const tables[] = {
		&view->head_ids, &view->labels,    &view->host_ids,    &view->object_ids,
		&view->paths,    &view->path_sets, &view->process_ids, &view->series,
		&view->frames,   &view->nodes,     &view->stacks,
	};
	uint64_t bytes =
		string_table_bytes(view->texts) + string_table_count(view->texts) * BYTES_PER_TEXT;

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		bytes += tuple_table_bytes(tables[i]);
	return bytes + view->hosts.capacity * sizeof(*view->hosts.items) +
	       view->objects.capacity * sizeof(*view->objects.items) +
	       view->path_sums.capacity * sizeof(*view->path_sums.items) +
	       view->processes.capacity * sizeof(*view->processes.items);
}

int view_account(struct segment_view *view)
{
	uint64_t bytes = table_bytes(view);
	uint64_t more = bytes > view->taken_bytes ? bytes - view->taken_bytes : 0;

	if (bytes > view->options.max_bytes ||
	    !memory_budget_take(view->options.store.memory, more))
		return -ENOMEM;
	view->taken_bytes += more;
	return 0;
}

int segment_view_add(struct segment_view *view, const struct segment_part *part)
{
	return vec_push(&view->parts, (struct view_part){ .source = *part });
}

size_t segment_view_count(const struct segment_view *view)
{
	return view->parts.count;
}

size_t segment_view_damaged(const struct segment_view *view)
{
	return view->n_damaged;
}

int view_check(struct segment_view *view, struct view_part *part, int r)
{
	if (r != -EBADMSG && r != -EPROTONOSUPPORT)
		return r;
	view->n_damaged += !part->is_damaged;
	part->is_damaged = true;
	return 0;
}

static int fetch(struct segment_view *view, const struct view_part *part,
		 struct bytes_view *ret_bytes)
{
	int r;

	*ret_bytes = part->source.bytes;
	if (!part->source.fetch)
		return 0;
	bytes_clear(&view->content);
	r = part->source.fetch(part->source.fetch_arg, &view->content);
	*ret_bytes = bytes_view_of(&view->content);
	return r == -EUCLEAN ? -EBADMSG : r;
}

int view_load(struct segment_view *view, struct view_part *part, uint64_t columns,
	      struct segment *ret_segment)
{
	struct bytes_view bytes;
	int r;

	if (cancel_is_requested(view->options.store.cancel))
		return -ECANCELED;
	if (part->is_damaged)
		return 0;
	arena_clear(view->scratch);
	if (part->source.decoded) {
		*ret_segment = *part->source.decoded;
		return 1;
	}
	r = fetch(view, part, &bytes);
	if (r == 0)
		r = segment_decode_columns(bytes, columns, &view->codec, view->scratch,
					   ret_segment);
	return r < 0 ? view_check(view, part, r) : 1;
}

uint64_t view_columns(unsigned int tables)
{
	uint64_t columns = 0;

	for (unsigned int i = 0; i < SEGMENT_COLUMN_COUNT; i++) {
		if (tables & SEGMENT_SET(segment_columns[i].table))
			columns |= SEGMENT_COLUMN_SET(i);
	}
	return columns;
}

static bool covers(const struct view_part *rollup, const struct view_part *part, uint64_t from_slot,
		   uint64_t to_slot)
{
	const struct segment_part *source = &rollup->source;

	return !rollup->is_damaged && source->first_slot >= from_slot &&
	       source->end_slot <= to_slot && source->first_slot <= part->source.first_slot &&
	       source->end_slot >= part->source.end_slot;
}

int view_is_covered(struct segment_view *view, struct view_part *part, uint64_t from_slot,
		    uint64_t to_slot)
{
	uint32_t next;
	int r;

	if (!part->source.in_rollup)
		return 0;
	r = view_read_heads(view);
	if (r < 0 || !part->head || part->is_rollup)
		return r;
	next = view->heads.items[part->head - 1].first_rollup;
	for (; next; next = view->parts.items[next - 1].next_rollup)
		if (covers(&view->parts.items[next - 1], part, from_slot, to_slot))
			return 1;
	return 0;
}

bool view_part_overlaps(const struct view_part *part, uint64_t from_slot, uint64_t to_slot)
{
	return part->source.first_slot < to_slot && part->source.end_slot > from_slot;
}
