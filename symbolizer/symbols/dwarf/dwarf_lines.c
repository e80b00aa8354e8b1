/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line number program is run once, into one array of rows. Its sequences nearly always have
 * rising addresses. If not, they are sorted, and the part of a sequence that an earlier one covers
 * is dropped.
 *
 * Format: DWARF 5 §6.2. The files of the program are read in dwarf_line_files.c.
 */

#include "symbolizer/symbols/dwarf/dwarf_lines.h"

#include <dwarf.h>

#include "symbolizer/symbols/dwarf/dwarf_line_files.h"

/*
 * Rows of a unit allowed beyond two for each byte of code: a sequence of removed code has rows,
 * too, until its end is read.
 */
#define SPARE_ROWS (1u << 20)

struct line_sequence {
	size_t first; /* index of its first row */
	size_t count; /* of its rows, with the LINE_GAP that ends it */
	uint32_t start;
	uint32_t end;
};

VEC_DEFINE(line_sequence_vec, struct line_sequence);

struct line_program {
	const struct dwarf_unit *unit;
	const struct code_window *window;
	struct line_table *table;
	struct bytes_reader cursor;
	struct line_program_header header;
	struct line_sequence_vec sequences;
	uint64_t *rows_left;
	size_t first; /* index of the current sequence's first row */
	/* Registers of the state machine. */
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

/* Returns whether the current address lies in the window, and its offset there. */
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
	/* A sequence of removed code begins outside; end_sequence() removes all of its rows. */
	if (!in_window(program, &offset))
		offset = UINT32_MAX;
	row.offset = (uint32_t)offset;
	last = rows->count > program->first ? &rows->items[rows->count - 1] : NULL;
	if (last && row.offset <= last->offset) {
		/* The last of several rows at one address counts; rows that go back are ignored. */
		if (row.offset == last->offset) {
			last->file = row.file;
			last->line = row.line;
		}
		return 0;
	}
	if (last && last->file == row.file && last->line == row.line)
		return 0;
	if (rows->count >= 2 * program->window->code_bytes + SPARE_ROWS) {
		(void)cursor_fail(&program->cursor);
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
	struct bytes_reader *cursor = &program->cursor;
	uint64_t length = cursor_uleb(cursor);
	const uint8_t *begin = cursor->next;
	int r = 0;

	if (length == 0 || length > cursor_left(cursor)) {
		(void)cursor_fail(cursor);
		return 0;
	}
	switch (cursor_u8(cursor)) {
	case DW_LNE_end_sequence:
		r = end_sequence(program);
		reset(program);
		break;
	case DW_LNE_set_address:
		program->address = cursor_fixed(cursor, (size_t)MIN(length - 1, UINT64_C(8)));
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
	struct bytes_reader *cursor = &program->cursor;

	switch (opcode) {
	case DW_LNS_copy:
		return add_row(program);
	case DW_LNS_advance_pc:
		program->address += cursor_uleb(cursor) * header->min_instruction_bytes;
		return 0;
	case DW_LNS_advance_line:
		program->line =
			(uint64_t)((int64_t)program->line + cursor_sleb(cursor)) & UINT32_MAX;
		return 0;
	case DW_LNS_set_file:
		program->file = cursor_uleb(cursor);
		return 0;
	case DW_LNS_const_add_pc:
		program->address += (uint64_t)((255 - header->opcode_base) / header->line_range) *
				    header->min_instruction_bytes;
		return 0;
	case DW_LNS_fixed_advance_pc:
		program->address += cursor_u16(cursor);
		return 0;
	default:
		/* Opcodes that change neither address nor line (column, is_stmt, ...). */
		for (unsigned int i = 0; i < header->operands[opcode]; i++)
			cursor_skip_leb(cursor);
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
	while (r == 0 && cursor_left(&program->cursor) > 0) {
		uint8_t opcode = cursor_u8(&program->cursor);

		if (opcode >= program->header.opcode_base)
			r = run_special(program, opcode);
		else if (opcode == 0)
			r = run_extended(program);
		else
			r = run_standard(program, opcode);
	}
	/* The rows of a sequence without an end are dropped. */
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

/* Appends the rows of a sequence that end above @from; the first of them is cut to begin there. */
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
	program.cursor = cursor_at(owner->file->line, owner->line_offset);
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
