/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An instruction has a frame state once a path reaches it. Paths are followed one after the other.
 * Code after a call may be unreachable, because the callee may never return, so that the state
 * from a jump replaces the state from a return, once.
 */
#include "agent/unwind/x86_code/function_analysis.h"

#include "agent/unwind/x86_code/frame_state.h"

/* Longer functions are not analyzed: each byte needs a struct function_byte. */
#define MAX_FUNCTION_BYTES (256 * KIB)

/* A number in the code is taken for the address of a function if it is a multiple of this. */
#define FUNCTION_ALIGNMENT 16

struct function_byte {
	struct frame_state state; /* before the instruction */
	uint8_t reached;          /* enum reachability */
	uint8_t length;           /* of the instruction; 0: not decoded */
};

VEC_DEFINE(rule_row_vec, struct unwind_builder_row);

struct function_analysis {
	struct code_range code;
	struct function_byte *bytes; /* one for each byte of the longest function so far */
	size_t n_bytes;
	struct code_offset_vec paths; /* offsets of instructions that are still to be followed */
	struct rule_row_vec rows;
};

int function_analysis_new(const struct code_range *code, struct function_analysis **ret_analysis)
{
	struct function_analysis *analysis = calloc(1, sizeof(*analysis));

	if (!analysis)
		return -ENOMEM;
	analysis->code = *code;
	*ret_analysis = analysis;
	return 0;
}

struct function_analysis *function_analysis_free(struct function_analysis *analysis)
{
	if (!analysis)
		return NULL;
	free(analysis->bytes);
	vec_release(&analysis->paths);
	vec_release(&analysis->rows);
	free(analysis);
	return NULL;
}

const struct unwind_builder_row *function_analysis_rows(const struct function_analysis *analysis,
							size_t *ret_count)
{
	*ret_count = analysis->rows.count;
	return analysis->rows.items;
}

static bool is_in_code(const struct function_analysis *analysis, uint64_t address)
{
	return address >= analysis->code.vaddr &&
	       address - analysis->code.vaddr < analysis->code.bytes.size;
}

/* ---- paths through a function ---------------------------------------------------------------- */

struct walk {
	struct function_analysis *analysis;
	struct code_address_vec *found;
	uint64_t start;
	uint32_t size; /* from the start to the end of the function */
	/* at the first jump by a register: the state at the cases of a switch */
	struct frame_state at_jump;
	bool has_switch;
};

static int reach(struct walk *walk, uint64_t offset, const struct frame_state *state,
		 enum reachability reached)
{
	struct function_byte *byte = &walk->analysis->bytes[offset];

	if (offset >= walk->size || byte->reached >= reached)
		return 0;
	byte->state = *state;
	byte->reached = (uint8_t)reached;
	return vec_push(&walk->analysis->paths, (uint32_t)offset);
}

/* Also addresses within the function, because its end may be unknown. */
static int note_address(struct walk *walk, uint64_t address)
{
	if (!is_in_code(walk->analysis, address) || address == walk->start)
		return 0;
	return vec_push(walk->found, address);
}

/* Follows jumps and notes addresses. 1: the next instruction is reached; 0: it is not; -ENOMEM. */
static int branch(struct walk *walk, const struct x86_instruction *instruction,
		  const struct frame_state *after)
{
	uint64_t target = instruction->target - walk->start;
	int r = 0;

	switch (instruction->effect) {
	case X86_JUMP:
	case X86_JUMP_IF:
		if (target < walk->size)
			r = reach(walk, target, after, REACHED);
		else
			r = note_address(walk, instruction->target);
		return r < 0 ? r : instruction->effect == X86_JUMP_IF;
	case X86_JUMP_INDIRECT:
		if (!walk->has_switch)
			walk->at_jump = *after;
		walk->has_switch = true;
		return 0;
	case X86_CALL:
	case X86_ADDRESS:
		r = note_address(walk, instruction->target);
		return r < 0 ? r : 1;
	case X86_NUMBER:
		if (instruction->target % FUNCTION_ALIGNMENT == 0)
			r = note_address(walk, instruction->target);
		return r < 0 ? r : 1;
	case X86_RETURN:
	case X86_STOP:
		return 0;
	default:
		return 1;
	}
}

/* Follows one instruction. */
static int follow_instruction(struct walk *walk, uint32_t offset)
{
	struct function_analysis *analysis = walk->analysis;
	struct bytes_view code = analysis->code.bytes;
	size_t code_offset = (size_t)(walk->start - analysis->code.vaddr) + offset;
	struct function_byte *byte = &analysis->bytes[offset];
	struct x86_instruction instruction;
	enum reachability reached = byte->reached;
	struct frame_state after;
	int r;

	if (!x86_decode((struct bytes_view){ code.data + code_offset, walk->size - offset },
			walk->start + offset, &instruction)) {
		byte->reached = UNREACHED;
		return 0;
	}
	byte->length = instruction.length;
	after = byte->state;
	frame_state_apply(&after, &instruction);
	r = branch(walk, &instruction, &after);
	if (r <= 0)
		return r;
	if (instruction.effect == X86_CALL || instruction.effect == X86_CALL_INDIRECT)
		reached = REACHED_AFTER_CALL;
	return reach(walk, offset + instruction.length, &after, reached);
}

static int follow_paths(struct walk *walk)
{
	struct code_offset_vec *paths = &walk->analysis->paths;
	int r = 0;

	while (r == 0 && paths->count > 0)
		r = follow_instruction(walk, paths->items[--paths->count]);
	return r;
}

/*
 * Jump tables are not read. Code of a function with a switch that nothing else reaches is taken for
 * its cases.
 */
static int follow_cases(struct walk *walk)
{
	uint32_t offset = 0;
	int r = 0;

	while (r == 0 && walk->has_switch && offset < walk->size) {
		const struct function_byte *byte = &walk->analysis->bytes[offset];

		if (byte->reached == UNREACHED) {
			r = reach(walk, offset, &walk->at_jump, REACHED_AFTER_CALL);
			if (r == 0)
				r = follow_paths(walk);
		}
		offset += MAX((uint32_t)byte->length, 1u);
	}
	return r;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static struct abi_unwind_rule rule_of(const struct function_byte *byte)
{
	if (byte->reached == UNREACHED)
		return (struct abi_unwind_rule){ .cfa = UNWIND_CFA_NONE };
	return frame_state_rule(&byte->state);
}

static int add_row(struct function_analysis *analysis, uint64_t address,
		   const struct abi_unwind_rule *rule)
{
	const struct rule_row_vec *rows = &analysis->rows;

	if (rows->count > 0 && memcmp(&rows->items[rows->count - 1].rule, rule, sizeof(*rule)) == 0)
		return 0;
	return vec_push(&analysis->rows,
			(struct unwind_builder_row){ .start = address, .rule = *rule });
}

/* Makes rows up to the end of the last instruction that is reached. */
static int make_rows(struct walk *walk, uint64_t *ret_end)
{
	uint32_t offset = 0;
	int r = 0;

	*ret_end = walk->start;
	while (r == 0 && offset < walk->size) {
		const struct function_byte *byte = &walk->analysis->bytes[offset];
		struct abi_unwind_rule rule = rule_of(byte);

		r = add_row(walk->analysis, walk->start + offset, &rule);
		offset += MAX((uint32_t)byte->length, 1u);
		if (byte->reached != UNREACHED)
			*ret_end = walk->start + MIN(offset, walk->size);
	}
	while (walk->analysis->rows.count > 0 &&
	       walk->analysis->rows.items[walk->analysis->rows.count - 1].start >= *ret_end)
		walk->analysis->rows.count--;
	return r;
}

static int prepare_bytes(struct function_analysis *analysis, size_t n_bytes)
{
	if (n_bytes > analysis->n_bytes) {
		struct function_byte *bytes = realloc(analysis->bytes, n_bytes * sizeof(*bytes));

		if (!bytes)
			return -ENOMEM;
		analysis->bytes = bytes;
		analysis->n_bytes = n_bytes;
	}
	memset(analysis->bytes, 0, n_bytes * sizeof(*analysis->bytes));
	return 0;
}

int function_analysis_run(struct function_analysis *analysis, uint64_t start, uint64_t end,
			  struct code_address_vec *found, uint64_t *ret_end)
{
	const struct frame_state at_entry = FRAME_STATE_AT_ENTRY;
	struct walk walk = { .analysis = analysis, .found = found, .start = start };
	uint64_t code_end = analysis->code.vaddr + analysis->code.bytes.size;
	int r;

	vec_clear(&analysis->rows);
	vec_clear(&analysis->paths);
	end = MIN(end, code_end);
	if (!is_in_code(analysis, start) || end <= start || end - start > MAX_FUNCTION_BYTES)
		return 0;
	walk.size = (uint32_t)(end - start);
	r = prepare_bytes(analysis, walk.size);
	if (r < 0)
		return r;
	r = reach(&walk, 0, &at_entry, REACHED);
	if (r < 0)
		return r;
	r = follow_paths(&walk);
	if (r < 0)
		return r;
	r = follow_cases(&walk);
	if (r < 0)
		return r;
	r = make_rows(&walk, ret_end);
	return r < 0 ? r : *ret_end > start;
}
