/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86-64. The return address is at CFA - 8. In a function that has a frame, the caller's frame
 * pointer is at CFA - 16:
 *
 *   until Go 1.20   sub $N,%rsp; mov %rbp,N-8(%rsp); lea N-8(%rsp),%rbp
 *   since Go 1.21   push %rbp; mov %rsp,%rbp; sub $N-8,%rsp
 *
 * A function that switches to another stack (systemstack, asmcgocall, cgocallback, ...) does not
 * change rbp, which still points into the frame on the previous stack. If the function has a frame
 * (nearly always since Go 1.21), that is exact. If it has none, rbp belongs to its caller, which is
 * therefore skipped in the stack. The caller of asmcgocall is not skipped, because the size of its
 * frame is known.
 */
#include "agent/unwind/go/go_frames.h"

#include "agent/unwind/file/elf_code.h"

#define CODE_BYTES 512

/* Where the frame pointer is saved. */
struct prologue {
	uint64_t saved_from; /* 0: it is not saved */
	bool points_here;    /* rbp is set to the address where it is saved */
};

static bool begins_with(const uint8_t *code, size_t size, const uint8_t *bytes, size_t n_bytes)
{
	return size >= n_bytes && memcmp(code, bytes, n_bytes) == 0;
}

/* The prologue that the compiler writes, by the sizes of its instructions. */
static struct prologue prologue_of_compiler(const struct go_frame *frame)
{
	uint64_t store_bytes = frame->first_delta == 8 ? 0 : frame->first_delta - 8 < 128 ? 5 : 8;

	return (struct prologue){ .saved_from = frame->first_push + store_bytes,
				  .points_here = true };
}

static struct prologue prologue_in_code(const struct go_frame *frame, const uint8_t *code,
					size_t size)
{
	static const uint8_t push[] = { 0x55 };
	static const uint8_t push_and_move[] = { 0x55, 0x48, 0x89, 0xe5 };
	static const struct {
		uint8_t bytes[4];
		uint8_t length;
	} stores[] = {
		{ { 0x48, 0x89, 0x2c, 0x24 }, 4 }, /* mov %rbp,(%rsp) */
		{ { 0x48, 0x89, 0x6c, 0x24 }, 5 }, /* mov %rbp,disp8(%rsp) */
		{ { 0x48, 0x89, 0xac, 0x24 }, 8 }, /* mov %rbp,disp32(%rsp) */
	};

	if (size == 0)
		return (struct prologue){};
	if (frame->first_delta == 8 && begins_with(code, size, push, sizeof(push)))
		return (struct prologue){
			.saved_from = frame->first_push,
			.points_here =
				begins_with(code, size, push_and_move, sizeof(push_and_move)),
		};
	for (size_t i = 0; i < ARRAY_SIZE(stores); i++)
		if (begins_with(code + 1, size - 1, stores[i].bytes, sizeof(stores[i].bytes)))
			return (struct prologue){ .saved_from =
							  frame->first_push + stores[i].length,
						  .points_here = true };
	return (struct prologue){};
}

/* Reads code from @address on, up to the end of the function. */
static int read_code(const struct go_frames *frames, const struct go_frame *frame, uint64_t address,
		     uint8_t *code, size_t capacity, size_t *ret_size)
{
	ssize_t n = 0;

	if (frames->elf)
		n = elf_code_read(frames->elf, address, code,
				  MIN(capacity, (size_t)(frame->end - address)));
	*ret_size = n < 0 ? 0 : (size_t)n;
	return n == -ENODATA ? -ENODATA : 0;
}

static int find_prologue(const struct go_frames *frames, const struct go_frame *frame,
			 struct prologue *ret_prologue)
{
	uint8_t code[16];
	size_t size;
	int r;

	*ret_prologue = (struct prologue){};
	if (frame->first_push == 0)
		return 0;
	if (!frame->is_asm) {
		*ret_prologue = prologue_of_compiler(frame);
		return 0;
	}
	/* A push has one byte. */
	r = read_code(frames, frame, frame->first_push - 1, code, sizeof(code), &size);
	if (r == 0)
		*ret_prologue = prologue_in_code(frame, code, size);
	return r;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static struct abi_unwind_rule rule_of(int32_t delta, bool fp_is_saved)
{
	struct abi_unwind_rule rule = {
		.cfa = UNWIND_CFA_SP,
		.ra = UNWIND_SAVED_CFA,
		.ra_offset = -8,
		.rbx_offset = UNWIND_RBX_LOST,
	};

	if (delta < 0 || delta > INT32_MAX - 8)
		return (struct abi_unwind_rule){ .cfa = UNWIND_CFA_NONE };
	rule.cfa_offset = delta + 8;
	if (delta > 0 && fp_is_saved) {
		rule.fp = UNWIND_SAVED_CFA;
		rule.fp_offset = -16;
	}
	return rule;
}

static bool is_without_frame(const struct abi_unwind_rule *rule)
{
	return rule->cfa == UNWIND_CFA_SP && rule->cfa_offset == 8;
}

/* By the frame that rbp points to. */
static const struct abi_unwind_rule by_frame_pointer = {
	.cfa = UNWIND_CFA_OTHER_STACK,
	.cfa_offset = 16,
	.fp = UNWIND_SAVED_CFA,
	.fp_offset = -16,
	.ra = UNWIND_SAVED_CFA,
	.ra_offset = -8,
	.rbx_offset = UNWIND_RBX_LOST,
};

/* Splits the row at @address, if that is within the rows. */
static int split_at(struct go_row_vec *rows, uint64_t address)
{
	size_t at = 0;
	int r;

	while (at < rows->count && rows->items[at].start < address)
		at++;
	if (at == 0 || (at < rows->count && rows->items[at].start == address))
		return 0;
	r = vec_reserve(rows, 1);
	if (r < 0)
		return r;
	memmove(&rows->items[at + 1], &rows->items[at], (rows->count - at) * sizeof(*rows->items));
	rows->items[at] = rows->items[at - 1];
	rows->items[at].start = address;
	rows->count++;
	return 0;
}

static int make_rules(struct go_row_vec *rows, const struct go_frame *frame,
		      const struct prologue *prologue)
{
	int r = 0;

	if (prologue->saved_from && prologue->saved_from < frame->end)
		r = split_at(rows, prologue->saved_from);
	for (size_t i = 0; i < rows->count && r == 0; i++) {
		struct unwind_builder_row *row = &rows->items[i];

		row->rule = rule_of(row->rule.cfa_offset,
				    prologue->saved_from && row->start >= prologue->saved_from);
	}
	return r;
}

/* ---- other stacks ---------------------------------------------------------------------------- */

/*
 * The end of the first instruction at or after @at that moves a value into rsp, or aligns it; @size
 * if there is none. It compares bytes and does not decode: these functions are short, and their
 * other bytes do not match.
 */
static size_t after_sp_write(const uint8_t *code, size_t size, size_t at)
{
	for (; at + 4 <= size; at++) {
		const uint8_t *bytes = code + at;
		uint8_t mode = bytes[2] >> 6;

		if ((bytes[0] & 0xfb) == 0x48 && bytes[1] == 0x89 && (bytes[2] & 0xc7) == 0xc4)
			return at + 3; /* mov %reg,%rsp */
		if (bytes[0] == 0x48 && bytes[1] == 0x83 && bytes[2] == 0xe4)
			return at + 4; /* and $imm8,%rsp */
		if ((bytes[0] & 0xfc) == 0x48 && bytes[1] == 0x8b && (bytes[2] & 0x38) == 0x20) {
			/* mov disp(%reg),%rsp */
			size_t has_sib = mode != 3 && (bytes[2] & 7) == 4;
			size_t length = 3 + has_sib + (mode == 1 ? 1u : mode == 2 ? 4u : 0u);

			return MIN(at + length, size);
		}
	}
	return size;
}

/*
 * If asmcgocall is called on the stack that it needs, it saves the stack pointer: mov
 * %rdx,disp(%rsp). Returns the end of that instruction; @size if there is none.
 */
static size_t find_kept_sp(const uint8_t *code, size_t size, int32_t *ret_offset)
{
	for (size_t at = 0; at + 5 <= size; at++) {
		if (code[at] != 0x48 || code[at + 1] != 0x89 || code[at + 3] != 0x24)
			continue;
		if (code[at + 2] == 0x14) {
			*ret_offset = 0;
			return at + 4;
		}
		if (code[at + 2] == 0x54) {
			/* disp8 is signed. */
			*ret_offset = (code[at + 4] ^ 0x80) - 0x80;
			return at + 5;
		}
	}
	return size;
}

static int switch_by_frame_pointer(struct go_row_vec *rows, uint64_t from, bool points_here)
{
	int r = split_at(rows, from);

	for (size_t i = 0; i < rows->count && r == 0; i++) {
		struct unwind_builder_row *row = &rows->items[i];

		/*
		 * Behind the pop at the end of the function, rbp is the caller's, and the stack is
		 * the first one again.
		 */
		if (row->start >= from && !(points_here && is_without_frame(&row->rule)))
			row->rule = by_frame_pointer;
	}
	return r;
}

/*
 * asmcgocall without a frame. rbp points to the frame record of its caller, which is switch_delta -
 * 8 bytes above the caller's stack pointer.
 */
static int finish_asmcgocall(struct go_frames *frames, const struct go_frame *frame,
			     const uint8_t *code, size_t size, size_t at_switch)
{
	struct abi_unwind_rule above_caller = rule_of(0, false);
	struct abi_unwind_rule kept = rule_of(0, false);
	const struct abi_unwind_rule back = rule_of(0, false);
	size_t at_kept;
	int r;

	above_caller.cfa = UNWIND_CFA_OTHER_STACK;
	above_caller.cfa_offset = 8 - frames->switch_delta;
	r = go_rows_replace_from(&frames->rows, frame->start + at_switch, &above_caller);
	at_kept = find_kept_sp(code, size, &kept.cfa_offset);
	if (r < 0 || at_kept <= at_switch || at_kept == size)
		return r;
	kept.cfa = UNWIND_CFA_DEREF_SP;
	kept.cfa_addend = 8;
	r = go_rows_replace_from(&frames->rows, frame->start + at_kept, &kept);
	if (r == 0)
		r = go_rows_replace_from(&frames->rows,
					 frame->start + after_sp_write(code, size, at_kept), &back);
	return r;
}

static int finish_switch(struct go_frames *frames, const struct go_frame *frame, bool points_here)
{
	static const struct abi_unwind_rule outermost = { .cfa = UNWIND_CFA_END };
	uint8_t code[CODE_BYTES];
	size_t size, at_switch;
	int r;

	r = read_code(frames, frame, frame->start, code, sizeof(code), &size);
	if (r < 0)
		return r;
	at_switch = after_sp_write(code, size, 0);
	if (at_switch == size)
		return 0;
	if (frame->kind == GO_LEAVES)
		return go_rows_replace_from(&frames->rows, frame->start + at_switch, &outermost);
	if (frame->kind == GO_ASMCGOCALL && frame->first_push == 0 && frames->switch_delta > 8)
		return finish_asmcgocall(frames, frame, code, size, at_switch);
	return switch_by_frame_pointer(&frames->rows, frame->start + at_switch, points_here);
}

int go_amd64_finish_rows(struct go_frames *frames, const struct go_frame *frame)
{
	struct prologue prologue;
	int r;

	r = find_prologue(frames, frame, &prologue);
	if (r < 0)
		return r;
	r = make_rules(&frames->rows, frame, &prologue);
	if (r < 0 || frame->kind == GO_PLAIN)
		return r;
	return finish_switch(frames, frame, prologue.points_here);
}
