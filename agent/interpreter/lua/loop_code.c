/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop begins by reading the code of the closure, and the constants of this code. Then it takes
 * the number of the first instruction from its lowest bits. Other functions of Lua do this too, but
 * the loop is the largest one.
 */
#include "agent/interpreter/lua/loop_code.h"

#include "agent/interpreter/python/cfi_functions.h"
#include "agent/unwind/file/elf_code.h"
#include "agent/unwind/x86_code/x86_encoding.h"
#include "agent/unwind/x86_code/x86_instruction.h"

/* Bytes of a function that are decoded: the first instruction is read within 150. */
#define BEGINNING_BYTES 512

/* 5.1 has 5930, and with -Os 4 KiB. */
#define LEAST_LOOP_BYTES 3072

#define LOAD           0x8b
#define AND_BYTE       0x83 /* a register of 32 or 64 bits, and a number of a byte */
#define AND_BYTE_GROUP 4
#define AND_EAX        0x25
#define AND_AL         0x24
#define GROUP_BITS     7
#define REGISTER_MODE  3

struct beginning {
	uint8_t code; /* the register with the Proto */
	bool has_code, has_constants, has_opcode;
};

static bool masks_opcode(const struct x86_encoding *encoding, int64_t mask)
{
	if (encoding->immediate != mask)
		return false;
	return encoding->opcode == AND_AL || encoding->opcode == AND_EAX ||
	       (encoding->opcode == AND_BYTE && encoding->mode == REGISTER_MODE &&
		(encoding->reg & GROUP_BITS) == AND_BYTE_GROUP);
}

static void look_at(const struct x86_encoding *encoding, const struct lua_layout *layout,
		    struct beginning *found)
{
	if (encoding->map != X86_MAP_ONE_BYTE || encoding->is_vector)
		return;
	found->has_opcode |=
		found->has_constants && masks_opcode(encoding, (1 << layout->opcodes.bits) - 1);
	if (encoding->opcode != LOAD || encoding->mode == REGISTER_MODE ||
	    encoding->is_rip_relative || encoding->index != X86_NO_REGISTER)
		return;
	if (found->has_code && encoding->base == found->code &&
	    encoding->displacement == layout->code.constants)
		found->has_constants = true;
	if (encoding->displacement == layout->walk.closure_code) {
		found->code = encoding->reg;
		found->has_code = true;
	}
}

/* Whether the function at @range may be the loop: 1, 0, or a negative errno. */
static int may_be_loop(const struct elf_file *elf, const struct lua_layout *layout,
		       const struct abi_code_range *range)
{
	struct beginning found = {};
	struct x86_encoding encoding;
	uint8_t code[BEGINNING_BYTES], length;
	ssize_t n = elf_code_read(elf, range->start, code, sizeof(code));

	if (n < 0)
		return (int)n;
	for (size_t at = 0; at < (size_t)n && !found.has_opcode; at += length) {
		const struct bytes_view rest = { .data = code + at, .size = (size_t)n - at };

		if (!x86_encoding_read(rest, &encoding, &length))
			break;
		look_at(&encoding, layout, &found);
	}
	return found.has_opcode;
}

int loop_code_find(const struct elf_file *elf, const struct lua_layout *layout,
		   struct abi_code_range *ret_loop)
{
	scoped(cfi_functions_release) struct cfi_functions functions = {};
	struct abi_code_range range, best = {};
	int r = cfi_functions_read(elf, &functions);

	if (r <= 0)
		return r;
	for (size_t i = 0; i < functions.count; i++) {
		if (cfi_functions_range(&functions, i, &range) != 1 ||
		    range.end - range.start < LEAST_LOOP_BYTES ||
		    range.end - range.start <= best.end - best.start)
			continue;
		r = may_be_loop(elf, layout, &range);
		if (r < 0)
			return r;
		if (r == 1)
			best = range;
	}
	if (best.end == 0)
		return 0;
	*ret_loop = best;
	return 1;
}
