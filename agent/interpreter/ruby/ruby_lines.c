/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iseq.c of CRuby, succ_index_table. The list of positions is a function from positions to numbers
 * of entries ("ranks", from 1 on), which rise by one at each position of the list:
 *
 *   positions 0 to 53   six words, each with the ranks of nine positions, of 7 bits
 *   others              blocks of 512 positions: the rank before the block (a word), ranks of its
 *                       parts (a word), and a bit for each position at which the rank rises
 *
 * There are only as many words and blocks as the code needs.
 */
#include "agent/interpreter/ruby/ruby_lines.h"

#include <string.h>

#define RANKS_OF_WORD   9
#define RANK_BITS       7
#define FIRST_POSITIONS 54
#define FIRST_WORDS     (FIRST_POSITIONS / RANKS_OF_WORD)

#define BLOCK_WORDS     10
#define BLOCK_BITS      2 /* index of the first of eight words */
#define BLOCK_POSITIONS 512

#define PIECE_ENTRIES   256
#define MAX_ENTRY_BYTES 16

/* Two numbers of up to 32 bits. */
#define MAX_CHANGE_BYTES 10

struct writer {
	const struct ruby_memory *memory;
	const struct ruby_lines *lines;
	/* the entries [first, first + PIECE_ENTRIES) */
	uint8_t piece[PIECE_ENTRIES * MAX_ENTRY_BYTES];
	uint32_t first, n_in_piece;
	uint8_t *to;
	size_t size, max_bytes;
	uint32_t position; /* of the last change */
	uint32_t line;
};

static int read_entry(struct writer *writer, uint32_t index, uint32_t *ret_line)
{
	const size_t entry_bytes = writer->memory->layout->line_bytes;

	if (index < writer->first || index - writer->first >= writer->n_in_piece) {
		uint32_t n = MIN(writer->lines->n_entries - index, (uint32_t)PIECE_ENTRIES);
		int r = writer->memory->read(writer->memory->arg,
					     writer->lines->entries + index * entry_bytes,
					     writer->piece, n * entry_bytes);

		if (r < 0)
			return r;
		writer->first = index;
		writer->n_in_piece = n;
	}
	memcpy(ret_line, writer->piece + (index - writer->first) * entry_bytes, sizeof(*ret_line));
	return 0;
}

static void put_number(struct writer *writer, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		writer->to[writer->size++] = (uint8_t)(value | 0x80);
	writer->to[writer->size++] = (uint8_t)value;
}

/* Notes that the entry with number @rank holds from @position on. 0, -ENOSPC, or another errno. */
static int add_rank(struct writer *writer, uint32_t position, uint64_t rank)
{
	uint32_t line;
	int r;

	if (rank == 0 || rank > writer->lines->n_entries)
		return 0;
	r = read_entry(writer, (uint32_t)rank - 1, &line);
	if (r < 0)
		return r;
	if (line == writer->line || line > INT32_MAX)
		return 0;
	if (writer->max_bytes - writer->size < MAX_CHANGE_BYTES)
		return -ENOSPC;
	put_number(writer, position - writer->position);
	/* Twice the distance, or twice that minus 1 if the line is smaller. */
	put_number(writer, line > writer->line ? (uint64_t)(line - writer->line) * 2
					       : (uint64_t)(writer->line - line) * 2 - 1);
	writer->position = position;
	writer->line = line;
	return 0;
}

static int add_first(struct writer *writer)
{
	const uint32_t n_words =
		MIN(writer->lines->n_words + RANKS_OF_WORD - 1, (uint32_t)FIRST_POSITIONS) /
		RANKS_OF_WORD;
	uint64_t words[FIRST_WORDS], rank, before = 0;
	int r = writer->memory->read(writer->memory->arg, writer->lines->positions, words,
				     n_words * sizeof(words[0]));

	for (uint32_t i = 0; r == 0 && i < n_words * RANKS_OF_WORD; i++) {
		rank = words[i / RANKS_OF_WORD] >> (i % RANKS_OF_WORD * RANK_BITS) &
		       ((1U << RANK_BITS) - 1);
		if (rank != before)
			r = add_rank(writer, i, rank);
		before = rank;
	}
	return r;
}

static int add_block(struct writer *writer, uint32_t index)
{
	const uint32_t first = FIRST_POSITIONS + index * BLOCK_POSITIONS;
	uint64_t words[BLOCK_WORDS], rank;
	int r = writer->memory->read(writer->memory->arg,
				     writer->lines->positions + FIRST_WORDS * sizeof(words[0]) +
					     index * sizeof(words),
				     words, sizeof(words));

	if (r < 0)
		return r;
	rank = (uint32_t)words[0];
	for (uint32_t i = 0; r == 0 && i < BLOCK_POSITIONS; i++)
		if (words[BLOCK_BITS + i / 64] >> i % 64 & 1)
			r = add_rank(writer, first + i, ++rank);
	return r;
}

int ruby_lines_read(const struct ruby_memory *memory, const struct ruby_lines *lines, uint8_t *to,
		    size_t max_bytes)
{
	struct writer writer = {
		.memory = memory,
		.lines = lines,
		.to = to,
		.max_bytes = max_bytes,
	};
	uint32_t n_blocks;
	int r;

	static_assert(FIRST_WORDS == 6, "as described above");
	if (lines->n_entries == 0 || lines->n_words > RUBY_MAX_CODE_WORDS ||
	    memory->layout->line_bytes > MAX_ENTRY_BYTES)
		return 0;
	if (lines->n_entries == 1 || lines->positions == 0) {
		r = add_rank(&writer, 0, 1);
		return r < 0 && r != -ENOSPC ? r : (int)writer.size;
	}
	n_blocks = lines->n_words < FIRST_POSITIONS
			   ? 0
			   : (lines->n_words - FIRST_POSITIONS + BLOCK_POSITIONS - 1) /
				     BLOCK_POSITIONS;
	r = add_first(&writer);
	for (uint32_t i = 0; r == 0 && i < n_blocks; i++)
		r = add_block(&writer, i);
	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	return (int)writer.size;
}
