/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Generates the machine code (x86-64) and the call frame instructions of one function. Callers are
 * found by call frame instructions only: rbp does not lead from frame to frame, because the first
 * function of a chain loads it with a number that is not an address.
 */

#include <stdbool.h>
#include <stdint.h>

#define MADE_MAX_FUNCTION_BYTES 2048u

struct piece {
	uint8_t bytes[MADE_MAX_FUNCTION_BYTES];
	uint32_t size;
};

struct made_code {
	struct piece text;
	struct piece rules;   /* call frame instructions */
	uint32_t rules_until; /* bytes of the text that the rules already cover */
};

struct made_function {
	uint64_t seed;      /* of the random choices: kind of function, sizes, instructions */
	uint32_t mean_body; /* bytes in addition to prologue, call and epilogue */
	/* first function of a chain: loads rbp with a number that is not an address */
	bool is_head;
	bool is_leaf;            /* loops; the first argument is the count. Calls nothing */
	int64_t callee_distance; /* address of the callee minus that of the function */
};

/* splitmix64: independent numbers for consecutive states. */
static inline uint64_t made_draw(uint64_t *state)
{
	uint64_t value = *state += 0x9e3779b97f4a7c15u;

	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
	return value ^ (value >> 31);
}

/* Appends bytes. Exits if @piece is full. */
void piece_put(struct piece *piece, const void *bytes, uint32_t size);

#define PIECE_PUT(piece, ...)                                                                      \
	piece_put(piece, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static inline void piece_put_u32(struct piece *piece, uint32_t value)
{
	piece_put(piece, &value, sizeof(value));
}

void made_code_emit(const struct made_function *function, struct made_code *code);
