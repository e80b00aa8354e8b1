/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/lua/lua_layout.h"

#include "agent/interpreter/lua/layouts.def"

/* clang-format off */
#define STATE(ci, stack, jump) \
	.walk.state_call = (ci), .walk.state_stack = (stack), .walk.state_error_jump = (jump)
#define ARRAY(instruction, first) \
	.walk.state_instruction = (instruction), .walk.state_first_call = (first)
#define CALL(bytes, function, previous, instruction) \
	.walk.call_bytes = (bytes), .walk.call_function = (function), \
	.walk.call_previous = (previous), .walk.call_instruction = (instruction)
#define FRESH(status, bit) .walk.call_status = (status), .walk.status_fresh = (bit)
#define BY_CALL(opcode) .walk.opcode_call = (opcode)
#define CLOSURE(proto, is_c) .walk.closure_code = (proto), .walk.closure_is_c = (is_c)
#define PROTO(tag, instructions, k, line, file) \
	.code.type = (tag), .walk.code_instructions = (instructions), .code.constants = (k), \
	.code.first_line = (line), .code.source = (file)
#define LINES(at, bytes, absolute) \
	.code.lines = (at), .code.line_bytes = (bytes), .code.absolute_lines = (absolute)
#define NAMES(local, upvalue, bytes) \
	.code.locals = (local), .code.upvalues = (upvalue), .code.upvalue_bytes = (bytes)
#define COUNTS(instructions, k, line, absolute, local, upvalue) \
	.walk.code_count = (instructions), .code.n_constants = (k), .code.n_lines = (line), \
	.code.n_absolute_lines = (absolute), .code.n_locals = (local), .code.n_upvalues = (upvalue)
#define TEXT(is_short) .code.short_texts = (is_short)
#define OPCODES(n, move_, upvalue, global, field, self_, jump_, call_, closure_, extra) \
	.opcodes = { .bits = (n), .move = (move_), .get_upvalue = (upvalue), .get_global = (global), \
		     .get_field = (field), .self = (self_), .jump = (jump_), .call = (call_), \
		     .closure = (closure_), .extra_argument = (extra) }
#define LAYOUT(major, minor, release, ...) \
	{ .version = (major) << 8 | (minor), .first_release = (release), __VA_ARGS__ },
/* clang-format on */

static const struct lua_layout layouts[] = { LUA_LAYOUTS(LAYOUT) };

const struct lua_layout *lua_layout_of(uint32_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].version == (version & ((1U << LUA_RELEASE_SHIFT) - 1)) &&
		    layouts[i].first_release <= version >> LUA_RELEASE_SHIFT)
			return &layouts[i];
	return NULL;
}
