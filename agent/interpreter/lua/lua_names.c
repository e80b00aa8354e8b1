/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An instruction that calls a function has it in a register. The last instruction before that sets
 * this register has the name: those between them compute the arguments, in higher registers. They
 * may have jumps, and so may the code before: "(callback or default)()" has no name.
 */
#include "agent/interpreter/lua/lua_names.h"

#include "agent/interpreter/lua/lua_object.h"

/* Instructions before the call that are searched. */
#define MAX_BEFORE 64

/* Local variables that are searched: a function has at most 200 at a time. */
#define MAX_LOCALS 4096

/* struct LocVar: name, first instruction of its scope, and the first one after it */
#define LOCAL_BYTES 16
#define LOCAL_START 8
#define LOCAL_END   12
#define PIECE       64

/* TValue, with the address of a text */
#define VALUE_BYTES 16

/* Of an operand C, up to 5.3: the index of a constant, not a register. */
#define IS_CONSTANT 256

/* Numbers of instructions that follow each other: OP_JMP, OP_EQ, OP_LT, OP_LE. */
#define N_JUMPS 4

/* What is added to the distance of a jump: before 5.4, and from 5.4 on */
#define JUMP_BIAS     ((1 << 17) - 1)
#define JUMP_BIAS_5_4 ((1 << 24) - 1)

struct instruction {
	uint32_t opcode, a, b, c, bx;
	bool c_is_constant;
	int32_t jump; /* distance from the next instruction */
};

/* The instructions up to a call, which is the last one. */
struct code_piece {
	const struct lua_layout *layout;
	uint32_t words[MAX_BEFORE + 1];
	uint32_t n;
};

static struct instruction instruction_at(const struct code_piece *piece, uint32_t index)
{
	const uint32_t word = piece->words[index], bits = piece->layout->opcodes.bits;
	struct instruction instruction = {
		.opcode = word & ((1U << bits) - 1),
		.a = word >> bits & 0xff,
		.bx = word >> 14,
	};

	if (bits == 7) {
		instruction.b = word >> 16 & 0xff;
		instruction.c = word >> 24;
		/* OP_SELF has a flag; other instructions that read a field read a constant. */
		instruction.c_is_constant =
			instruction.opcode != piece->layout->opcodes.self || word >> 15 & 1;
		instruction.jump = (int32_t)(word >> 7) - JUMP_BIAS_5_4;
	} else {
		instruction.b = word >> 23;
		instruction.c_is_constant = word >> 14 & IS_CONSTANT;
		instruction.c = word >> 14 & (IS_CONSTANT - 1);
		instruction.jump = (int32_t)instruction.bx - JUMP_BIAS;
	}
	return instruction;
}

static int read_constant(const struct lua_memory *memory, const uint8_t *proto, uint32_t index,
			 size_t max_bytes, char *to, size_t *ret_bytes)
{
	uint64_t address;
	int r;

	if (index >= half_at(proto, memory->layout->code.n_constants))
		return -EBADMSG;
	r = lua_read(memory,
		     word_at(proto, memory->layout->code.constants) + (uint64_t)index * VALUE_BYTES,
		     &address, sizeof(address));
	if (r == 0)
		r = lua_text_read(memory, address, max_bytes, to, ret_bytes);
	return r < 0 ? r : 1;
}

static int read_upvalue(const struct lua_memory *memory, const uint8_t *proto, uint32_t index,
			size_t max_bytes, char *to, size_t *ret_bytes)
{
	const struct lua_code_layout *layout = &memory->layout->code;
	uint64_t address;
	int r;

	/* A stripped function has no names of them. */
	if (index >= half_at(proto, layout->n_upvalues))
		return 0;
	r = lua_read(memory,
		     word_at(proto, layout->upvalues) + (uint64_t)index * layout->upvalue_bytes,
		     &address, sizeof(address));
	if (r < 0 || address == 0)
		return r;
	r = lua_text_read(memory, address, max_bytes, to, ret_bytes);
	return r < 0 ? r : 1;
}

/* Reads the name of local variable @number of those that exist at instruction @position. */
static int read_local(const struct lua_memory *memory, const uint8_t *proto, uint32_t number,
		      uint32_t position, size_t max_bytes, char *to, size_t *ret_bytes)
{
	const struct lua_code_layout *layout = &memory->layout->code;
	const uint32_t n = MIN(half_at(proto, layout->n_locals), (uint32_t)MAX_LOCALS);
	uint8_t locals[PIECE * LOCAL_BYTES];
	int r;

	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *local = locals + (size_t)(i % PIECE) * LOCAL_BYTES;

		if (i % PIECE == 0) {
			r = lua_read(memory,
				     word_at(proto, layout->locals) + (uint64_t)i * LOCAL_BYTES,
				     locals, (size_t)MIN(n - i, (uint32_t)PIECE) * LOCAL_BYTES);
			if (r < 0)
				return r;
		}
		/* They are in order of their beginning. */
		if (half_at(local, LOCAL_START) > position)
			return 0;
		if (position >= half_at(local, LOCAL_END) || number-- > 0)
			continue;
		/* The name of a parameter, such as "callback", says nothing about the function. */
		if (half_at(local, LOCAL_START) == 0)
			return 0;
		r = lua_text_read(memory, word_at(local, 0), max_bytes, to, ret_bytes);
		return r < 0 ? r : 1;
	}
	return 0;
}

/* Reads the name of what @instruction, at @position, reads. 0: it has none. */
static int read_name(const struct lua_memory *memory, const uint8_t *proto,
		     const struct instruction *instruction, uint32_t position, size_t max_bytes,
		     char *to, size_t *ret_bytes)
{
	const struct lua_opcodes *opcodes = &memory->layout->opcodes;

	if (instruction->opcode == opcodes->move)
		return read_local(memory, proto, instruction->b, position, max_bytes, to,
				  ret_bytes);
	if (instruction->opcode == opcodes->get_upvalue)
		return read_upvalue(memory, proto, instruction->b, max_bytes, to, ret_bytes);
	/* 5.1: OP_GETGLOBAL */
	if (memory->layout->walk.state_first_call && instruction->opcode == opcodes->get_global)
		return read_constant(memory, proto, instruction->bx, max_bytes, to, ret_bytes);
	if (!instruction->c_is_constant)
		return 0;
	return read_constant(memory, proto, instruction->c, max_bytes, to, ret_bytes);
}

/* Whether an instruction sets register A to a value that may have a name. */
static bool sets_function(const struct lua_opcodes *opcodes, uint32_t opcode)
{
	return opcode == opcodes->move || opcode == opcodes->get_upvalue ||
	       opcode == opcodes->get_global || opcode == opcodes->get_field ||
	       opcode == opcodes->self;
}

/* Whether A is no register: of jumps, comparisons, and the argument of the instruction before. */
static bool sets_nothing(const struct lua_opcodes *opcodes, uint32_t opcode)
{
	return opcode - opcodes->jump < N_JUMPS ||
	       (opcodes->extra_argument && opcode == opcodes->extra_argument);
}

/*
 * In 5.1 the upvalues of a new closure follow OP_CLOSURE, as OP_MOVE and OP_GETUPVAL of register 0.
 * If the instruction is one of these, returns the index of OP_CLOSURE, else @index.
 */
static uint32_t skip_upvalues(const struct code_piece *piece, uint32_t index)
{
	const struct lua_opcodes *opcodes = &piece->layout->opcodes;

	if (!piece->layout->walk.state_first_call)
		return index;
	for (uint32_t at = index;; at--) {
		const struct instruction instruction = instruction_at(piece, at);

		if (instruction.opcode == opcodes->closure)
			return at;
		if (at == 0 || instruction.a != 0 ||
		    (instruction.opcode != opcodes->move &&
		     instruction.opcode != opcodes->get_upvalue))
			return index;
	}
}

/* Whether a jump leads from before instruction @index to one between it and the call. */
static bool is_jumped_over(const struct code_piece *piece, uint32_t index)
{
	for (uint32_t at = 0; at < index; at++) {
		const struct instruction instruction = instruction_at(piece, at);
		const int64_t target = (int64_t)at + 1 + instruction.jump;

		if (instruction.opcode == piece->layout->opcodes.jump && target > index &&
		    target < piece->n)
			return true;
	}
	return false;
}

/* Finds the instruction that has set the register of the call. */
static bool find_setter(const struct code_piece *piece, uint32_t *ret_index)
{
	const struct lua_opcodes *opcodes = &piece->layout->opcodes;
	const uint32_t called = instruction_at(piece, piece->n - 1).a;

	for (uint32_t at = piece->n - 1; at-- > 0;) {
		struct instruction instruction;

		at = skip_upvalues(piece, at);
		instruction = instruction_at(piece, at);
		if (instruction.a != called || sets_nothing(opcodes, instruction.opcode))
			continue;
		*ret_index = at;
		return sets_function(opcodes, instruction.opcode) && !is_jumped_over(piece, at);
	}
	return false;
}

int lua_name_read(const struct lua_memory *memory, const struct lua_caller *caller,
		  size_t max_bytes, char *to, size_t *ret_bytes)
{
	const uint32_t first = caller->position > MAX_BEFORE ? caller->position - MAX_BEFORE : 0;
	struct code_piece piece = { .layout = memory->layout };
	uint8_t proto[LUA_PROTO_BYTES];
	struct instruction setter;
	uint32_t index;
	int r = lua_proto_read(memory, caller->code, proto);

	if (r < 0)
		return r;
	if (caller->position >= lua_proto_instructions(memory, proto))
		return -EBADMSG;
	piece.n = caller->position - first + 1;
	r = memory->read(memory->arg,
			 word_at(proto, memory->layout->walk.code_instructions) +
				 (uint64_t)first * LUA_INSTRUCTION_BYTES,
			 piece.words, piece.n * sizeof(piece.words[0]));
	if (r < 0)
		return r;
	/* OP_TAILCALL is the next one: the caller has no frame any longer. */
	if (instruction_at(&piece, piece.n - 1).opcode != memory->layout->opcodes.call ||
	    !find_setter(&piece, &index))
		return 0;
	setter = instruction_at(&piece, index);
	return read_name(memory, proto, &setter, first + index, max_bytes, to, ret_bytes);
}
