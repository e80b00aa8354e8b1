/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New numbers are mostly the next ones, at the end of the last range.
 */

#include "common/search.h"
#include "symbolizer/store/segment_db/sequence_set.h"

#include <string.h>

/* Index of the first range that ends at @sequence or after it. */
static size_t find_range(const struct sequence_set *set, uint64_t sequence)
{
	return lower_bound(at, set->count, set->items[at].last < sequence);
}

bool sequence_set_has(const struct sequence_set *set, uint64_t sequence)
{
	size_t i = find_range(set, sequence);

	return i < set->count && set->items[i].first <= sequence;
}

/* Whether range @i, if it exists, begins just after @sequence. */
static bool begins_after(const struct sequence_set *set, size_t i, uint64_t sequence)
{
	return i < set->count && set->items[i].first - 1 == sequence;
}

/* Whether the range before @i, if it exists, ends just before @sequence. */
static bool ends_before(const struct sequence_set *set, size_t i, uint64_t sequence)
{
	return i > 0 && set->items[i - 1].last + 1 == sequence;
}

bool sequence_set_has_room(const struct sequence_set *set, uint64_t sequence)
{
	size_t i = find_range(set, sequence);

	return set->count < SEQUENCE_SET_MAX_RANGES || sequence_set_has(set, sequence) ||
	       ends_before(set, i, sequence) || begins_after(set, i, sequence);
}

static void remove_range(struct sequence_set *set, size_t i)
{
	memmove(&set->items[i], &set->items[i + 1], (set->count - i - 1) * sizeof(*set->items));
	set->count--;
}

static int insert_range(struct sequence_set *set, size_t i, uint64_t sequence)
{
	int r = vec_reserve(set, 1);

	if (r < 0)
		return r;
	memmove(&set->items[i + 1], &set->items[i], (set->count - i) * sizeof(*set->items));
	set->items[i] = (struct sequence_range){ sequence, sequence };
	set->count++;
	return 0;
}

int sequence_set_add(struct sequence_set *set, uint64_t sequence)
{
	size_t i = find_range(set, sequence);
	bool before, after;

	if (i < set->count && set->items[i].first <= sequence)
		return 0;
	before = ends_before(set, i, sequence);
	after = begins_after(set, i, sequence);
	if (before && after) {
		set->items[i - 1].last = set->items[i].last;
		remove_range(set, i);
	} else if (before) {
		set->items[i - 1].last = sequence;
	} else if (after) {
		set->items[i].first = sequence;
	} else {
		return insert_range(set, i, sequence);
	}
	return 0;
}

int sequence_set_encode(const struct sequence_set *set, struct bytes *out)
{
	uint64_t next = 0;

	for (size_t i = 0; i < set->count; i++) {
		(void)bytes_append_varint(out, set->items[i].first - next);
		(void)bytes_append_varint(out, set->items[i].last - set->items[i].first);
		next = set->items[i].last + 1;
	}
	return bytes_error(out);
}

int sequence_set_decode(struct bytes_view in, struct sequence_set *set)
{
	struct bytes_reader reader = bytes_reader_of(in);
	uint64_t next = 0;

	vec_clear(set);
	while (reader.next < reader.end) {
		struct sequence_range range;
		uint64_t gap = bytes_read_varint(&reader), length = bytes_read_varint(&reader);
		int r;

		/* The last number of the range before may be the largest one: next is 0 then. */
		if (reader.error || (set->count > 0 && (gap == 0 || next == 0)) ||
		    __builtin_add_overflow(next, gap, &range.first) ||
		    __builtin_add_overflow(range.first, length, &range.last))
			return -EBADMSG;
		r = vec_push(set, range);
		if (r < 0)
			return r;
		next = range.last + 1;
	}
	return 0;
}
