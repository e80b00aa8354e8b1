/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/gap_code.h"

#include "agent/unwind/code_state_set.h"
#include "common/scoped.h"

/*
 * A trial writes down what it changes, so that it can be undone. What comes behind a call may never
 * be reached: it is followed after all else, each call's continuation as a trial within the trial.
 */

#define FUNCTION_ALIGNMENT 16

/* Instructions that are looked at for each byte of code: one in three or four is one, once. */
#define STEPS_PER_BYTE 2

/* Functions with switches, of one piece. dav1d has 400 in all. */
#define MAX_SWITCHES 4096

/* The only form that compilers and assemblers write. */
#define PUSH_RBP 0x55

/* Cases stand behind the jump that leads to them. */
#define MAX_SWITCH_BYTES ((uint32_t)(16 * KIB))

enum sureness {
	UNREACHED = 0,
	BEHIND_CALL = 1,
	REACHED = 2,
};

/* Of a function that has been believed, and where one begins. */
#define BELIEVED 4
#define ENTRY    8

struct place {
	uint16_t state;
	uint8_t length;
	uint8_t sureness; /* enum sureness, with BELIEVED, ENTRY */
};

static_assert(sizeof(struct place) == 4, "one for each byte of code");

struct change {
	uint32_t offset;
	struct place before;
};

/* A place that is to be gone on from, and the state there. */
struct onward {
	uint32_t offset;
	uint16_t state;
};

VEC_DEFINE(change_vec, struct change);
VEC_DEFINE(onward_vec, struct onward);
VEC_DEFINE(offset_vec, uint32_t);
VEC_DEFINE(gap_row_vec, struct unwind_builder_row);

/* What a trial finds. */
struct findings {
	bool is_contradicted;
	bool is_proved;
	bool is_doubtful; /* a way ends where nothing can be said */
};

struct gap_code {
	struct code_range code;
	uint32_t size;
	struct place *places;
	struct code_state_set states;
	uint64_t steps_left;
	/* of the trial */
	struct change_vec changes;
	struct offset_vec ways;
	struct onward_vec behind_calls;
	struct onward_vec new_switches;
	struct findings findings;
	enum sureness sureness;
	/* of all */
	struct offset_vec called; /* functions to try */
	struct onward_vec switches;
	struct gap_row_vec rows;
};

int gap_code_new(struct gap_code **ret_gap)
{
	scoped(gap_code_freep) struct gap_code *gap = calloc(1, sizeof(*gap));

	if (!gap)
		return -ENOMEM;
	gap->places = malloc(GAP_CODE_MAX_BYTES * sizeof(*gap->places));
	if (!gap->places)
		return -ENOMEM;
	*ret_gap = take_ptr(gap);
	return 0;
}

struct gap_code *gap_code_free(struct gap_code *gap)
{
	if (!gap)
		return NULL;
	free(gap->places);
	code_state_set_release(&gap->states);
	vec_release(&gap->changes);
	vec_release(&gap->ways);
	vec_release(&gap->behind_calls);
	vec_release(&gap->new_switches);
	vec_release(&gap->called);
	vec_release(&gap->switches);
	vec_release(&gap->rows);
	free(gap);
	return NULL;
}

int gap_code_begin(struct gap_code *gap, const struct code_range *code)
{
	if (code->bytes.size > GAP_CODE_MAX_BYTES)
		return -E2BIG;
	gap->code = *code;
	gap->size = (uint32_t)code->bytes.size;
	gap->steps_left = (uint64_t)gap->size * STEPS_PER_BYTE;
	memset(gap->places, 0, gap->size * sizeof(*gap->places));
	vec_clear(&gap->called);
	vec_clear(&gap->switches);
	return code_state_set_reset(&gap->states);
}

/*
 * ---- ways ---------------------------------------------------------------------------------------
 * ------------
 */

static enum sureness sureness_of(const struct place *place)
{
	return (enum sureness)(place->sureness & ~(BELIEVED | ENTRY));
}

static bool rules_are_equal(const struct gap_code *gap, uint16_t left, uint16_t right)
{
	struct abi_unwind_rule a = code_state_rule(&gap->states.items[left]);
	struct abi_unwind_rule b = code_state_rule(&gap->states.items[right]);

	return a.cfa == b.cfa && a.cfa_offset == b.cfa_offset && a.cfa_register == b.cfa_register;
}

static int set_place(struct gap_code *gap, uint32_t offset, struct place place)
{
	int r = vec_push(&gap->changes,
			 (struct change){ .offset = offset, .before = gap->places[offset] });

	if (r == 0)
		gap->places[offset] = place;
	return r;
}

/* What is there already is the same, or one of the two is wrong. */
static void meet(struct gap_code *gap, const struct place *place, uint16_t state)
{
	if (place->state == state || rules_are_equal(gap, place->state, state))
		gap->findings.is_proved |= (place->sureness & BELIEVED) != 0;
	else if (gap->sureness == REACHED && sureness_of(place) == REACHED)
		gap->findings.is_contradicted = true;
	else
		gap->findings.is_doubtful = true;
}

static int reach(struct gap_code *gap, uint32_t offset, uint16_t state)
{
	const struct place *place = &gap->places[offset];
	struct place reached = { .state = state, .sureness = (uint8_t)gap->sureness };
	int r;

	if (place->sureness != UNREACHED) {
		bool is_surer = sureness_of(place) < gap->sureness && place->state != state;

		if (!is_surer || rules_are_equal(gap, place->state, state)) {
			meet(gap, place, state);
			return 0;
		}
	}
	r = set_place(gap, offset, reached);
	return r < 0 ? r : vec_push(&gap->ways, offset);
}

/* A jump that leaves the piece: the end of a function, if it leaves nothing behind on the stack. */
static void leave_piece(struct gap_code *gap, const struct code_state *state,
			enum x86_effect effect)
{
	if (state->sp_is_known && state->sp_delta == 0)
		gap->findings.is_proved |= effect == X86_JUMP;
	else
		gap->findings.is_doubtful = true;
}

static void end_by_return(struct gap_code *gap, const struct code_state *state)
{
	if (state->sp_is_known && state->sp_delta == 0)
		gap->findings.is_proved = true;
	else if (state->sp_is_known || state->sp_is_aligned)
		gap->findings.is_contradicted = true;
	else
		gap->findings.is_doubtful = true;
}

static int follow_jump(struct gap_code *gap, const struct x86_instruction *instruction,
		       uint16_t state)
{
	uint64_t target = instruction->target - gap->code.vaddr;

	if (target < gap->size)
		return reach(gap, (uint32_t)target, state);
	leave_piece(gap, &gap->states.items[state], instruction->effect);
	return 0;
}

static int note_call(struct gap_code *gap, const struct x86_instruction *instruction)
{
	uint64_t target = instruction->target - gap->code.vaddr;

	if (target >= gap->size || sureness_of(&gap->places[target]) == REACHED)
		return 0;
	return vec_push(&gap->called, (uint32_t)target);
}

/* 1: control goes on behind it; 0 not; 2: once a function that is called has returned. */
static int branch(struct gap_code *gap, const struct x86_instruction *instruction, uint32_t offset,
		  uint16_t state)
{
	int r = 0;

	switch (instruction->effect) {
	case X86_JUMP:
	case X86_JUMP_IF:
		r = follow_jump(gap, instruction, state);
		return r < 0 ? r : instruction->effect == X86_JUMP_IF;
	case X86_JUMP_INDIRECT:
		return vec_push(&gap->new_switches,
				(struct onward){ .offset = offset, .state = state });
	case X86_CALL:
		r = note_call(gap, instruction);
		return r < 0 ? r : 2;
	case X86_CALL_INDIRECT:
		return 2;
	case X86_RETURN:
		end_by_return(gap, &gap->states.items[state]);
		return 0;
	case X86_STOP:
		return 0;
	default:
		return 1;
	}
}

/*
 * "push rbp; mov rbp, rsp" begins a function: the return address is beside the saved rbp. Whoever
 * comes there with more on the stack has put a return address of its own there, as V8's builtins do
 * for those that they go on with.
 */
static bool is_frame_begun_late(const struct gap_code *gap, uint32_t offset,
				const struct code_state *before,
				const struct x86_instruction *instruction)
{
	return instruction->effect == X86_FP_FROM_SP && instruction->value == 0 &&
	       before->sp_is_known && before->sp_delta != 8 && offset > 0 &&
	       gap->code.bytes.data[offset - 1] == PUSH_RBP;
}

/* The number of the state behind the instruction. 1; 0: there are too many. */
static int state_behind(struct gap_code *gap, uint32_t offset,
			const struct x86_instruction *instruction, uint16_t *ret_state)
{
	const uint16_t before = gap->places[offset].state;
	struct code_state state = gap->states.items[before];

	*ret_state = before;
	if (instruction->effect == X86_PLAIN && instruction->written == X86_NO_REGISTER)
		return 1;
	gap->findings.is_contradicted |= is_frame_begun_late(gap, offset, &state, instruction);
	code_state_apply(&state, instruction);
	/* Nothing is below its own return address. */
	gap->findings.is_contradicted |=
		state.sp_is_known && state.sp_delta < 0 && instruction->effect != X86_RETURN;
	return code_state_set_intern(&gap->states, &state, ret_state);
}

static int follow_way(struct gap_code *gap, uint32_t offset)
{
	struct place *place = &gap->places[offset];
	struct bytes_view code = { gap->code.bytes.data + offset, gap->size - offset };
	struct x86_instruction instruction;
	uint16_t state;
	uint32_t next;
	int r;

	if (gap->steps_left == 0 || !x86_decode(code, gap->code.vaddr + offset, &instruction)) {
		gap->findings.is_doubtful = true;
		place->sureness = UNREACHED;
		return 0;
	}
	gap->steps_left--;
	place->length = instruction.length;
	r = state_behind(gap, offset, &instruction, &state);
	if (r <= 0) {
		gap->findings.is_contradicted |= r == 0;
		return r;
	}
	r = branch(gap, &instruction, offset, state);
	if (r <= 0)
		return r;
	next = offset + instruction.length;
	if (next >= gap->size) {
		gap->findings.is_doubtful = true;
		return 0;
	}
	if (r == 1)
		return reach(gap, next, state);
	return vec_push(&gap->behind_calls, (struct onward){ .offset = next, .state = state });
}

/*
 * ---- trials
 * -------------------------------------------------------------------------------------------------
 */

static void undo(struct gap_code *gap, size_t n_changes)
{
	while (gap->changes.count > n_changes) {
		const struct change *change = &gap->changes.items[--gap->changes.count];

		gap->places[change->offset] = change->before;
	}
}

/* All ways from one place, up to calls. */
static int follow(struct gap_code *gap, struct onward from, enum sureness sureness)
{
	int r;

	gap->sureness = sureness;
	vec_clear(&gap->ways);
	r = reach(gap, from.offset, from.state);
	while (r >= 0 && gap->ways.count > 0 && !gap->findings.is_contradicted)
		r = follow_way(gap, gap->ways.items[--gap->ways.count]);
	return r < 0 ? r : 0;
}

/*
 * As follow(), but what contradicts itself is undone: nobody comes there, as behind a call that
 * never returns.
 */
static int follow_perhaps(struct gap_code *gap, struct onward from)
{
	struct findings before = gap->findings;
	size_t n_changes = gap->changes.count;
	size_t n_calls = gap->behind_calls.count;
	size_t n_switches = gap->new_switches.count;
	int r = follow(gap, from, BEHIND_CALL);

	if (r < 0 || !gap->findings.is_contradicted)
		return r;
	undo(gap, n_changes);
	gap->behind_calls.count = n_calls;
	gap->new_switches.count = n_switches;
	gap->findings = before;
	gap->findings.is_doubtful = true;
	return 0;
}

static int follow_behind_calls(struct gap_code *gap)
{
	int r = 0;

	while (r == 0 && gap->behind_calls.count > 0 && !gap->findings.is_contradicted)
		r = follow_perhaps(gap, gap->behind_calls.items[--gap->behind_calls.count]);
	return r;
}

/*
 * A function may end in nothing but a switch, whose first case stands behind the jump: that has to
 * return, then, as a function does.
 */
static int follow_first_cases(struct gap_code *gap)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < gap->new_switches.count && !gap->findings.is_proved; i++) {
		struct onward first_case = gap->new_switches.items[i];

		first_case.offset += gap->places[first_case.offset].length;
		if (first_case.offset >= gap->size ||
		    gap->places[first_case.offset].sureness != UNREACHED)
			continue;
		r = follow_perhaps(gap, first_case);
		if (r == 0)
			r = follow_behind_calls(gap);
	}
	return r;
}

static int believe(struct gap_code *gap)
{
	int r = 0;

	for (size_t i = 0; i < gap->changes.count; i++)
		gap->places[gap->changes.items[i].offset].sureness |= BELIEVED;
	for (size_t i = 0; r == 0 && i < gap->new_switches.count; i++)
		if (gap->switches.count < MAX_SWITCHES)
			r = vec_push(&gap->switches, gap->new_switches.items[i]);
	return r;
}

static void begin_trial(struct gap_code *gap)
{
	vec_clear(&gap->changes);
	vec_clear(&gap->behind_calls);
	vec_clear(&gap->new_switches);
	gap->findings = (struct findings){};
}

static int try_at(struct gap_code *gap, uint32_t offset, bool is_guess)
{
	const struct code_state at_entry = CODE_STATE_AT_ENTRY;
	struct onward entry = { .offset = offset };
	size_t n_called = gap->called.count;
	int r;

	if (sureness_of(&gap->places[offset]) == REACHED)
		return (gap->places[offset].sureness & BELIEVED) != 0;
	r = code_state_set_intern(&gap->states, &at_entry, &entry.state);
	if (r <= 0)
		return r;
	begin_trial(gap);
	r = follow(gap, entry, REACHED);
	if (r == 0)
		r = follow_behind_calls(gap);
	if (r == 0 && !gap->findings.is_contradicted)
		r = follow_first_cases(gap);
	if (r < 0)
		return r;
	if (gap->findings.is_contradicted || !gap->findings.is_proved ||
	    (is_guess && gap->findings.is_doubtful)) {
		undo(gap, 0);
		gap->called.count = n_called;
		return 0;
	}
	gap->places[offset].sureness |= ENTRY;
	r = believe(gap);
	return r < 0 ? r : 1;
}

static int try_called(struct gap_code *gap)
{
	int r = 0;

	while (r >= 0 && gap->called.count > 0)
		r = try_at(gap, gap->called.items[--gap->called.count], false);
	return r < 0 ? r : 0;
}

int gap_code_try(struct gap_code *gap, uint64_t start)
{
	uint64_t offset = start - gap->code.vaddr;
	int called, r;

	if (offset >= gap->size)
		return 0;
	r = try_at(gap, (uint32_t)offset, false);
	called = r < 0 ? r : try_called(gap);
	return called < 0 ? called : r;
}

/*
 * ---- what nothing leads to
 * ----------------------------------------------------------------------------------
 */

/*
 * What fills up to the next function: nop in its forms, int3, zeros. The bytes of one; 0: it is
 * something else.
 */
static uint32_t padding_at(const struct gap_code *gap, uint32_t offset)
{
	struct bytes_view code = { gap->code.bytes.data + offset, gap->size - offset };
	struct x86_instruction instruction;
	size_t opcode = 0;

	if (code.data[0] == 0x90 || code.data[0] == 0xcc || code.data[0] == 0)
		return 1;
	while (opcode + 1 < code.size && (code.data[opcode] == 0x66 || code.data[opcode] == 0x2e))
		opcode++;
	if (opcode + 1 >= code.size)
		return 0;
	if (code.data[opcode] != 0x90 &&
	    (code.data[opcode] != 0x0f || code.data[opcode + 1] != 0x1f))
		return 0;
	return x86_decode(code, 0, &instruction) ? instruction.length : 0;
}

/* A case of the switch, believed as long as it does not contradict itself. */
static int try_case(struct gap_code *gap, uint32_t offset, uint16_t state)
{
	int r;

	begin_trial(gap);
	r = follow_perhaps(gap, (struct onward){ .offset = offset, .state = state });
	if (r == 0)
		r = follow_behind_calls(gap);
	if (r == 0 && !gap->findings.is_proved)
		undo(gap, 0);
	else if (r == 0)
		r = believe(gap);
	return r;
}

/*
 * Cases stand where nothing else leads, up to the next function; the first that is none is the
 * last.
 */
static int try_cases(struct gap_code *gap, struct onward from)
{
	uint32_t offset = from.offset + MAX(gap->places[from.offset].length, 1u);
	uint32_t end = MIN(gap->size, from.offset + MAX_SWITCH_BYTES);
	int r = 0;

	while (r == 0 && offset < end && !(gap->places[offset].sureness & ENTRY) &&
	       gap->steps_left > 0) {
		bool is_unreached = gap->places[offset].sureness == UNREACHED;
		uint32_t padding = is_unreached ? padding_at(gap, offset) : 0;

		if (is_unreached && padding == 0)
			r = try_case(gap, offset, from.state);
		if (is_unreached && padding == 0 && gap->places[offset].sureness == UNREACHED)
			break;
		offset += padding > 0 ? padding : MAX(gap->places[offset].length, 1u);
		/* Looking for cases is work, too: a piece may be all jumps. */
		gap->steps_left -= MIN(gap->steps_left, 1u);
	}
	return r;
}

static int try_all_cases(struct gap_code *gap)
{
	int r = 0;

	/* Cases may hold switches of their own, which come behind. */
	for (size_t i = 0; r == 0 && i < gap->switches.count; i++)
		r = try_cases(gap, gap->switches.items[i]);
	vec_clear(&gap->switches);
	return r == 0 ? try_called(gap) : r;
}

/* The end of what is not reached from @offset on. */
static uint32_t end_of_unreached(const struct gap_code *gap, uint32_t offset)
{
	while (offset < gap->size && gap->places[offset].sureness == UNREACHED)
		offset++;
	return offset;
}

/*
 * Where a function may begin, at @offset or later: where another one ends, but for padding. What is
 * farther from code that is believed may be data, in which something can always be found.
 */
static uint32_t next_guess(const struct gap_code *gap, uint32_t offset)
{
	while (offset < gap->size) {
		const struct place *place = &gap->places[offset];
		uint32_t padding = place->sureness == UNREACHED ? padding_at(gap, offset) : 0;

		if (place->sureness != UNREACHED)
			offset += MAX(place->length, 1u);
		else if (padding > 0)
			offset += padding;
		else if ((gap->code.vaddr + offset) % FUNCTION_ALIGNMENT == 0)
			break;
		else
			offset = end_of_unreached(gap, offset);
	}
	return MIN(offset, gap->size);
}

int gap_code_complete(struct gap_code *gap)
{
	uint32_t offset;
	int r = try_all_cases(gap);

	for (offset = next_guess(gap, 0); r >= 0 && offset < gap->size && gap->steps_left > 0;
	     offset = next_guess(gap, offset)) {
		r = try_at(gap, offset, true);
		if (r == 0)
			offset = end_of_unreached(gap, offset);
		else if (r > 0)
			r = try_all_cases(gap);
	}
	return r < 0 ? r : 0;
}

/*
 * ---- rows ---------------------------------------------------------------------------------------
 * ------------
 */

static int add_row(struct gap_code *gap, uint32_t offset, const struct abi_unwind_rule *rule)
{
	const struct gap_row_vec *rows = &gap->rows;
	struct unwind_builder_row row = { .start = gap->code.vaddr + offset, .rule = *rule };

	if (rows->count > 0 && memcmp(&rows->items[rows->count - 1].rule, rule, sizeof(*rule)) == 0)
		return 0;
	return vec_push(&gap->rows, row);
}

/* Padding between functions has no row: whatever is before it goes on. */
static bool is_padding(const struct gap_code *gap, uint32_t start, uint32_t end)
{
	return start > 0 && end < gap->size && end - start < FUNCTION_ALIGNMENT &&
	       (gap->code.vaddr + end) % FUNCTION_ALIGNMENT == 0;
}

int gap_code_rows(struct gap_code *gap, const struct unwind_builder_row **ret_rows,
		  size_t *ret_count)
{
	static const struct abi_unwind_rule none = { .cfa = UNWIND_CFA_NONE };
	uint32_t offset = 0;
	int r = 0;

	vec_clear(&gap->rows);
	while (r == 0 && offset < gap->size) {
		const struct place *place = &gap->places[offset];
		struct abi_unwind_rule rule;
		uint32_t end;

		if (place->sureness == UNREACHED) {
			end = end_of_unreached(gap, offset);
			if (!is_padding(gap, offset, end))
				r = add_row(gap, offset, &none);
			offset = end;
			continue;
		}
		rule = code_state_rule(&gap->states.items[place->state]);
		r = add_row(gap, offset, &rule);
		offset += MAX(place->length, 1u);
	}
	*ret_rows = gap->rows.items;
	*ret_count = gap->rows.count;
	return r;
}
