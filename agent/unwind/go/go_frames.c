/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For each function: rows of the stack pointer, then complete rules for the architecture. Most
 * functions are plain; a few are recognized by name, or by the flags that Go's runtime uses when it
 * walks stacks.
 */
#include "agent/unwind/go/go_frames.h"

#include <elf.h>

/* dockerd has 70 thousand functions and 0.6 million steps. */
#define MAX_STEPS UNWIND_MAX_ROWS

/* The name in the table of functions is that in the source, but for the first dot. */
static const struct {
	const char *name;
	enum go_kind kind;
} known_functions[] = {
	{ "runtime.asmcgocall", GO_ASMCGOCALL }, { "runtime.asmcgocall_no_g", GO_SWITCHES },
	{ "runtime.cgocallback", GO_SWITCHES },  { "runtime.goexit", GO_OUTERMOST },
	{ "runtime.gogo", GO_SWITCHES },         { "runtime.mcall", GO_LEAVES },
	{ "runtime.morestack", GO_SWITCHES },    { "runtime.mstart", GO_OUTERMOST },
	{ "runtime.nanotime1", GO_SWITCHES },    { "runtime.rt0_go", GO_OUTERMOST },
	{ "runtime.sigreturn", GO_SIGNAL },      { "runtime.sigreturn__sigaction", GO_SIGNAL },
	{ "runtime.systemstack", GO_SWITCHES },  { "runtime.walltime", GO_SWITCHES },
	{ "runtime.walltime1", GO_SWITCHES },    { "time.now", GO_SWITCHES },
};

/* Called by the kernel. Its caller is the trampoline, whose caller is the interrupted code. */
#define SIGNAL_HANDLER "sigtramp"

/* The entry of a program without a C library. */
#define ENTRY_PREFIX "_rt0_"

static enum go_kind kind_of(const struct go_function *function, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_functions); i++)
		if (strcmp(name, known_functions[i].name) == 0)
			return known_functions[i].kind;
	if (strncmp(name, ENTRY_PREFIX, strlen(ENTRY_PREFIX)) == 0)
		return GO_OUTERMOST;
	if (strstr(name, SIGNAL_HANDLER))
		return GO_PLAIN;
	if (function->flags & GO_FUNCTION_TOP_FRAME)
		return GO_OUTERMOST;
	return function->flags & GO_FUNCTION_SP_WRITE ? GO_SWITCHES : GO_PLAIN;
}

/* Before Go 1.18 there is no such flag. Few functions have a frame of an unusual form. */
static bool is_hand_written(const struct go_frames *frames, const struct go_function *function,
			    const char *name, enum go_kind kind)
{
	if (frames->table.has_flags)
		return function->flags & GO_FUNCTION_ASM;
	return kind != GO_PLAIN || strcmp(name, "crosscall2") == 0 || strstr(name, SIGNAL_HANDLER);
}

/* ---- rows ------------------------------------------------------------------------------------ */

int go_rows_replace_from(struct go_row_vec *rows, uint64_t address,
			 const struct abi_unwind_rule *rule)
{
	while (rows->count > 0 && rows->items[rows->count - 1].start >= address)
		rows->count--;
	return vec_push(rows, (struct unwind_builder_row){ .start = address, .rule = *rule });
}

/* 1; 0: the table has no rows for the function; -ENOMEM. */
static int read_rows(struct go_frames *frames, const struct go_function *function,
		     struct go_frame *frame)
{
	struct go_pcsp pcsp = go_pcsp_of(&frames->table, function);
	struct go_pcsp_row row;

	vec_clear(&frames->rows);
	while (frames->steps_left > 0 && go_pcsp_next(&pcsp, &row)) {
		struct abi_unwind_rule rule = { .cfa = UNWIND_CFA_SP, .cfa_offset = row.delta };
		int r;

		frames->steps_left--;
		if (row.end <= row.start)
			return 0;
		if (frame->first_push == 0 && row.delta > 0) {
			frame->first_push = row.start;
			frame->first_delta = row.delta;
		}
		frame->end = row.end;
		r = vec_push(&frames->rows,
			     (struct unwind_builder_row){ .start = row.start, .rule = rule });
		if (r < 0)
			return r;
	}
	return frames->rows.count > 0;
}

static int finish_rows(struct go_frames *frames, const struct go_frame *frame)
{
	static const struct abi_unwind_rule outermost = { .cfa = UNWIND_CFA_END };
	static const struct abi_unwind_rule signal_frame = { .cfa = UNWIND_CFA_SIGNAL };

	if (frame->kind == GO_OUTERMOST)
		return go_rows_replace_from(&frames->rows, frame->start, &outermost);
	if (frame->kind == GO_SIGNAL)
		return go_rows_replace_from(&frames->rows, frame->start, &signal_frame);
	if (frames->dialect->machine->elf_machine == EM_X86_64)
		return go_amd64_finish_rows(frames, frame);
	return go_arm64_finish_rows(frames, frame);
}

/* ---- functions ------------------------------------------------------------------------------- */

static int32_t deepest(const struct go_row_vec *rows)
{
	int32_t delta = 0;

	for (size_t i = 0; i < rows->count; i++)
		delta = MAX(delta, rows->items[i].rule.cfa_offset);
	return delta;
}

/*
 * The only caller of asmcgocall on the stack of a goroutine. It calls it with its whole frame
 * allocated.
 */
static bool calls_asmcgocall(const char *name)
{
	return strcmp(name, "runtime.cgocall") == 0;
}

struct later {
	uint32_t index;
	bool is_wanted;
};

/*
 * asmcgocall is skipped and returned in @later, because the frame size of its caller may not be
 * known yet.
 */
static int add_function(struct go_frames *frames, uint32_t index, struct later *later)
{
	struct go_function function;
	struct go_frame frame = {};
	char name[GO_NAME_SIZE];
	int r;

	r = go_pclntab_function(&frames->table, index, &function);
	if (r == 1)
		r = go_pclntab_name(&frames->table, &function, name) ?: 1;
	if (r == 1) {
		frame.start = function.start;
		frame.kind = kind_of(&function, name);
		frame.is_asm = is_hand_written(frames, &function, name, frame.kind);
		r = read_rows(frames, &function, &frame);
	}
	if (r <= 0)
		return r;
	/* Since Go 1.17 there is a wrapper with the same name. */
	if (frame.kind == GO_ASMCGOCALL && frame.first_push != 0 &&
	    !(function.flags & GO_FUNCTION_SP_WRITE)) {
		frame.kind = GO_PLAIN;
		frame.is_asm = false;
	}
	if (calls_asmcgocall(name))
		frames->switch_delta = deepest(&frames->rows);
	if (frame.kind == GO_ASMCGOCALL && later) {
		*later = (struct later){ .index = index, .is_wanted = true };
		return 0;
	}
	r = finish_rows(frames, &frame);
	if (r < 0)
		return r;
	return unwind_builder_add_rows(frames->builder, frames->rows.items, frames->rows.count,
				       frame.end);
}

static int add_functions(struct go_frames *frames)
{
	struct later later = {};
	int r = 0;

	for (uint32_t index = 0; index < frames->table.n_functions && r >= 0; index++)
		r = add_function(frames, index, &later);
	if (r >= 0 && later.is_wanted)
		r = add_function(frames, later.index, NULL);
	return r < 0 ? r : 1;
}

int go_frames_add(const struct elf_file *elf, const struct byte_window *pclntab,
		  uint64_t text_start, const struct unwind_dialect *dialect,
		  struct unwind_builder *builder)
{
	struct go_frames frames = {
		.elf = elf,
		.dialect = dialect,
		.builder = builder,
		.steps_left = MAX_STEPS,
	};
	int r;

	r = go_pclntab_open(pclntab, text_start, &frames.table);
	if (r <= 0)
		return r;
	r = add_functions(&frames);
	vec_release(&frames.rows);
	go_pclntab_release(&frames.table);
	return r;
}
