/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row is complete when the location advances; until then, instructions change the state. The
 * number of steps is bounded by the number of bytes.
 */
#include "agent/unwind/cfi/cfi_program.h"

#include <elf.h>

enum {
	/* In the two highest bits. The others hold an operand. */
	OP_ADVANCE_LOC = 0x40,
	OP_OFFSET = 0x80,
	OP_RESTORE = 0xc0,
	OP_HIGH_MASK = 0xc0,
	OP_LOW_MASK = 0x3f,

	OP_NOP = 0x00,
	OP_SET_LOC = 0x01,
	OP_ADVANCE_LOC1 = 0x02,
	OP_ADVANCE_LOC2 = 0x03,
	OP_ADVANCE_LOC4 = 0x04,
	OP_OFFSET_EXTENDED = 0x05,
	OP_RESTORE_EXTENDED = 0x06,
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_REGISTER = 0x09,
	OP_REMEMBER_STATE = 0x0a,
	OP_RESTORE_STATE = 0x0b,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_REGISTER = 0x0d,
	OP_DEF_CFA_OFFSET = 0x0e,
	OP_DEF_CFA_EXPRESSION = 0x0f,
	OP_EXPRESSION = 0x10,
	OP_OFFSET_EXTENDED_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_DEF_CFA_OFFSET_SF = 0x13,
	OP_VAL_OFFSET = 0x14,
	OP_VAL_OFFSET_SF = 0x15,
	OP_VAL_EXPRESSION = 0x16,
	OP_ADVANCE_LOC8 = 0x1d, /* MIPS, and GNU as for huge functions */
	OP_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	OP_AARCH64_NEGATE_RA_STATE =
		0x2d, /* from here on the return address is signed, or no longer signed */
	OP_GNU_ARGS_SIZE = 0x2e, /* for exception handling only */
	OP_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/*
 * Results of step() and the functions that it calls: continue, or the end of the range is reached.
 */
enum { STEP_MORE = 0, STEP_END = 1 };

struct interpreter {
	const struct cfi_context *context;
	const struct cfi_program *program; /* NULL in a CIE */
	const struct cfi_state *initial;   /* NULL in a CIE */
	cfi_row_function on_row;
	void *on_row_argument;
	struct bytes_reader cursor;
	uint64_t location;
	struct cfi_state state;
	size_t n_remembered;
	struct cfi_state remembered[CFI_MAX_REMEMBERED];
};

static const struct cfi_machine machines[] = {
	{ .elf_machine = EM_X86_64, .fp = 6, .sp = 7, .ra = 16, .kept = 3 },
	{ .elf_machine = EM_AARCH64, .fp = 29, .sp = 31, .ra = 30, .kept = NO_REGISTER },
};

const struct cfi_machine *cfi_machine_of(uint16_t elf_machine)
{
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i].elf_machine == elf_machine)
			return &machines[i];
	return NULL;
}

/* The rule of @reg in @state. NULL: the register is not followed. */
static inline struct cfi_rule *rule_of(const struct cfi_context *context, struct cfi_state *state,
				       uint64_t reg)
{
	if (reg == context->ra_column)
		return &state->ra;
	if (reg == context->machine->fp)
		return &state->fp;
	if (reg == context->machine->sp)
		return &state->sp;
	if (reg == context->machine->kept)
		return &state->kept;
	return NULL;
}

static inline void set_rule(struct interpreter *run, uint64_t reg, enum cfi_where where,
			    int64_t value)
{
	struct cfi_rule *rule = rule_of(run->context, &run->state, reg);

	if (rule)
		*rule = (struct cfi_rule){ .where = (uint8_t)where, .value = value };
}

static inline void restore_rule(struct interpreter *run, uint64_t reg)
{
	struct cfi_rule *rule = rule_of(run->context, &run->state, reg);
	struct cfi_state initial;

	if (!rule)
		return;
	initial = run->initial ? *run->initial : (struct cfi_state){};
	*rule = *rule_of(run->context, &initial, reg);
}

/* Modulo 2^64: an offset that makes no sense does not fit into a row, and is rejected there. */
static inline int64_t factored(const struct interpreter *run, uint64_t factor)
{
	return (int64_t)(factor * (uint64_t)run->context->data_align);
}

static int advance_to(struct interpreter *run, uint64_t location)
{
	int r;

	if (!run->program)
		return -EBADMSG;
	if (location == run->location)
		return STEP_MORE;
	if (location < run->location)
		return -EBADMSG;
	r = run->on_row(run->on_row_argument, run->location, &run->state);
	if (r < 0)
		return r;
	run->location = location;
	return location < run->program->end ? STEP_MORE : STEP_END;
}

static inline int advance(struct interpreter *run, uint64_t delta)
{
	uint64_t distance, location;

	if (__builtin_mul_overflow(delta, run->context->code_align, &distance) ||
	    __builtin_add_overflow(run->location, distance, &location))
		location = UINT64_MAX;
	return run->cursor.error < 0 ? -EBADMSG : advance_to(run, location);
}

static int set_location(struct interpreter *run)
{
	struct bytes_reader *cursor = &run->cursor;
	uint64_t field_vaddr, location;

	if (!run->program)
		return -EBADMSG;
	field_vaddr = run->program->instructions_vaddr +
		      (uint64_t)(cursor->next - run->program->instructions.data);
	location = eh_pointer_read(cursor, run->context->address_encoding, field_vaddr,
				   &run->context->bases);
	return cursor->error < 0 ? -EBADMSG : advance_to(run, location);
}

static int step_location(struct interpreter *run, uint8_t op)
{
	switch (op) {
	case OP_SET_LOC:
		return set_location(run);
	case OP_ADVANCE_LOC1:
		return advance(run, cursor_u8(&run->cursor));
	case OP_ADVANCE_LOC2:
		return advance(run, cursor_u16(&run->cursor));
	case OP_ADVANCE_LOC4:
		return advance(run, cursor_u32(&run->cursor));
	default:
		return advance(run, cursor_u64(&run->cursor));
	}
}

static inline void define_cfa(struct cfi_state *state, uint64_t reg, int64_t offset)
{
	state->has_cfa = true;
	state->cfa_is_shape = false;
	state->cfa_register = reg;
	state->cfa_offset = offset;
}

static void define_cfa_by_expression(struct interpreter *run)
{
	struct bytes_view expression = cursor_take(&run->cursor, cursor_uleb(&run->cursor));

	run->state.has_cfa = true;
	run->state.cfa_is_shape = true;
	run->state.cfa_shape = cfa_shape_of(expression);
}

static int step_cfa(struct interpreter *run, uint8_t op)
{
	struct bytes_reader *cursor = &run->cursor;
	struct cfi_state *state = &run->state;
	uint64_t reg;

	switch (op) {
	case OP_DEF_CFA:
		reg = cursor_uleb(cursor);
		define_cfa(state, reg, (int64_t)cursor_uleb(cursor));
		break;
	case OP_DEF_CFA_SF:
		reg = cursor_uleb(cursor);
		define_cfa(state, reg, factored(run, (uint64_t)cursor_sleb(cursor)));
		break;
	case OP_DEF_CFA_REGISTER:
		define_cfa(state, cursor_uleb(cursor), state->cfa_offset);
		break;
	/*
	 * Without a register, an offset has no effect. After an expression, it has an effect only
	 * with the next register.
	 */
	case OP_DEF_CFA_OFFSET:
		state->cfa_offset = (int64_t)cursor_uleb(cursor);
		break;
	case OP_DEF_CFA_OFFSET_SF:
		state->cfa_offset = factored(run, (uint64_t)cursor_sleb(cursor));
		break;
	default:
		define_cfa_by_expression(run);
	}
	return STEP_MORE;
}

static void set_rule_by_expression(struct interpreter *run, bool is_value)
{
	uint64_t reg = cursor_uleb(&run->cursor);
	struct bytes_view expression = cursor_take(&run->cursor, cursor_uleb(&run->cursor));
	struct cfi_rule *rule = rule_of(run->context, &run->state, reg);
	struct cfa_shape shape;

	if (!rule)
		return;
	*rule = (struct cfi_rule){ .where = CFI_EXPRESSION };
	shape = cfa_shape_of(expression);
	if (!is_value && shape.kind == CFA_SHAPE_REGISTER)
		*rule = (struct cfi_rule){ .where = CFI_AT_REGISTER,
					   .base = shape.reg,
					   .value = shape.offset };
}

static int step_register(struct interpreter *run, uint8_t op)
{
	struct bytes_reader *cursor = &run->cursor;
	uint64_t reg = cursor_uleb(cursor);

	switch (op) {
	case OP_OFFSET_EXTENDED:
		set_rule(run, reg, CFI_AT_CFA, factored(run, cursor_uleb(cursor)));
		break;
	case OP_OFFSET_EXTENDED_SF:
		set_rule(run, reg, CFI_AT_CFA, factored(run, (uint64_t)cursor_sleb(cursor)));
		break;
	case OP_GNU_NEGATIVE_OFFSET_EXTENDED:
		set_rule(run, reg, CFI_AT_CFA, factored(run, -cursor_uleb(cursor)));
		break;
	case OP_VAL_OFFSET:
		set_rule(run, reg, CFI_IS_CFA, factored(run, cursor_uleb(cursor)));
		break;
	case OP_VAL_OFFSET_SF:
		set_rule(run, reg, CFI_IS_CFA, factored(run, (uint64_t)cursor_sleb(cursor)));
		break;
	case OP_REGISTER:
		set_rule(run, reg, CFI_IN_REGISTER, (int64_t)cursor_uleb(cursor));
		break;
	case OP_UNDEFINED:
		set_rule(run, reg, CFI_UNDEFINED, 0);
		break;
	case OP_SAME_VALUE:
		set_rule(run, reg, CFI_SAME, 0);
		break;
	default:
		restore_rule(run, reg);
	}
	return STEP_MORE;
}

static int remember_state(struct interpreter *run)
{
	if (run->n_remembered == CFI_MAX_REMEMBERED)
		return -EBADMSG;
	run->remembered[run->n_remembered++] = run->state;
	return STEP_MORE;
}

static int restore_state(struct interpreter *run)
{
	if (run->n_remembered == 0)
		return -EBADMSG;
	run->state = run->remembered[--run->n_remembered];
	return STEP_MORE;
}

static int step_extended(struct interpreter *run, uint8_t op)
{
	switch (op) {
	case OP_NOP:
		return STEP_MORE;
	case OP_SET_LOC:
	case OP_ADVANCE_LOC1:
	case OP_ADVANCE_LOC2:
	case OP_ADVANCE_LOC4:
	case OP_ADVANCE_LOC8:
		return step_location(run, op);
	case OP_DEF_CFA:
	case OP_DEF_CFA_SF:
	case OP_DEF_CFA_REGISTER:
	case OP_DEF_CFA_OFFSET:
	case OP_DEF_CFA_OFFSET_SF:
	case OP_DEF_CFA_EXPRESSION:
		return step_cfa(run, op);
	case OP_EXPRESSION:
	case OP_VAL_EXPRESSION:
		set_rule_by_expression(run, op == OP_VAL_EXPRESSION);
		return STEP_MORE;
	case OP_OFFSET_EXTENDED:
	case OP_OFFSET_EXTENDED_SF:
	case OP_GNU_NEGATIVE_OFFSET_EXTENDED:
	case OP_VAL_OFFSET:
	case OP_VAL_OFFSET_SF:
	case OP_REGISTER:
	case OP_UNDEFINED:
	case OP_SAME_VALUE:
	case OP_RESTORE_EXTENDED:
		return step_register(run, op);
	case OP_REMEMBER_STATE:
		return remember_state(run);
	case OP_RESTORE_STATE:
		return restore_state(run);
	case OP_GNU_ARGS_SIZE:
		(void)cursor_uleb(&run->cursor);
		return STEP_MORE;
	case OP_AARCH64_NEGATE_RA_STATE_WITH_PC:
	case OP_AARCH64_NEGATE_RA_STATE:
		/*
		 * The unwinder removes the signature of every return address, whether it is signed
		 * or not.
		 */
		return run->context->machine->elf_machine == EM_AARCH64 ? STEP_MORE : -EBADMSG;
	default:
		return -EBADMSG;
	}
}

static inline int step(struct interpreter *run)
{
	uint8_t op = cursor_u8(&run->cursor);
	uint8_t low = op & OP_LOW_MASK;

	switch (op & OP_HIGH_MASK) {
	case OP_ADVANCE_LOC:
		return advance(run, low);
	case OP_OFFSET:
		set_rule(run, low, CFI_AT_CFA, factored(run, cursor_uleb(&run->cursor)));
		return STEP_MORE;
	case OP_RESTORE:
		restore_rule(run, low);
		return STEP_MORE;
	default:
		return step_extended(run, op);
	}
}

/* Runs all steps, or those up to the end of the range. */
static int run_steps(struct interpreter *run)
{
	int r = STEP_MORE;

	while (r == STEP_MORE && run->cursor.next < run->cursor.end)
		r = step(run);
	return r < 0 ? r : run->cursor.error < 0 ? -EBADMSG : r;
}

/*
 * Not zeroed as a whole, because the stack of remembered states is much longer than most programs.
 */
static void interpreter_init(struct interpreter *run, const struct cfi_context *context,
			     struct bytes_view instructions)
{
	run->context = context;
	run->program = NULL;
	run->initial = NULL;
	run->on_row = NULL;
	run->on_row_argument = NULL;
	run->cursor = bytes_reader_of(instructions);
	run->location = 0;
	run->state = (struct cfi_state){};
	run->n_remembered = 0;
}

int cfi_run_initial(const struct cfi_context *context, struct bytes_view instructions,
		    struct cfi_state *ret_state)
{
	struct interpreter run;
	int r;

	interpreter_init(&run, context, instructions);
	r = run_steps(&run);
	*ret_state = run.state;
	return r < 0 ? r : 0;
}

int cfi_run(const struct cfi_context *context, const struct cfi_program *program,
	    const struct cfi_state *initial, cfi_row_function on_row, void *on_row_argument)
{
	struct interpreter run;
	int r;

	interpreter_init(&run, context, program->instructions);
	run.program = program;
	run.initial = initial;
	run.on_row = on_row;
	run.on_row_argument = on_row_argument;
	run.location = program->start;
	run.state = *initial;
	r = run_steps(&run);
	if (r < 0 || r == STEP_END)
		return r < 0 ? r : 0;
	return on_row(on_row_argument, run.location, &run.state);
}
