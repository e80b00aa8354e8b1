/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of one FDE are contiguous and in order, so only FDEs are sorted, and their overlaps
 * resolved (unwind_sweep.h). Addresses have 32 bits, relative to the first executable segment,
 * rounded down to 64 KiB.
 */
#include "agent/unwind/table/unwind_builder.h"

#include <elf.h>

#include "agent/unwind/table/unwind_packer.h"
#include "agent/unwind/table/unwind_rule.h"
#include "agent/unwind/table/unwind_sweep.h"
#include "common/search.h"

/* Linkers make far fewer. The code of further segments is ignored. */
#define MAX_RANGES 64

/*
 * Maximum number of signal frames for which the byte before them is covered. A C library has at
 * most two.
 */
#define MAX_SIGNAL_FRAMES 16

struct range {
	uint64_t start;
	uint64_t end;
};

VEC_DEFINE(unwind_row_list, struct sweep_row);
VEC_DEFINE(fde_vec, struct sweep_fde);

struct unwind_builder {
	struct unwind_dialect dialect;
	bool needs_kept;
	struct range ranges[MAX_RANGES];
	size_t n_ranges;
	size_t last_range; /* most FDEs are in the same range as the previous one */
	uint64_t base_address;
	struct unwind_row_list rows;
	struct fde_vec fdes;
	struct unwind_rule_set rules;
	uint32_t signal_starts[MAX_SIGNAL_FRAMES];
	uint16_t signal_rules[MAX_SIGNAL_FRAMES];
	size_t n_signals;
	size_t n_sorted; /* FDEs that are sorted, see unwind_builder_sort() */
	struct unwind_table_stats stats;
};

/* ---- executable segments --------------------------------------------------------------------- */

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

/* Whether [start, end) is in an executable segment, at addresses that a row can have. */
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
	/* The page after the last one must have a number too. */
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

/* Merges the row with the previous one, from @first_row on, if they have the same rule. */
static int push_row(struct unwind_builder *builder, size_t first_row, uint64_t address,
		    const struct abi_unwind_rule *rule, uint16_t *ret_number)
{
	struct unwind_row_list *rows = &builder->rows;
	struct sweep_row row = { .address = (uint32_t)(address - builder->base_address) };
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
 * one byte before. If no FDE covers that byte, it belongs to the trampoline.
 */
static void remember_signal_frame(struct unwind_builder *builder, const struct sweep_fde *fde)
{
	uint16_t rule = builder->rows.items[fde->first_row].rule;

	if (builder->rules.rules.items[rule].cfa != UNWIND_CFA_SIGNAL ||
	    builder->n_signals == MAX_SIGNAL_FRAMES)
		return;
	builder->signal_starts[builder->n_signals] = fde->start;
	builder->signal_rules[builder->n_signals++] = rule;
}

/* Adds an FDE for [start, end) with the rows from @first_row on. */
static int push_fde(struct unwind_builder *builder, uint64_t start, uint64_t end, size_t first_row)
{
	struct sweep_fde added = {
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

	assert(n_rows > 0);
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

/* ---- ranges ---------------------------------------------------------------------------------- */

void unwind_builder_sort(struct unwind_builder *builder)
{
	unwind_sweep_sort(builder->fdes.items, builder->fdes.count);
	builder->n_sorted = builder->fdes.count;
}

bool unwind_builder_covers(const struct unwind_builder *builder, uint64_t address)
{
	size_t low;

	address -= builder->base_address;
	low = lower_bound(at, builder->n_sorted, builder->fdes.items[at].start <= address);
	return low > 0 && address < builder->fdes.items[low - 1].end;
}

bool unwind_builder_range(const struct unwind_builder *builder, size_t index, uint64_t *ret_start,
			  uint64_t *ret_end)
{
	if (index >= builder->n_sorted)
		return false;
	*ret_start = builder->base_address + builder->fdes.items[index].start;
	*ret_end = builder->base_address + builder->fdes.items[index].end;
	return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Added last, so that any FDE that covers the byte wins. */
static int add_bytes_before_signal_frames(struct unwind_builder *builder)
{
	for (size_t i = 0; i < builder->n_signals; i++) {
		uint32_t start = builder->signal_starts[i];
		struct sweep_fde fde = { .start = start - 1,
					 .end = start,
					 .first_row = (uint32_t)builder->rows.count,
					 .n_rows = 1 };
		int r;

		if (start == 0)
			continue;
		r = vec_push(&builder->rows,
			     (struct sweep_row){ .address = start - 1,
						 .rule = builder->signal_rules[i] });
		if (r == 0)
			r = vec_push(&builder->fdes, fde);
		if (r < 0)
			return r;
	}
	return 0;
}

int unwind_builder_finish(struct unwind_builder *builder, struct unwind_table *ret_table,
			  struct unwind_table_stats *ret_stats)
{
	scoped(unwind_packer_release) struct unwind_packer packer = {};
	int r;

	r = add_bytes_before_signal_frames(builder);
	if (r < 0)
		return r;
	unwind_sweep_sort(builder->fdes.items, builder->fdes.count);
	r = unwind_sweep(builder->fdes.items, builder->fdes.count, builder->rows.items, &packer);
	if (r < 0)
		return r;
	r = unwind_packer_finish(&packer, builder->base_address, &builder->rules.rules, ret_table);
	if (r < 0)
		return r;
	*ret_stats = builder->stats;
	return 0;
}
