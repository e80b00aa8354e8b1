/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Lines of positions in scripts. V8 computes the ends of the lines of a script only when it needs
 * them, for a stack trace, so they are counted in the text of the script. Counts of the beginnings
 * of pieces are kept for some scripts, so that each text is read about once.
 *
 * For the functions of one request: the garbage collector may move a text at any time.
 */

#include "agent/interpreter/v8/v8_heap.h"

/* Characters of a piece, and of the longest text whose lines are counted: 8 Mi. */
#define V8_PIECE_CHARACTERS 32768
#define V8_MAX_PIECES       256

#define V8_MAX_SCRIPTS 4

/* Bytes of texts that are read for one request. */
#define V8_MAX_TEXT_BYTES (64 * MIB)

struct v8_script_lines {
	uint64_t address; /* of the text; 0: unused */
	uint32_t n_known;
	uint32_t n_before[V8_MAX_PIECES]; /* ends of lines before piece i, if i < n_known */
};

/* Begins as 0. */
struct v8_lines {
	struct v8_script_lines scripts[V8_MAX_SCRIPTS];
	uint32_t next; /* the script that is replaced next */
	uint64_t bytes_read;
};

/*
 * The line that contains character @position of @text, from 1. 0: it is not known, because the text
 * cannot be read or is too large, or @position is not in it.
 */
uint32_t v8_line_find(const struct v8_memory *memory, struct v8_lines *lines,
		      const struct v8_string *text, uint32_t position);

/* Words of a Script: map, source, name, line offset. */
#define V8_SCRIPT_WORDS 4

/*
 * The same for the script whose first words are @script, with the number that its first line has:
 * an option of the embedder.
 */
uint32_t v8_script_line(const struct v8_memory *memory, struct v8_lines *lines,
			const uint64_t script[V8_SCRIPT_WORDS], uint32_t position);

/* The same for the script to which @pointer points. 0 also if it is no script. */
uint32_t v8_script_line_find(const struct v8_memory *memory, struct v8_lines *lines,
			     uint64_t pointer, uint32_t position);
