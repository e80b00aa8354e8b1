/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep over the addresses keeps the FDEs that cover the current position in a heap, with the
 * first added one on top. Without overlaps, which is usual, the heap has one entry.
 */
#include "agent/unwind/table/unwind_sweep.h"

#include "common/scoped.h"

/* Functions begin at multiples of this. A shorter gap before such an address is padding. */
#define FUNCTION_ALIGNMENT 16

static int compare_fdes(const void *left, const void *right)
{
	const struct sweep_fde *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->first_row < b->first_row ? -1 : a->first_row > b->first_row;
}

void unwind_sweep_sort(struct sweep_fde *fdes, size_t n_fdes)
{
	bool is_sorted = true;

	for (size_t i = 1; i < n_fdes && is_sorted; i++)
		is_sorted = compare_fdes(&fdes[i - 1], &fdes[i]) <= 0;
	if (!is_sorted)
		qsort(fdes, n_fdes, sizeof(*fdes), compare_fdes);
}

struct sweep {
	struct sweep_fde *fdes;
	size_t n_fdes;
	const struct sweep_row *rows;
	uint32_t *heap; /* indices of FDEs, the one with the lowest first_row on top */
	size_t heap_count;
	size_t next; /* the first FDE that does not begin at or before the position */
	uint32_t position;
};

static bool ranks_before(const struct sweep *sweep, size_t a, size_t b)
{
	return sweep->fdes[sweep->heap[a]].first_row < sweep->fdes[sweep->heap[b]].first_row;
}

static void heap_swap(struct sweep *sweep, size_t a, size_t b)
{
	uint32_t kept = sweep->heap[a];

	sweep->heap[a] = sweep->heap[b];
	sweep->heap[b] = kept;
}

static void heap_push(struct sweep *sweep, size_t fde)
{
	size_t at = sweep->heap_count++;

	sweep->heap[at] = (uint32_t)fde;
	for (; at > 0 && ranks_before(sweep, at, (at - 1) / 2); at = (at - 1) / 2)
		heap_swap(sweep, at, (at - 1) / 2);
}

static void heap_pop(struct sweep *sweep)
{
	size_t at = 0;

	sweep->heap[0] = sweep->heap[--sweep->heap_count];
	while (2 * at + 1 < sweep->heap_count) {
		size_t child = 2 * at + 1;

		if (child + 1 < sweep->heap_count && ranks_before(sweep, child + 1, child))
			child++;
		if (!ranks_before(sweep, child, at))
			break;
		heap_swap(sweep, at, child);
		at = child;
	}
}

/* Adds FDEs that begin at the position, and removes those that end there from the top. */
static void update_heap(struct sweep *sweep)
{
	while (sweep->next < sweep->n_fdes && sweep->fdes[sweep->next].start <= sweep->position)
		heap_push(sweep, sweep->next++);
	while (sweep->heap_count > 0 && sweep->fdes[sweep->heap[0]].end <= sweep->position)
		heap_pop(sweep);
}

/* Writes the rows of @fde from the position to @limit, and removes the rows before from it. */
static int put_rows(struct sweep *sweep, struct sweep_fde *fde, uint32_t limit,
		    struct unwind_packer *packer)
{
	int r;

	while (fde->n_rows > 1 && sweep->rows[fde->first_row + 1].address <= sweep->position) {
		fde->first_row++;
		fde->n_rows--;
	}
	r = unwind_packer_put(packer, sweep->position, sweep->rows[fde->first_row].rule);
	while (r == 0 && fde->n_rows > 1 && sweep->rows[fde->first_row + 1].address < limit) {
		fde->first_row++;
		fde->n_rows--;
		r = unwind_packer_put(packer, sweep->rows[fde->first_row].address,
				      sweep->rows[fde->first_row].rule);
	}
	return r;
}

static bool is_padding(uint32_t start, uint32_t end)
{
	return end - start < FUNCTION_ALIGNMENT && end % FUNCTION_ALIGNMENT == 0;
}

/* Moves to the start of the next FDE, which exists. */
static int put_gap(struct sweep *sweep, struct unwind_packer *packer)
{
	uint32_t start = sweep->position;
	uint32_t end = sweep->fdes[sweep->next].start;

	sweep->position = end;
	return is_padding(start, end) ? 0 : unwind_packer_put(packer, start, UNWIND_RULE_NONE);
}

static int sweep_step(struct sweep *sweep, struct unwind_packer *packer)
{
	struct sweep_fde *fde = &sweep->fdes[sweep->heap[0]];
	uint32_t limit = fde->end;
	int r;

	if (sweep->next < sweep->n_fdes)
		limit = MIN(limit, sweep->fdes[sweep->next].start);
	r = put_rows(sweep, fde, limit, packer);
	sweep->position = limit;
	return r;
}

static int sweep_all(struct sweep *sweep, struct unwind_packer *packer)
{
	int r = 0;

	sweep->position = sweep->fdes[0].start;
	while (r == 0) {
		update_heap(sweep);
		if (sweep->heap_count > 0)
			r = sweep_step(sweep, packer);
		else if (sweep->next < sweep->n_fdes)
			r = put_gap(sweep, packer);
		else
			break;
	}
	return r < 0 ? r : unwind_packer_end(packer, sweep->position);
}

int unwind_sweep(struct sweep_fde *fdes, size_t n_fdes, const struct sweep_row *rows,
		 struct unwind_packer *packer)
{
	scoped_free uint32_t *heap = malloc(MAX(n_fdes, (size_t)1) * sizeof(*heap));
	struct sweep sweep = { .fdes = fdes, .n_fdes = n_fdes, .rows = rows, .heap = heap };

	if (!heap)
		return -ENOMEM;
	return n_fdes > 0 ? sweep_all(&sweep, packer) : 0;
}
