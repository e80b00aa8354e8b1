/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/unwind_builder.h"

#include <elf.h>

#include "agent/unwind/unwind_packer.h"
#include "agent/unwind/unwind_rule.h"

/*
 * Rows of one FDE lie together and in order, so only FDEs are sorted. Then a sweep over the
 * addresses keeps the FDEs that cover the current one in a heap, the first added on top; without
 * overlaps, which is nearly always, it holds one. Addresses are 32 bits, relative to the page of
 * the first executable segment.
 */

/* Far more than linkers make; a file with more loses the code of the others. */
#define MAX_RANGES 64

/* Signal frames (at most two in a C library) of which the byte before is looked after. */
#define MAX_SIGNAL_FRAMES 16

/* Functions begin at multiples of it; what lies between the end of one and the next is padding. */
#define FUNCTION_ALIGNMENT 16

struct range {
	uint64_t start;
	uint64_t end;
};

struct row {
	uint32_t address;
	uint16_t rule;
};

/* FDEs that were added earlier have lower rows: first_row is their rank as well. */
struct fde {
	uint32_t start;
	uint32_t end;
	uint32_t first_row;
	uint32_t n_rows;
};

VEC_DEFINE(row_vec, struct row);
VEC_DEFINE(fde_vec, struct fde);

struct unwind_builder {
	struct unwind_dialect dialect;
	bool needs_kept;
	struct range ranges[MAX_RANGES];
	size_t n_ranges;
	size_t last_range; /* FDEs mostly are where the one before was */
	uint64_t base_address;
	struct row_vec rows;
	struct fde_vec fdes;
	struct unwind_rule_set rules;
	uint32_t signal_starts[MAX_SIGNAL_FRAMES];
	uint16_t signal_rules[MAX_SIGNAL_FRAMES];
	size_t n_signals;
	struct unwind_table_stats stats;
};

/* ---- where code is --------------------------------------------------------------------------- */

static void collect_ranges(struct unwind_builder *builder, const struct load_segment *segments,
			   size_t n_segments)
{
	uint64_t lowest = UINT64_MAX;

	for (size_t i = 0; i < n_segments && builder->n_ranges < MAX_RANGES; i++) {
		struct range range = { .start = segments[i].vaddr };

		if (!(segments[i].flags & PF_X) ||
		    __builtin_add_overflow(range.start, segments[i].memory_size, &range.end))
			continue;
		builder->ranges[builder->n_ranges++] = range;
		lowest = MIN(lowest, range.start);
	}
	builder->base_address = lowest & ~UINT64_C(0xffff);
}

static bool is_in_range(const struct unwind_builder *builder, size_t index, uint64_t start,
			uint64_t end)
{
	const struct range *range = &builder->ranges[index];

	return index < builder->n_ranges && start >= range->start && end <= range->end;
}

/* Whether [start, end) is code that a row can have an address in. */
static bool is_code(struct unwind_builder *builder, uint64_t start, uint64_t end)
{
	size_t i = builder->last_range;

	if (!is_in_range(builder, i, start, end)) {
		for (i = 0; i < builder->n_ranges && !is_in_range(builder, i, start, end);)
			i++;
		if (i == builder->n_ranges)
			return false;
		builder->last_range = i;
	}
	/* The page after the last one has a number too. */
	return end - builder->base_address < UNWIND_MAX_SPAN_BYTES - (1u << UNWIND_PAGE_SHIFT);
}

/* ---- adding ---------------------------------------------------------------------------------- */

int unwind_builder_new(const struct unwind_dialect *dialect, const struct load_segment *segments,
		       size_t n_segments, struct unwind_builder **ret_builder)
{
	scoped(unwind_builder_freep) struct unwind_builder *builder = calloc(1, sizeof(*builder));
	int r;

	if (!builder)
		return -ENOMEM;
	r = unwind_rule_set_init(&builder->rules);
	if (r < 0)
		return r;
	builder->dialect = *dialect;
	collect_ranges(builder, segments, n_segments);
	*ret_builder = take_ptr(builder);
	return 0;
}

struct unwind_builder *unwind_builder_free(struct unwind_builder *builder)
{
	if (!builder)
		return NULL;
	vec_release(&builder->rows);
	vec_release(&builder->fdes);
	unwind_rule_set_release(&builder->rules);
	free(builder);
	return NULL;
}

struct addition {
	struct unwind_builder *builder;
	const struct eh_frame_fde *fde;
	size_t first_row;
	uint32_t n_unsupported;
	uint32_t n_rows;
};

/* Joins it with the row before, of those from @first_row on, where both have one rule. */
static int push_row(struct unwind_builder *builder, size_t first_row, uint64_t address,
		    const struct abi_unwind_rule *rule, uint16_t *ret_number)
{
	struct row_vec *rows = &builder->rows;
	struct row row = { .address = (uint32_t)(address - builder->base_address) };
	int r;

	r = unwind_rule_set_intern(&builder->rules, rule, &row.rule);
	if (r < 0)
		return r;
	*ret_number = row.rule;
	if (rows->count > first_row && rows->items[rows->count - 1].rule == row.rule)
		return 0;
	if (rows->count == UNWIND_MAX_ROWS)
		return -E2BIG;
	return vec_push(rows, row);
}

static int add_row(void *argument, uint64_t address, const struct cfi_state *state)
{
	struct addition *addition = argument;
	struct unwind_builder *builder = addition->builder;
	struct abi_unwind_rule rule =
		unwind_rule_of(&builder->dialect, state, addition->fde->context->ra_column,
			       addition->fde->is_signal_frame);
	uint16_t number;
	int r;

	r = push_row(builder, addition->first_row, address, &rule, &number);
	if (r < 0)
		return r;
	builder->needs_kept |= unwind_rule_needs_kept(&builder->dialect, &rule);
	addition->n_rows++;
	addition->n_unsupported += number == UNWIND_RULE_UNSUPPORTED;
	return 0;
}

/*
 * The kernel returns to the first byte of a signal trampoline, and return addresses are looked up
 * one byte before: where no other FDE has that byte, it belongs to the trampoline.
 */
static void remember_signal_frame(struct unwind_builder *builder, const struct fde *fde)
{
	uint16_t rule = builder->rows.items[fde->first_row].rule;

	if (builder->rules.rules.items[rule].cfa != UNWIND_CFA_SIGNAL ||
	    builder->n_signals == MAX_SIGNAL_FRAMES)
		return;
	builder->signal_starts[builder->n_signals] = fde->start;
	builder->signal_rules[builder->n_signals++] = rule;
}

/* The rows from @first_row on are what holds in [start, end). */
static int push_fde(struct unwind_builder *builder, uint64_t start, uint64_t end, size_t first_row)
{
	struct fde added = {
		.start = (uint32_t)(start - builder->base_address),
		.end = (uint32_t)(end - builder->base_address),
		.first_row = (uint32_t)first_row,
		.n_rows = (uint32_t)(builder->rows.count - first_row),
	};

	remember_signal_frame(builder, &added);
	return vec_push(&builder->fdes, added);
}

int unwind_builder_add_fde(void *argument, const struct eh_frame_fde *fde)
{
	struct unwind_builder *builder = argument;
	struct addition addition = { .builder = builder,
				     .fde = fde,
				     .first_row = builder->rows.count };
	int r;

	if (!is_code(builder, fde->program.start, fde->program.end)) {
		builder->stats.n_fdes_outside++;
		return 0;
	}
	r = cfi_run(fde->context, &fde->program, fde->initial, add_row, &addition);
	if (r < 0) {
		builder->rows.count = addition.first_row;
		return r;
	}
	builder->stats.n_rows_before_merge += addition.n_rows;
	builder->stats.n_rows_unsupported += addition.n_unsupported;
	return push_fde(builder, fde->program.start, fde->program.end, addition.first_row);
}

int unwind_builder_add_rows(struct unwind_builder *builder, const struct unwind_builder_row *rows,
			    size_t n_rows, uint64_t end)
{
	size_t first_row = builder->rows.count;
	uint16_t number;
	int r = 0;

	if (!is_code(builder, rows[0].start, end)) {
		builder->stats.n_fdes_outside++;
		return 0;
	}
	for (size_t i = 0; i < n_rows && r == 0; i++)
		r = push_row(builder, first_row, rows[i].start, &rows[i].rule, &number);
	if (r < 0) {
		builder->rows.count = first_row;
		return r;
	}
	builder->stats.n_fdes++;
	builder->stats.n_rows_before_merge += (uint32_t)n_rows;
	return push_fde(builder, rows[0].start, end, first_row);
}

bool unwind_builder_needs_kept(const struct unwind_builder *builder)
{
	return builder->needs_kept && !builder->dialect.follows_kept;
}

void unwind_builder_count_fdes(struct unwind_builder *builder, const struct eh_frame_parser *parser)
{
	builder->stats.n_fdes += eh_frame_parser_fdes(parser);
	builder->stats.n_fdes_lost += eh_frame_parser_lost(parser);
}

int unwind_builder_add_section(struct unwind_builder *builder,
			       const struct eh_frame_section *section, struct bytes_view content)
{
	scoped(eh_frame_parser_freep) struct eh_frame_parser *parser = NULL;
	size_t consumed;
	int r;

	r = eh_frame_parser_new(section, builder->dialect.machine, unwind_builder_add_fde, builder,
				&parser);
	if (r < 0)
		return r;
	r = eh_frame_parse(parser, content, &consumed);
	unwind_builder_count_fdes(builder, parser);
	return r < 0 ? r : 0;
}

/* ---- the sweep ------------------------------------------------------------------------------- */

static int compare_fdes(const void *left, const void *right)
{
	const struct fde *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->first_row < b->first_row ? -1 : a->first_row > b->first_row;
}

static void sort_fdes(struct fde_vec *fdes)
{
	bool is_sorted = true;

	for (size_t i = 1; i < fdes->count && is_sorted; i++)
		is_sorted = compare_fdes(&fdes->items[i - 1], &fdes->items[i]) <= 0;
	if (!is_sorted)
		qsort(fdes->items, fdes->count, sizeof(*fdes->items), compare_fdes);
}

struct sweep {
	struct fde *fdes;
	size_t n_fdes;
	const struct row *rows;
	uint32_t *heap; /* indices of FDEs, the lowest first_row on top */
	size_t heap_count;
	size_t next; /* the first FDE that has not begun */
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

/* Lets begin what begins here, and end what ends here. */
static void update_heap(struct sweep *sweep)
{
	while (sweep->next < sweep->n_fdes && sweep->fdes[sweep->next].start <= sweep->position)
		heap_push(sweep, sweep->next++);
	while (sweep->heap_count > 0 && sweep->fdes[sweep->heap[0]].end <= sweep->position)
		heap_pop(sweep);
}

/* The rows of @fde from the position up to @limit. Rows that are passed are dropped from it. */
static int put_rows(struct sweep *sweep, struct fde *fde, uint32_t limit,
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

/* From the position to the next FDE, which there is. */
static int put_gap(struct sweep *sweep, struct unwind_packer *packer)
{
	uint32_t start = sweep->position;
	uint32_t end = sweep->fdes[sweep->next].start;

	sweep->position = end;
	return is_padding(start, end) ? 0 : unwind_packer_put(packer, start, UNWIND_RULE_NONE);
}

static int sweep_step(struct sweep *sweep, struct unwind_packer *packer)
{
	struct fde *fde = &sweep->fdes[sweep->heap[0]];
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

/* ---- the end --------------------------------------------------------------------------------- */

/* Last in rank: whatever else covers the byte has it. */
static int add_bytes_before_signal_frames(struct unwind_builder *builder)
{
	for (size_t i = 0; i < builder->n_signals; i++) {
		uint32_t start = builder->signal_starts[i];
		struct fde fde = { .start = start - 1,
				   .end = start,
				   .first_row = (uint32_t)builder->rows.count,
				   .n_rows = 1 };
		int r;

		if (start == 0)
			continue;
		r = vec_push(&builder->rows, (struct row){ .address = start - 1,
							   .rule = builder->signal_rules[i] });
		if (r == 0)
			r = vec_push(&builder->fdes, fde);
		if (r < 0)
			return r;
	}
	return 0;
}

static int pack(struct unwind_builder *builder, struct unwind_packer *packer)
{
	scoped_free uint32_t *heap = NULL;
	struct sweep sweep = { .fdes = builder->fdes.items,
			       .n_fdes = builder->fdes.count,
			       .rows = builder->rows.items };

	heap = malloc(MAX(sweep.n_fdes, (size_t)1) * sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	sweep.heap = heap;
	return sweep.n_fdes > 0 ? sweep_all(&sweep, packer) : 0;
}

int unwind_builder_finish(struct unwind_builder *builder, struct unwind_table *ret_table,
			  struct unwind_table_stats *ret_stats)
{
	scoped(unwind_packer_release) struct unwind_packer packer = {};
	int r;

	r = add_bytes_before_signal_frames(builder);
	if (r < 0)
		return r;
	sort_fdes(&builder->fdes);
	r = pack(builder, &packer);
	if (r < 0)
		return r;
	r = unwind_packer_finish(&packer, builder->base_address, &builder->rules.rules, ret_table);
	if (r < 0)
		return r;
	*ret_stats = builder->stats;
	return 0;
}
