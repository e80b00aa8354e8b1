/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program of a line table is run once into one array. Its sequences nearly always rise; where
 * they do not, they are sorted, and what lies under the end of an earlier one goes.
 *
 * DWARF 5, 6.2; the file table's formats of version 5 are in dwarf_line_files.c.
 */

#include "symbolizer/symbols/dwarf/dwarf_lines.h"

#include <dwarf.h>

#include "symbolizer/symbols/dwarf/dwarf_line_files.h"

/* Rows of a unit beyond two for each byte of code: sequences of code that was dropped have some,
 * until they end. */
#define SPARE_ROWS (1u << 20)

struct line_sequence {
	size_t first; /* row */
	size_t count; /* with the gap that ends it */
	uint32_t start;
	uint32_t end;
};

VEC_DEFINE(line_sequence_vec, struct line_sequence);

struct line_program {
	const struct dwarf_unit *unit;
	const struct code_window *window;
	struct line_table *table;
	struct dwarf_cursor cursor;
	struct line_program_header header;
	struct line_sequence_vec sequences;
	uint64_t *rows_left;
	size_t first; /* row of the sequence under way */
	/* The machine's registers. */
	uint64_t address;
	uint64_t file;
	uint64_t line;
};

static void reset(struct line_program *program)
{
	program->address = 0;
	program->file = 1;
	program->line = 1;
	program->first = program->table->rows.count;
}

/* Whether the address is in code, and where in the window. */
static bool in_window(const struct line_program *program, uint64_t *ret_offset)
{
	*ret_offset = program->address - program->window->start;
	return program->address >= program->window->start && *ret_offset < UINT32_MAX;
}

static int add_row(struct line_program *program)
{
	struct line_row_vec *rows = &program->table->rows;
	struct line_row row = {
		.file = (uint32_t)MIN(program->file, (uint64_t)LINE_GAP - 1),
		.line = (uint32_t)MIN(program->line, (uint64_t)UINT32_MAX),
	};
	struct line_row *last;
	uint64_t offset;

	if (*program->rows_left == 0)
		return -EFBIG;
	--*program->rows_left;
	/* A dropped sequence begins outside; all of it goes at its end. */
	if (!in_window(program, &offset))
		offset = UINT32_MAX;
	row.offset = (uint32_t)offset;
	last = rows->count > program->first ? &rows->items[rows->count - 1] : NULL;
	if (last && row.offset <= last->offset) {
		/* Of several rows at one address the last one counts; back is not possible. */
		if (row.offset == last->offset) {
			last->file = row.file;
			last->line = row.line;
		}
		return 0;
	}
	if (last && last->file == row.file && last->line == row.line)
		return 0;
	if (rows->count >= 2 * program->window->code_bytes + SPARE_ROWS) {
		dwarf_fail(&program->cursor);
		return 0;
	}
	return vec_push(rows, row);
}

static int end_sequence(struct line_program *program)
{
	struct line_row_vec *rows = &program->table->rows;
	struct line_sequence sequence = {
		.first = program->first,
		.count = rows->count - program->first,
	};
	uint64_t end;
	uint64_t start;
	int r;

	if (sequence.count == 0)
		return 0;
	sequence.start = rows->items[program->first].offset;
	start = program->window->start + sequence.start;
	if (!in_window(program, &end) || end <= sequence.start ||
	    !code_section_at(program->window->code, start)) {
		rows->count = program->first;
		return 0;
	}
	while (rows->items[rows->count - 1].offset >= end)
		rows->count--;
	sequence.end = (uint32_t)end;
	r = vec_push(rows, (struct line_row){ .offset = sequence.end, .file = LINE_GAP });
	sequence.count = rows->count - program->first;
	return r < 0 ? r : vec_push(&program->sequences, sequence);
}

static int run_extended(struct line_program *program)
{
	struct dwarf_cursor *cursor = &program->cursor;
	uint64_t length = dwarf_uleb(cursor);
	const uint8_t *begin = cursor->next;
	int r = 0;

	if (length == 0 || length > dwarf_left(cursor)) {
		dwarf_fail(cursor);
		return 0;
	}
	switch (dwarf_u8(cursor)) {
	case DW_LNE_end_sequence:
		r = end_sequence(program);
		reset(program);
		break;
	case DW_LNE_set_address:
		program->address = dwarf_fixed(cursor, (size_t)MIN(length - 1, UINT64_C(8)));
		break;
	default:
		break;
	}
	cursor->next = begin + length;
	return r;
}

static int run_standard(struct line_program *program, uint8_t opcode)
{
	const struct line_program_header *header = &program->header;
	struct dwarf_cursor *cursor = &program->cursor;

	switch (opcode) {
	case DW_LNS_copy:
		return add_row(program);
	case DW_LNS_advance_pc:
		program->address += dwarf_uleb(cursor) * header->min_instruction_bytes;
		return 0;
	case DW_LNS_advance_line:
		program->line =
			(uint64_t)((int64_t)program->line + dwarf_sleb(cursor)) & UINT32_MAX;
		return 0;
	case DW_LNS_set_file:
		program->file = dwarf_uleb(cursor);
		return 0;
	case DW_LNS_const_add_pc:
		program->address += (uint64_t)((255 - header->opcode_base) / header->line_range) *
				    header->min_instruction_bytes;
		return 0;
	case DW_LNS_fixed_advance_pc:
		program->address += dwarf_u16(cursor);
		return 0;
	default:
		/* Also those that say nothing of address and line: column, is_stmt, view ... */
		for (unsigned int i = 0; i < header->operands[opcode]; i++)
			dwarf_skip_leb(cursor);
		return 0;
	}
}

static int run_special(struct line_program *program, uint8_t opcode)
{
	const struct line_program_header *header = &program->header;
	const unsigned int adjusted = (unsigned int)opcode - header->opcode_base;

	program->address +=
		(uint64_t)(adjusted / header->line_range) * header->min_instruction_bytes;
	program->line = (uint64_t)((int64_t)program->line + header->line_base +
				   (int64_t)(adjusted % header->line_range)) &
			UINT32_MAX;
	return add_row(program);
}

static int run(struct line_program *program)
{
	int r = 0;

	reset(program);
	while (r == 0 && dwarf_left(&program->cursor) > 0) {
		uint8_t opcode = dwarf_u8(&program->cursor);

		if (opcode >= program->header.opcode_base)
			r = run_special(program, opcode);
		else if (opcode == 0)
			r = run_extended(program);
		else
			r = run_standard(program, opcode);
	}
	/* A sequence without an end is damaged. */
	program->table->rows.count = program->first;
	return r;
}

static int compare_sequences(const void *left, const void *right)
{
	const struct line_sequence *a = left;
	const struct line_sequence *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* Appends the part of a sequence from @from on; the row that reaches into it begins there. */
static int append_sequence(struct line_row_vec *rows, const struct line_row *items, size_t count,
			   uint32_t from)
{
	int r = vec_reserve(rows, count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		struct line_row row = items[i];

		if (i + 1 < count && items[i + 1].offset <= from)
			continue;
		row.offset = MAX(row.offset, from);
		rows->items[rows->count++] = row;
	}
	return 0;
}

static int sort_sequences(struct line_program *program)
{
	struct line_sequence_vec *sequences = &program->sequences;
	struct line_row_vec sorted = {};
	uint32_t end = 0;
	int r = 0;

	qsort(sequences->items, sequences->count, sizeof(*sequences->items), compare_sequences);
	for (size_t i = 0; r == 0 && i < sequences->count; i++) {
		const struct line_sequence *sequence = &sequences->items[i];

		if (sequence->end <= end)
			continue;
		r = append_sequence(&sorted, &program->table->rows.items[sequence->first],
				    sequence->count, end);
		end = sequence->end;
	}
	if (r < 0) {
		vec_release(&sorted);
		return r;
	}
	vec_release(&program->table->rows);
	program->table->rows = sorted;
	return 0;
}

static bool is_sorted(const struct line_sequence_vec *sequences)
{
	for (size_t i = 1; i < sequences->count; i++) {
		if (sequences->items[i].start < sequences->items[i - 1].end)
			return false;
	}
	return true;
}

int line_table_read(struct line_table *table, const struct dwarf_unit *unit,
		    const struct code_window *window, uint64_t *rows_left)
{
	const struct dwarf_unit *owner = unit->skeleton ? unit->skeleton : unit;
	struct line_program program = {
		.unit = owner,
		.window = window,
		.table = table,
		.rows_left = rows_left,
	};
	int r;

	vec_clear(&table->rows);
	vec_clear(&table->files);
	vec_clear(&table->folders);
	if (!owner->has_lines)
		return 0;
	program.cursor = dwarf_cursor_at(owner->file->line, owner->line_offset);
	r = line_program_header_read(&program.header, table, owner, &program.cursor);
	if (r <= 0)
		return r;

	r = run(&program);
	if (r == 0 && !is_sorted(&program.sequences))
		r = sort_sequences(&program);
	vec_release(&program.sequences);
	return r;
}

void line_table_release(struct line_table *table)
{
	vec_release(&table->rows);
	vec_release(&table->files);
	vec_release(&table->folders);
}
