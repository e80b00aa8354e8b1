/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates three kinds of functions. Each instruction that changes the CFA is followed by the call
 * frame instruction that describes the change.
 */
#include "made_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILLER_BYTES 7u

/* DWARF numbers of registers. */
enum { DW_RBX = 3, DW_RBP = 6, DW_RSP = 7 };

/* Call frame instructions; the first two carry their operand in the low bits. */
enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
};

void piece_put(struct piece *piece, const void *bytes, uint32_t size)
{
	if (piece->size + size > sizeof(piece->bytes)) {
		fprintf(stderr,
			"make_executables: a function does not fit into %zu bytes, take a smaller "
			"body\n",
			sizeof(piece->bytes));
		exit(1);
	}
	memcpy(piece->bytes + piece->size, bytes, size);
	piece->size += size;
}

static void put_uleb(struct piece *piece, uint32_t value)
{
	for (; value >= 0x80; value >>= 7)
		PIECE_PUT(piece, (uint8_t)(value | 0x80));
	PIECE_PUT(piece, (uint8_t)value);
}

/* Starts new rules, which are valid from the current end of the text. */
static void advance(struct made_code *code)
{
	uint32_t delta = code->text.size - code->rules_until;

	if (delta < CFA_ADVANCE_LOC)
		PIECE_PUT(&code->rules, (uint8_t)(CFA_ADVANCE_LOC | delta));
	else if (delta < 0x100)
		PIECE_PUT(&code->rules, CFA_ADVANCE_LOC1, (uint8_t)delta);
	else
		PIECE_PUT(&code->rules, CFA_ADVANCE_LOC2, (uint8_t)delta, (uint8_t)(delta >> 8));
	code->rules_until = code->text.size;
}

static void cfa_offset(struct made_code *code, uint32_t offset)
{
	advance(code);
	PIECE_PUT(&code->rules, CFA_DEF_CFA_OFFSET);
	put_uleb(&code->rules, offset);
}

static void push_rbp(struct made_code *code)
{
	PIECE_PUT(&code->text, 0x55);
	cfa_offset(code, 16);
	PIECE_PUT(&code->rules, CFA_OFFSET | DW_RBP, 2);
}

static void sub_rsp(struct made_code *code, uint32_t size)
{
	PIECE_PUT(&code->text, 0x48, 0x81, 0xec);
	piece_put_u32(&code->text, size);
}

static void add_rsp(struct made_code *code, uint32_t size)
{
	PIECE_PUT(&code->text, 0x48, 0x81, 0xc4);
	piece_put_u32(&code->text, size);
}

/* The body of a function: instructions without effect, then the call or the loop. */
static void body(struct made_code *code, const struct made_function *function, uint64_t *random)
{
	uint64_t most = 2 * function->mean_body / FILLER_BYTES;

	for (uint64_t left = made_draw(random) % (most + 1); left > 0; left--) {
		PIECE_PUT(&code->text, 0x48, 0x8d, 0x80); /* lea number(%rax), %rax */
		piece_put_u32(&code->text, (uint32_t)made_draw(random));
	}
	if (function->is_leaf) {
		PIECE_PUT(&code->text, 0x48, 0x89, 0xf8); /* mov %rdi, %rax */
		PIECE_PUT(&code->text, 0x48, 0xff, 0xc8); /* dec %rax */
		PIECE_PUT(&code->text, 0x75, 0xfb);       /* jne to the dec */
	} else {
		PIECE_PUT(&code->text, 0xe8); /* call */
		piece_put_u32(&code->text,
			      (uint32_t)(function->callee_distance - code->text.size - 4));
	}
}

/* Saves registers, including rbp, and then loads rbp with a number that is not an address. */
static void saving_function(struct made_code *code, const struct made_function *function,
			    uint64_t random)
{
	uint32_t frame = 8 * (1 + (uint32_t)(made_draw(&random) % 64));

	push_rbp(code);
	PIECE_PUT(&code->text, 0x53); /* push %rbx */
	cfa_offset(code, 24);
	PIECE_PUT(&code->rules, CFA_OFFSET | DW_RBX, 3);
	PIECE_PUT(&code->text, 0xbd); /* mov $number, %ebp */
	piece_put_u32(&code->text, (uint32_t)made_draw(&random) | 1);
	sub_rsp(code, frame);
	cfa_offset(code, 24 + frame);
	body(code, function, &random);
	add_rsp(code, frame);
	cfa_offset(code, 24);
	PIECE_PUT(&code->text, 0x5b); /* pop %rbx */
	cfa_offset(code, 16);
	PIECE_PUT(&code->text, 0x5d); /* pop %rbp */
	cfa_offset(code, 8);
	PIECE_PUT(&code->text, 0xc3);
}

/*
 * Uses rbp as the pointer to its frame. When the callee has changed rbp, only call frame
 * information describes where the frame is.
 */
static void framed_function(struct made_code *code, const struct made_function *function,
			    uint64_t random)
{
	uint32_t frame = 8 * (1 + (uint32_t)(made_draw(&random) % 64));

	push_rbp(code);
	PIECE_PUT(&code->text, 0x48, 0x89, 0xe5); /* mov %rsp, %rbp */
	advance(code);
	PIECE_PUT(&code->rules, CFA_DEF_CFA_REGISTER, DW_RBP);
	sub_rsp(code, frame);
	body(code, function, &random);
	PIECE_PUT(&code->text, 0xc9); /* leave */
	advance(code);
	PIECE_PUT(&code->rules, CFA_DEF_CFA, DW_RSP, 8);
	PIECE_PUT(&code->text, 0xc3);
}

/* Does not change rbp. */
static void plain_function(struct made_code *code, const struct made_function *function,
			   uint64_t random)
{
	uint32_t frame = 8 * (1 + (uint32_t)(made_draw(&random) % 64));

	sub_rsp(code, frame);
	cfa_offset(code, 8 + frame);
	body(code, function, &random);
	add_rsp(code, frame);
	cfa_offset(code, 8);
	PIECE_PUT(&code->text, 0xc3);
}

void made_code_emit(const struct made_function *function, struct made_code *code)
{
	uint64_t random = function->seed;
	uint64_t kind = made_draw(&random) % 4;

	code->text.size = code->rules.size = code->rules_until = 0;
	if (function->is_head || kind == 0)
		saving_function(code, function, random);
	else if (kind == 1)
		framed_function(code, function, random);
	else
		plain_function(code, function, random);
}
