/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A commit merges the live ranges and the added entries in one pass in the order of their starts,
 * with a heap of those that contain the current address, the latest entry first.
 */
#include "agent/jit/jit_ranges.h"

#include "common/scoped.h"

/* Added entries are merged when there are that many. */
#define MAX_FRESH ((size_t)(64 * KIB))

/* Most replaced ranges that are kept. Each look-up goes through all of them. */
#define MAX_REPLACED 1024

static uint64_t size_of(const struct jit_range *range)
{
	return range->size & ~JIT_RANGE_LINES;
}

void jit_ranges_release(struct jit_ranges *ranges)
{
	vec_release(&ranges->live);
	vec_release(&ranges->replaced);
	vec_release(&ranges->fresh);
	*ranges = (struct jit_ranges){};
}

void jit_ranges_clear(struct jit_ranges *ranges)
{
	const struct jit_ranges kept = { .keep_since_ns = ranges->keep_since_ns,
					 .n_dropped = ranges->n_dropped };

	jit_ranges_release(ranges);
	*ranges = kept;
}

/* ---- adding -------------------------------------------------------------------------------- */

static const struct jit_range *find_live(const struct jit_ranges *ranges, uint64_t pc)
{
	size_t low = 0, high = ranges->live.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (ranges->live.items[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 ||
	    pc - ranges->live.items[low - 1].start >= size_of(&ranges->live.items[low - 1]))
		return NULL;
	return &ranges->live.items[low - 1];
}

/*
 * Gives moved code the entry of its old place, which is among the entries from @first on, or live.
 * False: there is none.
 */
static bool follow_move(const struct jit_ranges *ranges, size_t first, struct jit_code *code)
{
	const struct jit_range *old;

	for (size_t i = ranges->fresh.count; i > first; i--) {
		const struct jit_code *loaded = &ranges->fresh.items[i - 1];

		if (loaded->start != code->moved_from)
			continue;
		code->offset = loaded->offset;
		code->flags = loaded->flags;
		return true;
	}
	old = find_live(ranges, code->moved_from);
	if (!old || old->start_in_code != 0)
		return false;
	code->offset = old->offset;
	code->flags = old->size & JIT_RANGE_LINES ? JIT_CODE_LINES : 0;
	return true;
}

static bool has_moves(const struct jit_codes *codes)
{
	for (size_t i = 0; i < codes->count; i++)
		if (codes->items[i].flags & JIT_CODE_MOVED)
			return true;
	return false;
}

int jit_ranges_add(struct jit_ranges *ranges, const struct jit_codes *codes)
{
	size_t first;
	int r = 0;

	/* Before code is moved, so that its old place is either live or in this piece. */
	if (ranges->fresh.count >= MAX_FRESH || (ranges->fresh.count > 0 && has_moves(codes)))
		r = jit_ranges_commit(ranges);
	first = ranges->fresh.count;
	for (size_t i = 0; i < codes->count && r == 0; i++) {
		struct jit_code code = codes->items[i];

		if (!jit_code_is_valid(code.start, code.size))
			continue;
		if (code.flags & JIT_CODE_MOVED && !follow_move(ranges, first, &code))
			continue;
		r = vec_push(&ranges->fresh, code);
	}
	return r;
}

/* ---- merging ------------------------------------------------------------------------------- */

/* A live range (order 0) or an added entry (its position, from 1), while it is being merged. */
struct item {
	uint64_t start, end;
	uint64_t order;
	uint32_t start_in_code;
	uint32_t offset;
	uint32_t flags; /* JIT_RANGE_LINES */
	uint64_t time_ns;
};

VEC_DEFINE(item_vec, struct item);

struct merge {
	struct jit_ranges *ranges;
	size_t next_live, next_fresh;
	const uint32_t *by_start; /* indexes of added entries, by rising start */
	struct item_vec active;   /* a heap, the latest first */
	struct jit_range_vec merged;
};

static int compare_starts(const void *left, const void *right, void *arg)
{
	const struct jit_code *codes = arg;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (codes[a].start != codes[b].start)
		return codes[a].start < codes[b].start ? -1 : 1;
	return a < b ? -1 : a > b;
}

static uint64_t next_start(const struct merge *merge)
{
	const struct jit_ranges *ranges = merge->ranges;
	uint64_t start = UINT64_MAX;

	if (merge->next_live < ranges->live.count)
		start = ranges->live.items[merge->next_live].start;
	if (merge->next_fresh < ranges->fresh.count)
		start = MIN(start, ranges->fresh.items[merge->by_start[merge->next_fresh]].start);
	return start;
}

static struct item item_of_range(const struct jit_range *range)
{
	return (struct item){
		.start = range->start,
		.end = range->start + size_of(range),
		.start_in_code = range->start_in_code,
		.offset = range->offset,
		.flags = range->size & JIT_RANGE_LINES,
	};
}

static struct item item_of_code(const struct jit_code *code, uint64_t order)
{
	return (struct item){
		.start = code->start,
		.end = code->start + code->size,
		.order = order,
		.offset = code->offset,
		.flags = code->flags & JIT_CODE_LINES ? JIT_RANGE_LINES : 0,
		.time_ns = code->time_ns,
	};
}

/* Takes the next item in the order of starts. */
static struct item take_item(struct merge *merge)
{
	const struct jit_ranges *ranges = merge->ranges;
	uint32_t index;

	if (merge->next_live < ranges->live.count &&
	    ranges->live.items[merge->next_live].start == next_start(merge))
		return item_of_range(&ranges->live.items[merge->next_live++]);
	index = merge->by_start[merge->next_fresh++];
	return item_of_code(&ranges->fresh.items[index], (uint64_t)index + 1);
}

static void swap(struct item *a, struct item *b)
{
	struct item c = *a;

	*a = *b;
	*b = c;
}

static int push_active(struct item_vec *heap, const struct item *item)
{
	int r = vec_push(heap, *item);

	for (size_t at = heap->count - 1; r == 0 && at > 0; at = (at - 1) / 2) {
		if (heap->items[(at - 1) / 2].order >= heap->items[at].order)
			break;
		swap(&heap->items[(at - 1) / 2], &heap->items[at]);
	}
	return r;
}

static void pop_active(struct item_vec *heap)
{
	size_t at = 0;

	heap->items[0] = heap->items[--heap->count];
	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < heap->count &&
		    heap->items[child + 1].order > heap->items[child].order)
			child++;
		if (child >= heap->count || heap->items[at].order >= heap->items[child].order)
			return;
		swap(&heap->items[at], &heap->items[child]);
		at = child;
	}
}

static struct jit_range range_of(const struct item *item, uint64_t from, uint64_t to)
{
	return (struct jit_range){
		.start = from,
		.size = (uint32_t)(to - from) | item->flags,
		.offset = item->offset,
		.start_in_code = item->start_in_code + (uint32_t)(from - item->start),
	};
}

/* Keeps the range that a later entry with a time hides. */
static void keep_replaced(struct merge *merge, uint64_t from, uint64_t to)
{
	struct jit_replaced_vec *replaced = &merge->ranges->replaced;
	const struct item *heap = merge->active.items;
	const struct item *second = NULL;

	if (heap[0].time_ns <= merge->ranges->keep_since_ns || merge->active.count < 2 ||
	    replaced->count >= MAX_REPLACED)
		return;
	/* The second latest is one of the two below the top. */
	second = &heap[1];
	if (merge->active.count > 2 && heap[2].order > second->order)
		second = &heap[2];
	if (second->end > from)
		(void)vec_push(replaced,
			       (struct jit_replaced){
				       .range = range_of(second, from, MIN(to, second->end)),
				       .until_ns = heap[0].time_ns,
			       });
}

/* Appends [@from, @to) of the latest item; joins it with its part before. */
static int emit(struct merge *merge, uint64_t from, uint64_t to)
{
	const struct jit_range range = range_of(&merge->active.items[0], from, to);
	struct jit_range *last =
		merge->merged.count > 0 ? &merge->merged.items[merge->merged.count - 1] : NULL;

	keep_replaced(merge, from, to);
	if (last && last->start + size_of(last) == from && last->offset == range.offset &&
	    last->start_in_code + size_of(last) == range.start_in_code) {
		last->size += (uint32_t)(to - from);
		return 0;
	}
	return vec_push(&merge->merged, range);
}

static int run_merge(struct merge *merge)
{
	struct item_vec *active = &merge->active;
	uint64_t at = 0;
	int r = 0;

	while (r == 0 && (active->count > 0 || next_start(merge) != UINT64_MAX)) {
		uint64_t to;

		if (active->count == 0)
			at = next_start(merge);
		while (r == 0 && next_start(merge) <= at) {
			struct item item = take_item(merge);

			r = push_active(active, &item);
		}
		while (active->count > 0 && active->items[0].end <= at)
			pop_active(active);
		if (r < 0 || active->count == 0)
			continue;
		to = MIN(active->items[0].end, next_start(merge));
		r = emit(merge, at, to);
		at = to;
	}
	return r;
}

static int merge_fresh(struct jit_ranges *ranges, uint32_t *by_start)
{
	struct merge merge = { .ranges = ranges, .by_start = by_start };
	int r;

	for (size_t i = 0; i < ranges->fresh.count; i++)
		by_start[i] = (uint32_t)i;
	qsort_r(by_start, ranges->fresh.count, sizeof(*by_start), compare_starts,
		ranges->fresh.items);
	r = run_merge(&merge);
	vec_release(&merge.active);
	if (r < 0) {
		vec_release(&merge.merged);
		ranges->n_dropped += ranges->fresh.count;
		return r;
	}
	/* Those at the highest addresses are left out. */
	if (merge.merged.count > JIT_MAX_RANGES) {
		ranges->n_dropped += merge.merged.count - JIT_MAX_RANGES;
		merge.merged.count = JIT_MAX_RANGES;
	}
	vec_release(&ranges->live);
	ranges->live = merge.merged;
	return 0;
}

int jit_ranges_commit(struct jit_ranges *ranges)
{
	scoped_free uint32_t *by_start = NULL;
	int r;

	if (ranges->fresh.count == 0)
		return 0;
	by_start = malloc(ranges->fresh.count * sizeof(*by_start));
	r = by_start ? merge_fresh(ranges, by_start) : -ENOMEM;
	vec_release(&ranges->fresh);
	return r;
}

/* ---- finding ------------------------------------------------------------------------------- */

static bool contains(const struct jit_range *range, uint64_t pc)
{
	return pc >= range->start && pc - range->start < size_of(range);
}

const struct jit_range *jit_ranges_find(const struct jit_ranges *ranges, uint64_t pc,
					uint64_t time_ns, uint32_t *ret_code_offset)
{
	const struct jit_range *found = find_live(ranges, pc);
	uint64_t until_ns = UINT64_MAX;

	/* Of those that were replaced after the sample, the first replaced one held. */
	for (size_t i = 0; i < ranges->replaced.count; i++) {
		const struct jit_replaced *replaced = &ranges->replaced.items[i];

		if (replaced->until_ns <= time_ns || replaced->until_ns >= until_ns ||
		    !contains(&replaced->range, pc))
			continue;
		until_ns = replaced->until_ns;
		found = &replaced->range;
	}
	if (found)
		*ret_code_offset = found->start_in_code + (uint32_t)(pc - found->start);
	return found;
}

void jit_ranges_forget_replaced(struct jit_ranges *ranges, uint64_t time_ns)
{
	size_t kept = 0;

	ranges->keep_since_ns = time_ns;
	for (size_t i = 0; i < ranges->replaced.count; i++)
		if (ranges->replaced.items[i].until_ns >= time_ns)
			ranges->replaced.items[kept++] = ranges->replaced.items[i];
	ranges->replaced.count = kept;
	if (kept == 0)
		vec_release(&ranges->replaced);
}
