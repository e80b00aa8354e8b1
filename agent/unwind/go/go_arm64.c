/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arm64. In a function with a frame of N bytes, the return address is at the bottom of the frame,
 * CFA - N. The caller's frame pointer is 8 bytes below it, and x29 points to that. In a function
 * without a frame, the return address is in the link register:
 *
 *   str x30,[sp,#-N]!; stur x29,[sp,#-8]; sub x29,sp,#8
 *
 * A function that switches to another stack has a frame as well, which is found by x29.
 */
#include "agent/unwind/go/go_frames.h"

#include "agent/unwind/file/elf_code.h"

/*
 * In smaller frames, the instruction that saves the return address moves the stack pointer. In
 * larger ones, the stack pointer is moved after that.
 */
#define SMALL_FRAME_BYTES 0xf0

#define INSTRUCTION_BYTES 4

/* str x30,[sp,#imm9]! */
#define STORE_LINK_MASK 0xffe00fffu
#define STORE_LINK      0xf8000ffeu

static struct abi_unwind_rule rule_of(int32_t delta, bool fp_is_saved)
{
	struct abi_unwind_rule rule = { .cfa = UNWIND_CFA_SP, .rbx_offset = UNWIND_RBX_LOST };

	if (delta < 0 || delta > INT32_MAX - 8)
		return (struct abi_unwind_rule){ .cfa = UNWIND_CFA_NONE };
	rule.cfa_offset = delta;
	if (delta == 0)
		return rule;
	rule.ra = UNWIND_SAVED_CFA;
	rule.ra_offset = (int16_t)-delta;
	if (!fp_is_saved)
		return rule;
	rule.fp = UNWIND_SAVED_CFA;
	rule.fp_offset = -delta - 8;
	if (rule.ra_offset != -delta) {
		rule.ra = UNWIND_SAVED_BESIDE_FP;
		rule.ra_offset = 0;
	}
	return rule;
}

static int saves_link(const struct go_frames *frames, const struct go_frame *frame, bool *ret_saves)
{
	uint32_t instruction = 0;
	ssize_t n = 0;

	*ret_saves = !frame->is_asm;
	if (!frame->is_asm || !frames->elf || frame->first_push == 0)
		return 0;
	n = elf_code_read(frames->elf, frame->first_push - INSTRUCTION_BYTES, &instruction,
			  sizeof(instruction));
	/* A large frame is made by several instructions, and no hand-written function has one. */
	*ret_saves = frame->first_delta >= SMALL_FRAME_BYTES ||
		     (n == sizeof(instruction) && (instruction & STORE_LINK_MASK) == STORE_LINK);
	return n == -ENODATA ? -ENODATA : 0;
}

/* Adds a row for the instruction at which the frame pointer is not saved yet. */
static int delay_fp(struct go_row_vec *rows, const struct go_frame *frame)
{
	struct unwind_builder_row row;
	size_t at = 0;
	int r;

	if (frame->first_push == 0 || frame->first_delta >= SMALL_FRAME_BYTES)
		return 0;
	while (at < rows->count && rows->items[at].start < frame->first_push)
		at++;
	row = rows->items[at];
	row.start += INSTRUCTION_BYTES;
	if (row.start >= (at + 1 < rows->count ? rows->items[at + 1].start : frame->end))
		return 0;
	r = vec_reserve(rows, 1);
	if (r < 0)
		return r;
	memmove(&rows->items[at + 2], &rows->items[at + 1],
		(rows->count - at - 1) * sizeof(*rows->items));
	rows->items[at + 1] = row;
	rows->count++;
	return 0;
}

static void make_rules(struct go_row_vec *rows, const struct go_frame *frame, bool has_usual_frame)
{
	uint64_t saved_from = frame->first_push;

	if (frame->first_delta < SMALL_FRAME_BYTES)
		saved_from += INSTRUCTION_BYTES;
	for (size_t i = 0; i < rows->count; i++) {
		struct abi_unwind_rule *rule = &rows->items[i].rule;

		if (rule->cfa_offset > 0 && !has_usual_frame)
			*rule = (struct abi_unwind_rule){ .cfa = UNWIND_CFA_NONE };
		else
			*rule = rule_of(rule->cfa_offset, rows->items[i].start >= saved_from);
		if (frame->kind != GO_PLAIN && rule->cfa == UNWIND_CFA_SP &&
		    rule->fp == UNWIND_SAVED_CFA) {
			rule->cfa = UNWIND_CFA_OTHER_STACK;
			rule->cfa_offset += 8;
		}
	}
}

int go_arm64_finish_rows(struct go_frames *frames, const struct go_frame *frame)
{
	static const struct abi_unwind_rule outermost = { .cfa = UNWIND_CFA_END };
	bool has_usual_frame;
	int r;

	/* Without a frame the caller cannot be found. */
	if (frame->kind == GO_LEAVES || (frame->kind != GO_PLAIN && frame->first_push == 0))
		return go_rows_replace_from(&frames->rows, frame->start, &outermost);
	r = saves_link(frames, frame, &has_usual_frame);
	if (r < 0)
		return r;
	r = delay_fp(&frames->rows, frame);
	if (r < 0)
		return r;
	make_rules(&frames->rows, frame, has_usual_frame);
	return 0;
}
