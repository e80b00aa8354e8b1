/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instruction that links the frame stores the function's argument to PyThreadState.frame. All
 * code that is reached from the beginning of the function without it is unlinked. The instruction
 * that unlinks the frame is the last store to this offset of a structure before the function
 * returns; all code from there to the return is unlinked.
 *
 * The loop proper dispatches by indirect jumps, and has stores to this offset; unlinked code has
 * neither. Code that leads to one of them is therefore linked. If the code behind a call is linked
 * and that before it is not, the call does not return. The result is used only if all returns of
 * the function are in unlinked code.
 */
#include "agent/interpreter/python/unlinked_code.h"

#include <elf.h>

#include "agent/unwind/file/elf_code.h"
#include "agent/unwind/x86_code/x86_encoding.h"
#include "agent/unwind/x86_code/x86_instruction.h"

/* CPython's loop has 56 KiB; without optimization 200 KiB. */
#define MAX_PART_BYTES (512 * KIB)

/* Instructions that are looked at from one beginning. Unlinked code has at most 100. */
#define MAX_NODES 2048

/* PyThreadState.frame */
#define THREAD_FRAME 24

/* The registers with the function's first two arguments. 3.9 has the frame in the second one. */
#define FIRST_ARGUMENT    (1U << 7)
#define SECOND_ARGUMENT   (1U << 6)
#define FIRST_WITH_SECOND 0x0309

/* rbx, rbp, r12 to r15 */
#define KEPT_BY_CALLEE 0xf028

struct code_part {
	uint64_t start;
	struct bytes code;
	struct bytes marks; /* for each byte of code, whether it is unlinked */
};

#define NO_NODE UINT16_MAX
#define OUTSIDE (UINT16_MAX - 1) /* another function, which is called as the last action */

/* An instruction, and those that may follow it. */
struct node {
	uint64_t address;
	uint16_t next[2];  /* indexes, or NO_NODE, or OUTSIDE */
	uint16_t argument; /* a bit for each register that contains the frame */
	uint8_t length;
	bool is_call;   /* it may not return */
	bool is_end;    /* it links the frame, or returns */
	bool is_linked; /* it is in linked code, or leads to it */
	bool is_alive;  /* it leads to an end */
	bool is_reached;
};

struct analysis {
	struct code_part parts[ABI_LOOP_PARTS];
	struct node nodes[MAX_NODES];
	size_t n_nodes;
	bool changed; /* a register was added to a node */
};

struct decoded {
	struct x86_instruction instruction;
	struct x86_encoding encoding;
};

static struct code_part *part_of(struct analysis *analysis, uint64_t address)
{
	for (size_t i = 0; i < ABI_LOOP_PARTS; i++) {
		struct code_part *part = &analysis->parts[i];

		if (address >= part->start && address - part->start < part->code.size)
			return part;
	}
	return NULL;
}

static bool decode_at(const struct code_part *part, uint64_t address, struct decoded *ret_decoded)
{
	size_t at = (size_t)(address - part->start);
	struct bytes_view rest = { .data = part->code.data + at, .size = part->code.size - at };
	uint8_t length;

	return x86_encoding_read(rest, &ret_decoded->encoding, &length) &&
	       x86_decode(rest, address, &ret_decoded->instruction);
}

/* mov of 8 bytes from a register */
static bool is_move_of_register(const struct x86_encoding *encoding, uint8_t opcode)
{
	return encoding->map == X86_MAP_ONE_BYTE && !encoding->is_vector &&
	       encoding->opcode == opcode && encoding->rex & X86_REX_W;
}

/* Whether the instruction stores a register at the offset of PyThreadState.frame. */
static bool stores_frame(const struct x86_encoding *encoding)
{
	return is_move_of_register(encoding, 0x89) && encoding->mode != 3 &&
	       encoding->base != X86_RSP && encoding->base != X86_NO_REGISTER &&
	       encoding->index == X86_NO_REGISTER && !encoding->is_rip_relative &&
	       encoding->displacement == THREAD_FRAME;
}

static uint16_t without_register(uint16_t registers, unsigned int number)
{
	const uint32_t mask = 1U << number;

	return (uint16_t)(registers & ~mask);
}

/* Returns which registers contain the argument after the instruction. */
static uint16_t follow_argument(uint16_t registers, const struct decoded *decoded)
{
	const struct x86_encoding *encoding = &decoded->encoding;
	const struct x86_instruction *instruction = &decoded->instruction;
	uint8_t from = encoding->reg, to = encoding->rm;

	if (is_move_of_register(encoding, 0x8b)) {
		from = encoding->rm;
		to = encoding->reg;
	}
	if (encoding->mode == 3 &&
	    (is_move_of_register(encoding, 0x8b) || is_move_of_register(encoding, 0x89))) {
		const uint32_t bit = 1U << to;

		if (registers & 1U << from)
			return (uint16_t)(registers | bit);
		return without_register(registers, to);
	}
	switch (instruction->effect) {
	case X86_CALL:
	case X86_CALL_INDIRECT:
		return registers & KEPT_BY_CALLEE;
	case X86_POP:
		return instruction->value == X86_NO_REGISTER
			       ? registers
			       : without_register(registers, (unsigned int)instruction->value);
	case X86_LOAD:
	case X86_COPY_SP:
		return without_register(registers, instruction->reg);
	case X86_FP_LOST:
	case X86_FP_FROM_SP:
	case X86_LEAVE:
		return without_register(registers, X86_RBP);
	default:
		return instruction->written == X86_NO_REGISTER
			       ? registers
			       : without_register(registers, instruction->written);
	}
}

/* Finds or adds the node of the instruction at @address. */
static uint16_t node_at(struct analysis *analysis, uint64_t address, uint16_t argument)
{
	if (!part_of(analysis, address))
		return OUTSIDE;
	for (size_t i = 0; i < analysis->n_nodes; i++) {
		struct node *node = &analysis->nodes[i];

		if (node->address != address)
			continue;
		analysis->changed |= (argument & ~node->argument) != 0;
		node->argument |= argument;
		return (uint16_t)i;
	}
	if (analysis->n_nodes == MAX_NODES)
		return NO_NODE;
	analysis->nodes[analysis->n_nodes] = (struct node){
		.address = address,
		.next = { NO_NODE, NO_NODE },
		.argument = argument,
	};
	return (uint16_t)analysis->n_nodes++;
}

/* Adds the nodes that follow @node. */
static void follow(struct analysis *analysis, struct node *node)
{
	const struct code_part *part = part_of(analysis, node->address);
	struct decoded decoded;
	const struct x86_instruction *instruction = &decoded.instruction;
	uint64_t next;
	uint16_t argument;

	if (!decode_at(part, node->address, &decoded) || instruction->effect == X86_JUMP_INDIRECT) {
		node->is_linked = true;
		return;
	}
	node->length = instruction->length;
	next = node->address + node->length;
	if (stores_frame(&decoded.encoding)) {
		node->is_end = node->argument >> decoded.encoding.reg & 1;
		node->is_linked = !node->is_end;
		return;
	}
	argument = follow_argument(node->argument, &decoded);
	node->is_call = instruction->effect == X86_CALL || instruction->effect == X86_CALL_INDIRECT;
	node->is_end = instruction->effect == X86_RETURN;
	if (instruction->effect == X86_JUMP || instruction->effect == X86_JUMP_IF)
		node->next[1] = node_at(analysis, instruction->target, argument);
	if (instruction->effect != X86_JUMP && instruction->effect != X86_RETURN &&
	    instruction->effect != X86_STOP)
		node->next[0] = node_at(analysis, next, argument);
	/* Without room for the next instruction nothing is known about it. */
	if (analysis->n_nodes == MAX_NODES)
		node->is_linked = true;
}

/* Nodes without a property that have it because of those that follow. Returns whether any has. */
static bool spread_linked(struct analysis *analysis)
{
	bool changed = false;

	for (size_t i = analysis->n_nodes; i-- > 0;) {
		struct node *node = &analysis->nodes[i];

		for (size_t k = 0; k < 2 && !node->is_linked && !node->is_call; k++) {
			if (node->next[k] >= OUTSIDE || !analysis->nodes[node->next[k]].is_linked)
				continue;
			node->is_linked = true;
			changed = true;
		}
	}
	return changed;
}

static bool spread_alive(struct analysis *analysis)
{
	bool changed = false;

	for (size_t i = analysis->n_nodes; i-- > 0;) {
		struct node *node = &analysis->nodes[i];
		bool is_alive = node->is_end;

		for (size_t k = 0; k < 2; k++) {
			const struct node *next = &analysis->nodes[node->next[k] % MAX_NODES];

			if (node->next[k] == OUTSIDE)
				is_alive |= !node->is_call;
			else if (node->next[k] != NO_NODE)
				is_alive |= next->is_alive;
		}
		if (!is_alive || node->is_linked || node->is_alive)
			continue;
		node->is_alive = true;
		changed = true;
	}
	return changed;
}

static bool spread_reached(struct analysis *analysis)
{
	bool changed = false;

	for (size_t i = 0; i < analysis->n_nodes; i++) {
		const struct node *node = &analysis->nodes[i];

		for (size_t k = 0; k < 2 && node->is_reached; k++) {
			struct node *next = &analysis->nodes[node->next[k] % MAX_NODES];

			if (node->next[k] >= OUTSIDE || next->is_reached ||
			    (node->is_call && !next->is_alive))
				continue;
			next->is_reached = true;
			changed = true;
		}
	}
	return changed;
}

/*
 * Marks all code that is reached from @address until the frame is linked or the function returns.
 * @argument: the registers that contain the frame. False: there is linked code.
 */
static bool mark_from(struct analysis *analysis, uint64_t address, uint16_t argument)
{
	analysis->n_nodes = 0;
	if (node_at(analysis, address, argument) != 0)
		return false;
	do {
		analysis->changed = false;
		for (size_t i = 0; i < analysis->n_nodes; i++)
			follow(analysis, &analysis->nodes[i]);
	} while (analysis->changed);
	while (spread_linked(analysis))
		;
	while (spread_alive(analysis))
		;
	if (!analysis->nodes[0].is_alive)
		return false;
	analysis->nodes[0].is_reached = true;
	while (spread_reached(analysis))
		;
	for (size_t i = 0; i < analysis->n_nodes; i++) {
		const struct node *node = &analysis->nodes[i];
		struct code_part *part = part_of(analysis, node->address);

		if (node->is_reached)
			memset(part->marks.data + (node->address - part->start), 1, node->length);
	}
	return true;
}

/* Marks the code behind each store that unlinks the frame. Returns their number. */
static size_t find_ends(struct analysis *analysis, struct code_part *part)
{
	struct decoded decoded;
	size_t n_found = 0;

	for (size_t at = 0; at < part->code.size; at += decoded.instruction.length) {
		uint64_t address = part->start + at;

		if (!decode_at(part, address, &decoded)) {
			decoded.instruction.length = 1;
			continue;
		}
		if (part->marks.data[at] || !stores_frame(&decoded.encoding))
			continue;
		n_found += mark_from(analysis, address + decoded.instruction.length, 0);
	}
	return n_found;
}

static bool is_nop(const struct x86_encoding *encoding)
{
	return !encoding->is_vector &&
	       ((encoding->map == X86_MAP_ONE_BYTE && encoding->opcode == 0x90) ||
		(encoding->map == X86_MAP_0F && encoding->opcode == 0x1f));
}

static bool is_marked(struct analysis *analysis, uint64_t address)
{
	const struct code_part *part = part_of(analysis, address);

	return part && part->marks.data[address - part->start];
}

/* Whether an instruction of linked code returns, or goes to unlinked code without unlinking. */
static bool leaves_linked(struct analysis *analysis, const struct decoded *decoded, uint64_t next)
{
	const struct x86_instruction *instruction = &decoded->instruction;

	switch (instruction->effect) {
	case X86_RETURN:
		return true;
	case X86_JUMP:
		return !part_of(analysis, instruction->target) ||
		       is_marked(analysis, instruction->target);
	case X86_JUMP_IF:
		return !part_of(analysis, instruction->target) ||
		       is_marked(analysis, instruction->target) || is_marked(analysis, next);
	case X86_CALL: /* it may not return */
	case X86_CALL_INDIRECT:
	case X86_JUMP_INDIRECT:
	case X86_STOP:
		return false;
	default:
		return is_marked(analysis, next) && !stores_frame(&decoded->encoding) &&
		       !is_nop(&decoded->encoding);
	}
}

/* Whether the function returns in unlinked code only, and gets there by unlinking only. */
static bool ends_are_unlinked(struct analysis *analysis, const struct code_part *part)
{
	struct decoded decoded;

	for (size_t at = 0; at < part->code.size; at += decoded.instruction.length) {
		uint64_t address = part->start + at;

		if (!decode_at(part, address, &decoded)) {
			decoded.instruction.length = 1;
			continue;
		}
		if (!part->marks.data[at] &&
		    leaves_linked(analysis, &decoded, address + decoded.instruction.length))
			return false;
	}
	return true;
}

/* False: there are too many pieces. */
static bool list_pieces(const struct code_part *part, uint64_t loop_start, size_t *n_pieces,
			struct abi_code_piece *pieces)
{
	for (size_t at = 0; at < part->marks.size; at++) {
		bool is_first = at == 0 || !part->marks.data[at - 1];

		if (!part->marks.data[at])
			continue;
		if (is_first && *n_pieces == ABI_UNLINKED_PIECES)
			return false;
		if (is_first)
			pieces[(*n_pieces)++].start = (int32_t)(part->start + at - loop_start);
		pieces[*n_pieces - 1].bytes++;
	}
	return true;
}

static int read_part(const struct elf_file *elf, const struct abi_code_range *range,
		     struct code_part *part)
{
	size_t size = (size_t)MIN(range->end - range->start, (uint64_t)MAX_PART_BYTES);
	ssize_t n;
	int r;

	part->start = range->start;
	part->code = part->marks = BYTES_INIT(MAX_PART_BYTES);
	r = bytes_reserve(&part->code, size);
	if (r == 0)
		r = bytes_reserve(&part->marks, size);
	if (r < 0 || size == 0)
		return r;
	n = elf_code_read(elf, range->start, part->code.data, size);
	if (n < 0)
		return (int)n;
	part->code.size = part->marks.size = (size_t)n;
	memset(part->marks.data, 0, part->marks.size);
	return 0;
}

static int find_pieces(struct analysis *analysis, uint16_t frame_register,
		       struct abi_code_piece *ret_pieces)
{
	struct abi_code_piece pieces[ABI_UNLINKED_PIECES] = {};
	uint64_t start = analysis->parts[0].start;
	size_t n_ends = 0, n_pieces = 0;

	if (!part_of(analysis, start) || !mark_from(analysis, start, frame_register))
		return 0;
	for (size_t i = 0; i < ABI_LOOP_PARTS; i++)
		n_ends += find_ends(analysis, &analysis->parts[i]);
	if (n_ends == 0)
		return 0;
	for (size_t i = 0; i < ABI_LOOP_PARTS; i++)
		if (!ends_are_unlinked(analysis, &analysis->parts[i]) ||
		    !list_pieces(&analysis->parts[i], start, &n_pieces, pieces))
			return 0;
	memcpy(ret_pieces, pieces, sizeof(pieces));
	return 1;
}

static struct analysis *analysis_free(struct analysis *analysis)
{
	for (size_t i = 0; i < ABI_LOOP_PARTS; i++) {
		bytes_release(&analysis->parts[i].code);
		bytes_release(&analysis->parts[i].marks);
	}
	free(analysis);
	return NULL;
}

DEFINE_SCOPED(struct analysis *, analysis_free);

int unlinked_code_find(const struct elf_file *elf, uint32_t version,
		       const struct abi_code_range loop[ABI_LOOP_PARTS],
		       struct abi_code_piece ret_pieces[ABI_UNLINKED_PIECES])
{
	scoped(analysis_freep) struct analysis *analysis = NULL;

	if (elf->machine != EM_X86_64)
		return 0;
	analysis = calloc(1, sizeof(*analysis));
	if (!analysis)
		return -ENOMEM;
	for (size_t i = 0; i < ABI_LOOP_PARTS; i++) {
		int r = read_part(elf, &loop[i], &analysis->parts[i]);

		if (r < 0)
			return r;
	}
	return find_pieces(analysis, version < FIRST_WITH_SECOND ? FIRST_ARGUMENT : SECOND_ARGUMENT,
			   ret_pieces);
}
