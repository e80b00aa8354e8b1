/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/table/chunk_writer.h"

#include <stdlib.h>
#include <string.h>

#include "common/scoped.h"

/*
 * A piece of a dense page begins with a row that repeats the rule before it, unless another row
 * begins there. 64 bytes have at most 64 rows.
 */
#define PIECES_PER_PAGE (1u << (UNWIND_PAGE_SHIFT - UNWIND_DENSE_UNIT_SHIFT))

/*
 * Index of the first row of a chunk with @n_units units. Before it is the index of units, which has
 * one entry more than there are units.
 */
static uint32_t first_row_of(uint32_t n_units)
{
	return (UNWIND_CHUNK_FIRST_HALF + n_units + 1 + 1) / 2;
}

static bool fits(uint32_t n_units, uint32_t n_rows)
{
	return first_row_of(n_units) + n_rows <= UNWIND_CHUNK_ROWS;
}

/*
 * The number of a rule in a chunk. If it is not the current chunk, the rule is not in the current
 * one yet.
 */
struct local_rule {
	uint32_t chunk;
	uint16_t number;
};

struct chunk_writer {
	const struct unwind_table *table;
	chunk_function on_chunk;
	void *arg;
	struct local_rule *local; /* [table->n_rules] */
	uint32_t chunk;           /* counts from 1 */
	uint32_t n_units, n_rows, unit_shift;
	uint64_t first_unit;
	uint16_t unit_rows[UNWIND_CHUNK_HALVES]; /* number of rows before each unit */
	struct abi_unwind_row rows[UNWIND_CHUNK_ROWS];
	struct chunk_record record;
};

static void release(struct chunk_writer **writer)
{
	if (*writer)
		free((*writer)->local);
	free(*writer);
}

static uint16_t local_rule(struct chunk_writer *writer, uint16_t rule)
{
	struct local_rule *local = &writer->local[rule];
	struct chunk_record *record = &writer->record;

	if (local->chunk != writer->chunk) {
		*local = (struct local_rule){ .chunk = writer->chunk,
					      .number = (uint16_t)record->n_rules };
		record->rules[record->n_rules++] = writer->table->rules[rule];
	}
	return local->number;
}

static void push_row(struct chunk_writer *writer, uint16_t offset, uint16_t rule)
{
	writer->rows[writer->n_rows++] =
		(struct abi_unwind_row){ .offset = offset, .rule = local_rule(writer, rule) };
}

static int flush(struct chunk_writer *writer)
{
	struct abi_unwind_chunk *chunk = &writer->record.chunk;
	uint32_t first_row = first_row_of(writer->n_units);
	int r;

	if (writer->n_units == 0)
		return 0;
	*chunk = (struct abi_unwind_chunk){};
	chunk->first_unit = writer->first_unit;
	chunk->n_units = (uint16_t)writer->n_units;
	chunk->unit_shift = (uint16_t)writer->unit_shift;
	for (uint32_t unit = 0; unit < writer->n_units; unit++)
		chunk->halves[UNWIND_CHUNK_FIRST_HALF + unit] =
			(uint16_t)(first_row + writer->unit_rows[unit]);
	chunk->halves[UNWIND_CHUNK_FIRST_HALF + writer->n_units] =
		(uint16_t)(first_row + writer->n_rows);
	memcpy(&chunk->rows[first_row], writer->rows, writer->n_rows * sizeof(*writer->rows));
	r = writer->on_chunk(writer->arg, &writer->record);
	writer->n_units = 0;
	writer->n_rows = 0;
	writer->record.n_rules = 0;
	writer->chunk++;
	return r < 0 ? r : 0;
}

/* Begins a unit, to which @n_rows rows will be added. */
static int begin_unit(struct chunk_writer *writer, uint32_t unit_shift, uint64_t unit,
		      uint32_t n_rows)
{
	int r = 0;

	if (writer->n_units > 0 && (writer->unit_shift != unit_shift ||
				    !fits(writer->n_units + 1, writer->n_rows + n_rows)))
		r = flush(writer);
	if (writer->n_units == 0) {
		writer->unit_shift = unit_shift;
		writer->first_unit = unit;
	}
	writer->unit_rows[writer->n_units++] = (uint16_t)writer->n_rows;
	return r;
}

static int write_page(struct chunk_writer *writer, uint64_t unit, const struct abi_unwind_row *rows,
		      uint32_t n_rows)
{
	int r = begin_unit(writer, UNWIND_PAGE_SHIFT, unit, n_rows);

	for (uint32_t i = 0; r == 0 && i < n_rows; i++)
		push_row(writer, rows[i].offset, rows[i].rule);
	return r;
}

static int write_dense_page(struct chunk_writer *writer, uint64_t page,
			    const struct abi_unwind_row *rows, uint32_t n_rows)
{
	uint64_t first_unit = page << (UNWIND_PAGE_SHIFT - UNWIND_DENSE_UNIT_SHIFT);
	uint16_t rule = rows[0].rule;
	uint32_t at = 0;
	int r = flush(writer);

	for (uint32_t piece = 0; r == 0 && piece < PIECES_PER_PAGE; piece++) {
		uint32_t start = piece << UNWIND_DENSE_UNIT_SHIFT;
		uint32_t end = start + (1u << UNWIND_DENSE_UNIT_SHIFT);
		uint32_t after = at;
		bool has_start = at < n_rows && rows[at].offset == start;

		while (after < n_rows && rows[after].offset < end)
			after++;
		r = begin_unit(writer, UNWIND_DENSE_UNIT_SHIFT, first_unit + piece,
			       after - at + !has_start);
		if (r == 0 && !has_start)
			push_row(writer, (uint16_t)start, rule);
		for (; r == 0 && at < after; at++) {
			rule = rows[at].rule;
			push_row(writer, rows[at].offset, rule);
		}
	}
	return r < 0 ? r : flush(writer);
}

static int write_table(struct chunk_writer *writer)
{
	const struct unwind_table *table = writer->table;
	uint64_t first_page = table->base_address >> UNWIND_PAGE_SHIFT;
	int r = 0;

	for (uint32_t page = 0; r == 0 && page < table->n_pages; page++) {
		uint32_t first = table->page_first[page];
		uint32_t n_rows = table->page_first[page + 1] - first;

		if (fits(1, n_rows))
			r = write_page(writer, first_page + page, table->rows + first, n_rows);
		else
			r = write_dense_page(writer, first_page + page, table->rows + first,
					     n_rows);
	}
	return r < 0 ? r : flush(writer);
}

int chunk_writer_run(const struct unwind_table *table, chunk_function on_chunk, void *arg)
{
	scoped(release) struct chunk_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return -ENOMEM;
	writer->table = table;
	writer->on_chunk = on_chunk;
	writer->arg = arg;
	writer->chunk = 1;
	writer->local = calloc(MAX(table->n_rules, 1u), sizeof(*writer->local));
	return writer->local ? write_table(writer) : -ENOMEM;
}
