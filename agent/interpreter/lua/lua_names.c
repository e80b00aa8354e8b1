/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An instruction that calls a function has it in a register. The register was set by one of the
 * instructions before: those between them compute the arguments, in higher registers. They have no
 * assignments, but may have jumps.
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

struct instruction {
	uint32_t opcode, a, b, c, bx;
};

static struct instruction decode(uint32_t word, const struct lua_opcodes *opcodes)
{
	struct instruction instruction = {
		.opcode = word & ((1U << opcodes->bits) - 1),
		.a = word >> opcodes->bits & 0xff,
		.bx = word >> 14,
	};

	if (opcodes->bits == 7) {
		instruction.b = word >> 16 & 0xff;
		instruction.c = word >> 24;
	} else {
		instruction.b = word >> 23;
		instruction.c = word >> 14 & 0x1ff;
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
	uint32_t constant = instruction->c;

	if (instruction->opcode == opcodes->move)
		return read_local(memory, proto, instruction->b, position, max_bytes, to,
				  ret_bytes);
	if (instruction->opcode == opcodes->get_upvalue)
		return read_upvalue(memory, proto, instruction->b, max_bytes, to, ret_bytes);
	/* 5.1: OP_GETGLOBAL */
	if (memory->layout->walk.state_first_call && instruction->opcode == opcodes->get_global)
		return read_constant(memory, proto, instruction->bx, max_bytes, to, ret_bytes);
	if (opcodes->bits == 6) {
		if (!(constant & IS_CONSTANT))
			return 0;
		constant -= IS_CONSTANT;
	}
	return read_constant(memory, proto, constant, max_bytes, to, ret_bytes);
}

/* Whether an instruction sets a register to a value that may be called. */
static bool sets_function(const struct lua_opcodes *opcodes, uint32_t opcode)
{
	return opcode == opcodes->move || opcode == opcodes->get_upvalue ||
	       opcode == opcodes->get_global || opcode == opcodes->get_field ||
	       opcode == opcodes->self;
}

int lua_name_read(const struct lua_memory *memory, const struct lua_caller *caller,
		  size_t max_bytes, char *to, size_t *ret_bytes)
{
	const struct lua_opcodes *opcodes = &memory->layout->opcodes;
	const uint32_t first = caller->position > MAX_BEFORE ? caller->position - MAX_BEFORE : 0;
	uint32_t words[MAX_BEFORE + 1];
	uint8_t proto[LUA_PROTO_BYTES];
	struct instruction call;
	int r = lua_proto_read(memory, caller->code, proto);

	if (r < 0)
		return r;
	if (caller->position >= lua_proto_instructions(memory, proto))
		return -EBADMSG;
	r = memory->read(memory->arg,
			 word_at(proto, memory->layout->walk.code_instructions) +
				 (uint64_t)first * LUA_INSTRUCTION_BYTES,
			 words, (caller->position - first + 1) * sizeof(words[0]));
	if (r < 0)
		return r;
	call = decode(words[caller->position - first], opcodes);
	/* OP_TAILCALL is the next one: the caller has no frame any longer. */
	if (call.opcode != opcodes->call)
		return 0;
	for (uint32_t at = caller->position; at-- > first;) {
		const struct instruction instruction = decode(words[at - first], opcodes);

		if (instruction.a != call.a)
			continue;
		if (sets_function(opcodes, instruction.opcode))
			return read_name(memory, proto, &instruction, at, max_bytes, to, ret_bytes);
		if (instruction.opcode == opcodes->call || instruction.opcode == opcodes->closure)
			return 0;
	}
	return 0;
}
