/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_code/function_analysis.h"

#include "agent/unwind/x86_code/frame_state.h"

/*
 * An instruction has a frame state once a path reaches it. Paths are followed one after the other.
 * Code behind a call may be unreachable, because the callee may never return, so that the state
 * from a jump replaces the state from a return, once.
 */

/* Longer functions are not analyzed: each byte needs a struct code_byte. */
#define MAX_FUNCTION_BYTES (256 * KIB)

/* A number in the code is taken for the address of a function if it is a multiple of this. */
#define FUNCTION_ALIGNMENT 16

enum sureness {
	UNREACHED = 0,
	BEHIND_CALL,
	REACHED,
};

struct place {
	struct frame_state state; /* before the instruction */
	uint8_t sureness;         /* enum reachability */
	uint8_t length;           /* of the instruction; 0: not decoded */
};

VEC_DEFINE(way_vec, uint32_t);
VEC_DEFINE(rule_row_vec, struct unwind_builder_row);

struct function_analysis {
	struct code_range code;
	struct place *places; /* one for each byte of the longest function so far */
	size_t n_places;
	struct way_vec ways; /* offsets of instructions that are still to be followed */
	struct rule_row_vec rows;
};

int function_analysis_new(const struct code_range *code, struct function_analysis **ret_frames)
{
	struct function_analysis *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	frames->code = *code;
	*ret_frames = frames;
	return 0;
}

struct function_analysis *function_analysis_free(struct function_analysis *frames)
{
	if (!frames)
		return NULL;
	free(frames->places);
	vec_release(&frames->ways);
	vec_release(&frames->rows);
	free(frames);
	return NULL;
}

const struct unwind_builder_row *function_analysis_rows(const struct function_analysis *frames,
							size_t *ret_count)
{
	*ret_count = frames->rows.count;
	return frames->rows.items;
}

static bool is_in_code(const struct function_analysis *frames, uint64_t address)
{
	return address >= frames->code.vaddr &&
	       address - frames->code.vaddr < frames->code.bytes.size;
}

/*
 * ---- paths through a function ------------------------------------------------------------------
 */

struct walk {
	struct function_analysis *frames;
	struct code_address_vec *found;
	uint64_t start;
	uint32_t size; /* from the start to the end of the function */
	/* at the first jump by a register: the state at the cases of a switch */
	struct frame_state at_jump;
	bool has_switch;
};

static int reach(struct walk *walk, uint64_t offset, const struct frame_state *state,
		 enum sureness sureness)
{
	struct place *place = &walk->frames->places[offset];

	if (offset >= walk->size || place->sureness >= sureness)
		return 0;
	place->state = *state;
	place->sureness = (uint8_t)sureness;
	return vec_push(&walk->frames->ways, (uint32_t)offset);
}

/* Also addresses within the function, because its end may be unknown. */
static int note_address(struct walk *walk, uint64_t address)
{
	if (!is_in_code(walk->frames, address) || address == walk->start)
		return 0;
	return vec_push(walk->found, address);
}

/* Follows jumps and notes addresses. 1: the next instruction is reached; 0: it is not; -ENOMEM. */
static int branch(struct walk *walk, const struct x86_instruction *instruction,
		  const struct frame_state *behind)
{
	uint64_t target = instruction->target - walk->start;
	int r = 0;

	switch (instruction->effect) {
	case X86_JUMP:
	case X86_JUMP_IF:
		if (target < walk->size)
			r = reach(walk, target, behind, REACHED);
		else
			r = note_address(walk, instruction->target);
		return r < 0 ? r : instruction->effect == X86_JUMP_IF;
	case X86_JUMP_INDIRECT:
		if (!walk->has_switch)
			walk->at_jump = *behind;
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
static int follow_way(struct walk *walk, uint32_t offset)
{
	struct function_analysis *frames = walk->frames;
	struct bytes_view code = frames->code.bytes;
	size_t into_code = (size_t)(walk->start - frames->code.vaddr) + offset;
	struct place *place = &frames->places[offset];
	struct x86_instruction instruction;
	enum sureness sureness = place->sureness;
	struct frame_state behind;
	int r;

	if (!x86_decode((struct bytes_view){ code.data + into_code, walk->size - offset },
			walk->start + offset, &instruction)) {
		place->sureness = UNREACHED;
		return 0;
	}
	place->length = instruction.length;
	behind = place->state;
	frame_state_apply(&behind, &instruction);
	r = branch(walk, &instruction, &behind);
	if (r <= 0)
		return r;
	if (instruction.effect == X86_CALL || instruction.effect == X86_CALL_INDIRECT)
		sureness = BEHIND_CALL;
	return reach(walk, offset + instruction.length, &behind, sureness);
}

static int follow_ways(struct walk *walk)
{
	struct way_vec *ways = &walk->frames->ways;
	int r = 0;

	while (r == 0 && ways->count > 0)
		r = follow_way(walk, ways->items[--ways->count]);
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
		const struct place *place = &walk->frames->places[offset];

		if (place->sureness == UNREACHED) {
			r = reach(walk, offset, &walk->at_jump, BEHIND_CALL);
			if (r == 0)
				r = follow_ways(walk);
		}
		offset += MAX((uint32_t)place->length, 1u);
	}
	return r;
}

/*
 * ---- rows --------------------------------------------------------------------------------------
 */

static struct abi_unwind_rule rule_of(const struct place *place)
{
	if (place->sureness == UNREACHED)
		return (struct abi_unwind_rule){ .cfa = UNWIND_CFA_NONE };
	return frame_state_rule(&place->state);
}

static int add_row(struct function_analysis *frames, uint64_t address,
		   const struct abi_unwind_rule *rule)
{
	const struct rule_row_vec *rows = &frames->rows;

	if (rows->count > 0 && memcmp(&rows->items[rows->count - 1].rule, rule, sizeof(*rule)) == 0)
		return 0;
	return vec_push(&frames->rows,
			(struct unwind_builder_row){ .start = address, .rule = *rule });
}

/* Makes rows up to the end of the last instruction that is reached. */
static int make_rows(struct walk *walk, uint64_t *ret_end)
{
	uint32_t offset = 0;
	int r = 0;

	*ret_end = walk->start;
	while (r == 0 && offset < walk->size) {
		const struct place *place = &walk->frames->places[offset];
		struct abi_unwind_rule rule = rule_of(place);

		r = add_row(walk->frames, walk->start + offset, &rule);
		offset += MAX((uint32_t)place->length, 1u);
		if (place->sureness != UNREACHED)
			*ret_end = walk->start + MIN(offset, walk->size);
	}
	while (walk->frames->rows.count > 0 &&
	       walk->frames->rows.items[walk->frames->rows.count - 1].start >= *ret_end)
		walk->frames->rows.count--;
	return r;
}

static int make_places(struct function_analysis *frames, size_t n_places)
{
	if (n_places > frames->n_places) {
		struct place *places = realloc(frames->places, n_places * sizeof(*places));

		if (!places)
			return -ENOMEM;
		frames->places = places;
		frames->n_places = n_places;
	}
	memset(frames->places, 0, n_places * sizeof(*frames->places));
	return 0;
}

int function_analysis_run(struct function_analysis *frames, uint64_t start, uint64_t end,
			  struct code_address_vec *found, uint64_t *ret_end)
{
	const struct frame_state at_entry = FRAME_STATE_AT_ENTRY;
	struct walk walk = { .frames = frames, .found = found, .start = start };
	uint64_t code_end = frames->code.vaddr + frames->code.bytes.size;
	int r;

	vec_clear(&frames->rows);
	vec_clear(&frames->ways);
	end = MIN(end, code_end);
	if (!is_in_code(frames, start) || end <= start || end - start > MAX_FUNCTION_BYTES)
		return 0;
	walk.size = (uint32_t)(end - start);
	r = make_places(frames, walk.size);
	if (r == 0)
		r = reach(&walk, 0, &at_entry, REACHED);
	if (r == 0)
		r = follow_ways(&walk);
	if (r == 0)
		r = follow_cases(&walk);
	if (r == 0)
		r = make_rows(&walk, ret_end);
	return r < 0 ? r : *ret_end > start;
}
