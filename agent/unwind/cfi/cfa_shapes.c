/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two shapes are compared byte by byte: that of the procedure linkage table, which every linker
 * writes in the same way, and that of OpenSSL's Montgomery multiplication. For the others, the
 * expression is evaluated on a small stack of terms instead of numbers. A term is a constant, a
 * register plus a constant, or a word in memory at such an address plus a constant. So each way to
 * write "plus 8" gives the same shape.
 */
#include "agent/unwind/cfi/cfa_shapes.h"

#include "common/elf/dwarf_cursor.h"

enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08, /* to OP_CONST8S: unsigned and signed, 1, 2, 4, 8 bytes */
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_MINUS = 0x1c,
	OP_MUL = 0x1e,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_NOP = 0x96,
};

/* More than any known shape needs. */
#define MAX_TERMS 4

enum term_kind { TERM_CONSTANT, TERM_REGISTER, TERM_DEREF };

struct term {
	enum term_kind kind;
	uint64_t reg;
	int64_t offset;
	int64_t addend; /* of a constant: its value */
};

struct evaluation {
	struct term terms[MAX_TERMS];
	size_t count;
	bool is_unknown;
};

static void push(struct evaluation *evaluation, struct term term)
{
	if (evaluation->count == MAX_TERMS)
		evaluation->is_unknown = true;
	else
		evaluation->terms[evaluation->count++] = term;
}

static struct term pop(struct evaluation *evaluation)
{
	if (evaluation->count == 0) {
		evaluation->is_unknown = true;
		return (struct term){};
	}
	return evaluation->terms[--evaluation->count];
}

/* The constant part of the term, which an addition changes. */
static int64_t *constant_of(struct term *term)
{
	return term->kind == TERM_REGISTER ? &term->offset : &term->addend;
}

static void add(struct evaluation *evaluation, int64_t constant)
{
	struct term term = pop(evaluation);

	if (__builtin_add_overflow(*constant_of(&term), constant, constant_of(&term)))
		evaluation->is_unknown = true;
	push(evaluation, term);
}

static void dereference(struct evaluation *evaluation)
{
	struct term term = pop(evaluation);

	if (term.kind != TERM_REGISTER)
		evaluation->is_unknown = true;
	term.kind = TERM_DEREF;
	push(evaluation, term);
}

static void add_or_subtract(struct evaluation *evaluation, bool subtract)
{
	struct term right = pop(evaluation);
	struct term left;

	/* The constant may be on either side of a sum. */
	if (!subtract && right.kind != TERM_CONSTANT) {
		left = right;
		right = pop(evaluation);
	} else {
		left = pop(evaluation);
	}
	if (right.kind != TERM_CONSTANT || right.addend == INT64_MIN) {
		evaluation->is_unknown = true;
		return;
	}
	push(evaluation, left);
	add(evaluation, subtract ? -right.addend : right.addend);
}

static void push_constant(struct evaluation *evaluation, int64_t value)
{
	push(evaluation, (struct term){ .kind = TERM_CONSTANT, .addend = value });
}

static void push_register(struct evaluation *evaluation, uint64_t reg, int64_t offset)
{
	push(evaluation, (struct term){ .kind = TERM_REGISTER, .reg = reg, .offset = offset });
}

static int64_t fixed_constant(struct bytes_reader *cursor, uint8_t op)
{
	switch (op - OP_CONST1U) {
	case 0:
		return cursor_u8(cursor);
	case 1:
		return (int8_t)cursor_u8(cursor);
	case 2:
		return cursor_u16(cursor);
	case 3:
		return (int16_t)cursor_u16(cursor);
	case 4:
		return cursor_u32(cursor);
	case 5:
		return (int32_t)cursor_u32(cursor);
	default:
		return (int64_t)cursor_u64(cursor);
	}
}

/* An unsigned number beyond INT64_MAX wraps: sums of DWARF are modulo 2^64. */
static void step(struct evaluation *evaluation, struct bytes_reader *cursor)
{
	uint8_t op = cursor_u8(cursor);
	uint64_t reg;

	switch (op) {
	case OP_DEREF:
		dereference(evaluation);
		break;
	case OP_CONST1U ... OP_CONST8S:
		push_constant(evaluation, fixed_constant(cursor, op));
		break;
	case OP_CONSTU:
		push_constant(evaluation, (int64_t)cursor_uleb(cursor));
		break;
	case OP_CONSTS:
		push_constant(evaluation, cursor_sleb(cursor));
		break;
	case OP_LIT0 ... OP_LIT31:
		push_constant(evaluation, op - OP_LIT0);
		break;
	case OP_PLUS:
	case OP_MINUS:
		add_or_subtract(evaluation, op == OP_MINUS);
		break;
	case OP_PLUS_UCONST:
		add(evaluation, (int64_t)cursor_uleb(cursor));
		break;
	case OP_BREG0 ... OP_BREG31:
		push_register(evaluation, op - OP_BREG0, cursor_sleb(cursor));
		break;
	case OP_BREGX:
		reg = cursor_uleb(cursor);
		push_register(evaluation, reg, cursor_sleb(cursor));
		break;
	case OP_NOP:
		break;
	default:
		evaluation->is_unknown = true;
	}
}

static struct cfa_shape shape_of_term(const struct term *term)
{
	struct cfa_shape shape = {
		.kind = term->kind == TERM_DEREF ? CFA_SHAPE_DEREF : CFA_SHAPE_REGISTER,
		.reg = (uint8_t)term->reg,
		.offset = (int32_t)term->offset,
		.addend = (int32_t)term->addend,
	};

	if (term->kind == TERM_CONSTANT || shape.reg != term->reg || shape.offset != term->offset ||
	    shape.addend != term->addend)
		return (struct cfa_shape){};
	return shape;
}

/*
 * breg7 8; breg16 0; lit15; and; litN; ge; lit3; shl; plus
 *
 * A stub of the table has 16 bytes, and pushes a number before byte N.
 */
static bool is_plt(struct bytes_view expression, struct cfa_shape *ret_shape)
{
	static const uint8_t before[] = { 0x77, 8, 0x80, 0, OP_LIT0 + 15, 0x1a };
	static const uint8_t after[] = { 0x2a, OP_LIT0 + 3, 0x24, OP_PLUS };
	uint8_t lit;

	if (expression.size != sizeof(before) + 1 + sizeof(after) ||
	    memcmp(expression.data, before, sizeof(before)) != 0 ||
	    memcmp(expression.data + sizeof(before) + 1, after, sizeof(after)) != 0)
		return false;
	lit = expression.data[sizeof(before)];
	if (lit < OP_LIT0 || lit > OP_LIT0 + 15)
		return false;
	*ret_shape = (struct cfa_shape){ .kind = CFA_SHAPE_PLT, .offset = lit - OP_LIT0 };
	return true;
}

/*
 * breg7 offset; bregN 0; lit8; mul; plus; deref; plus_uconst 8
 *
 * bn_mul_mont() and similar functions save the stack pointer of their caller after an array of N
 * words.
 */
static bool is_indexed(struct bytes_view expression, struct cfa_shape *ret_shape)
{
	static const uint8_t after[] = { 0,        OP_LIT0 + 8,    OP_MUL, OP_PLUS,
					 OP_DEREF, OP_PLUS_UCONST, 8 };
	uint8_t offset, reg;

	if (expression.size != 3 + sizeof(after) || expression.data[0] != OP_BREG0 + 7 ||
	    memcmp(expression.data + 3, after, sizeof(after)) != 0)
		return false;
	offset = expression.data[1];
	reg = expression.data[2];
	/* The offset is one byte of SLEB128 and not negative; the register is a general one. */
	if (offset > 0x3f || reg < OP_BREG0 || reg > OP_BREG0 + 15)
		return false;
	*ret_shape = (struct cfa_shape){ .kind = CFA_SHAPE_INDEXED,
					 .reg = reg - OP_BREG0,
					 .offset = offset };
	return true;
}

struct cfa_shape cfa_shape_of(struct bytes_view expression)
{
	struct bytes_reader cursor = bytes_reader_of(expression);
	struct evaluation evaluation = {};
	struct cfa_shape shape;

	if (is_plt(expression, &shape) || is_indexed(expression, &shape))
		return shape;
	while (cursor.next < cursor.end && !evaluation.is_unknown)
		step(&evaluation, &cursor);
	if (cursor.error < 0 || evaluation.is_unknown || evaluation.count == 0)
		return (struct cfa_shape){};
	return shape_of_term(&evaluation.terms[evaluation.count - 1]);
}
