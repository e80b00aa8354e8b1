/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_code/gap_analysis.h"

#include "agent/unwind/x86_code/gap_trial.h"
#include "common/scoped.h"

#define FUNCTION_ALIGNMENT 16

/* Maximum number of decoded instructions per byte of code. An instruction has 3 to 4 bytes. */
#define STEPS_PER_BYTE 2

/* Cases of a switch are after the jump that leads to them, within this distance. */
#define MAX_SWITCH_BYTES ((uint32_t)(16 * KIB))

int gap_analysis_new(struct gap_analysis **ret_analysis)
{
	scoped(gap_analysis_freep) struct gap_analysis *analysis = calloc(1, sizeof(*analysis));

	if (!analysis)
		return -ENOMEM;
	analysis->bytes = malloc(GAP_ANALYSIS_MAX_BYTES * sizeof(*analysis->bytes));
	if (!analysis->bytes)
		return -ENOMEM;
	*ret_analysis = take_ptr(analysis);
	return 0;
}

struct gap_analysis *gap_analysis_free(struct gap_analysis *analysis)
{
	if (!analysis)
		return NULL;
	free(analysis->bytes);
	frame_state_set_release(&analysis->states);
	vec_release(&analysis->changes);
	vec_release(&analysis->paths);
	vec_release(&analysis->after_calls);
	vec_release(&analysis->new_switches);
	vec_release(&analysis->called);
	vec_release(&analysis->switches);
	vec_release(&analysis->rows);
	free(analysis);
	return NULL;
}

int gap_analysis_begin(struct gap_analysis *analysis, const struct code_range *code)
{
	if (code->bytes.size > GAP_ANALYSIS_MAX_BYTES)
		return -E2BIG;
	analysis->code = *code;
	analysis->size = (uint32_t)code->bytes.size;
	analysis->steps_left = (uint64_t)analysis->size * STEPS_PER_BYTE;
	memset(analysis->bytes, 0, analysis->size * sizeof(*analysis->bytes));
	vec_clear(&analysis->called);
	vec_clear(&analysis->switches);
	return frame_state_set_reset(&analysis->states);
}

static int try_called(struct gap_analysis *analysis)
{
	struct code_offset_vec *called = &analysis->called;
	int r = 0;

	while (r >= 0 && called->count > 0)
		r = gap_trial_function(analysis, called->items[--called->count], false);
	return MIN(r, 0);
}

int gap_analysis_try(struct gap_analysis *analysis, uint64_t start)
{
	uint64_t offset = start - analysis->code.vaddr;
	int accepted, r;

	if (offset >= analysis->size)
		return 0;
	accepted = gap_trial_function(analysis, (uint32_t)offset, false);
	if (accepted < 0)
		return accepted;
	r = try_called(analysis);
	return r < 0 ? r : accepted;
}

/* ---- code that nothing refers to ------------------------------------------------------------- */

/*
 * Functions are padded with forms of nop, int3 or zeros. Returns the size of one of these at
 * @offset, 0 if it is something else.
 */
static uint32_t padding_at(const struct gap_analysis *analysis, uint32_t offset)
{
	struct bytes_view code = { analysis->code.bytes.data + offset, analysis->size - offset };
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

/*
 * Tries the unreached code after the switch as its cases, up to the next function, or to the first
 * one that is rejected.
 */
static int try_cases(struct gap_analysis *analysis, struct code_position from)
{
	uint32_t offset = from.offset + MAX(analysis->bytes[from.offset].length, 1u);
	uint32_t end = MIN(analysis->size, from.offset + MAX_SWITCH_BYTES);

	while (offset < end && !(analysis->bytes[offset].reached & BYTE_IS_ENTRY) &&
	       analysis->steps_left > 0) {
		const struct code_byte *byte = &analysis->bytes[offset];
		uint32_t padding = byte->reached == UNREACHED ? padding_at(analysis, offset) : 0;

		if (byte->reached == UNREACHED && padding == 0) {
			int r = gap_trial_case(analysis, offset, from.state);

			if (r < 0)
				return r;
			if (byte->reached == UNREACHED)
				break;
		}
		offset += padding > 0 ? padding : MAX(byte->length, 1u);
		/* The search counts too: a range may consist of jumps. */
		analysis->steps_left -= MIN(analysis->steps_left, 1u);
	}
	return 0;
}

static int try_all_cases(struct gap_analysis *analysis)
{
	/* Cases may contain switches, which are appended while this runs. */
	for (size_t i = 0; i < analysis->switches.count; i++) {
		int r = try_cases(analysis, analysis->switches.items[i]);

		if (r < 0)
			return r;
	}
	vec_clear(&analysis->switches);
	return try_called(analysis);
}

/* The end of the unreached code that begins at @offset. */
static uint32_t end_of_unreached(const struct gap_analysis *analysis, uint32_t offset)
{
	while (offset < analysis->size && analysis->bytes[offset].reached == UNREACHED)
		offset++;
	return offset;
}

/*
 * The next address, from @offset on, at which a function may begin: after an accepted function and
 * padding, at a multiple of 16. Code farther from accepted functions may be data, in which a
 * function can always be found.
 */
static uint32_t next_guess(const struct gap_analysis *analysis, uint32_t offset)
{
	while (offset < analysis->size) {
		const struct code_byte *byte = &analysis->bytes[offset];
		uint32_t padding = byte->reached == UNREACHED ? padding_at(analysis, offset) : 0;

		if (byte->reached != UNREACHED)
			offset += MAX(byte->length, 1u);
		else if (padding > 0)
			offset += padding;
		else if ((analysis->code.vaddr + offset) % FUNCTION_ALIGNMENT == 0)
			break;
		else
			offset = end_of_unreached(analysis, offset);
	}
	return MIN(offset, analysis->size);
}

int gap_analysis_complete(struct gap_analysis *analysis)
{
	uint32_t offset;
	int r = try_all_cases(analysis);

	for (offset = next_guess(analysis, 0);
	     r >= 0 && offset < analysis->size && analysis->steps_left > 0;
	     offset = next_guess(analysis, offset)) {
		r = gap_trial_function(analysis, offset, true);
		if (r == 0)
			offset = end_of_unreached(analysis, offset);
		else if (r > 0)
			r = try_all_cases(analysis);
	}
	return MIN(r, 0);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int add_row(struct gap_analysis *analysis, uint32_t offset,
		   const struct abi_unwind_rule *rule)
{
	const struct gap_row_vec *rows = &analysis->rows;
	struct unwind_builder_row row = { .start = analysis->code.vaddr + offset, .rule = *rule };

	if (rows->count > 0 && memcmp(&rows->items[rows->count - 1].rule, rule, sizeof(*rule)) == 0)
		return 0;
	return vec_push(&analysis->rows, row);
}

/* Padding between functions gets no row: the previous row continues there. */
static bool is_padding(const struct gap_analysis *analysis, uint32_t start, uint32_t end)
{
	return start > 0 && end < analysis->size && end - start < FUNCTION_ALIGNMENT &&
	       (analysis->code.vaddr + end) % FUNCTION_ALIGNMENT == 0;
}

int gap_analysis_rows(struct gap_analysis *analysis, const struct unwind_builder_row **ret_rows,
		      size_t *ret_count)
{
	static const struct abi_unwind_rule none = { .cfa = UNWIND_CFA_NONE };
	uint32_t offset = 0;
	int r = 0;

	vec_clear(&analysis->rows);
	while (r == 0 && offset < analysis->size) {
		const struct code_byte *byte = &analysis->bytes[offset];
		struct abi_unwind_rule rule;
		uint32_t end;

		if (byte->reached == UNREACHED) {
			end = end_of_unreached(analysis, offset);
			if (!is_padding(analysis, offset, end))
				r = add_row(analysis, offset, &none);
			offset = end;
			continue;
		}
		rule = frame_state_rule(&analysis->states.items[byte->state]);
		r = add_row(analysis, offset, &rule);
		offset += MAX(byte->length, 1u);
	}
	*ret_rows = analysis->rows.items;
	*ret_count = analysis->rows.count;
	return r;
}
