/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_parts.h"

#include "agent/unwind/x86_instruction.h"

/*
 * What follows an opcode is in two tables, one character for each: 'M' ModRM, 'b' ModRM and a byte,
 * 'z' ModRM and an immediate of 4 bytes (2 with the prefix 66), '1' a byte, '2' two bytes, '4' an
 * immediate of 4 (2), '8' one of 4 (2), or 8 with REX.W, 'r' a relative byte, 'R' four relative
 * bytes, 'o' an offset of 8, 'e' enter, '.' nothing, '-' no such instruction, 'p' prefix, 'x'
 * escapes.
 */
static const char one_byte_map[] = "MMMM14--MMMM14-x"  /* 00 */
				   "MMMM14--MMMM14--"  /* 10 */
				   "MMMM14p-MMMM14p-"  /* 20 */
				   "MMMM14p-MMMM14p-"  /* 30 */
				   "pppppppppppppppp"  /* 40: REX */
				   "................"  /* 50 */
				   "--xMpppp4z1b...."  /* 60 */
				   "rrrrrrrrrrrrrrrr"  /* 70 */
				   "bz-bMMMMMMMMMMMM"  /* 80 */
				   "..........-....."  /* 90 */
				   "oooo....14......"  /* a0 */
				   "1111111188888888"  /* b0 */
				   "bb2.xxbze.2..1-."  /* c0 */
				   "MMMM---.MMMMMMMM"  /* d0 */
				   "rrrr1111RR-r...."  /* e0 */
				   "p.pp..MM......MM"; /* f0 */

static const char two_byte_map[] = "MMMM-.....-.-M.b"  /* 00 */
				   "MMMMMMMMMMMMMMMM"  /* 10 */
				   "MMMM----MMMMMMMM"  /* 20 */
				   "........x-x-----"  /* 30 */
				   "MMMMMMMMMMMMMMMM"  /* 40 */
				   "MMMMMMMMMMMMMMMM"  /* 50 */
				   "MMMMMMMMMMMMMMMM"  /* 60 */
				   "bbbbMMM.MMMMMMMM"  /* 70 */
				   "RRRRRRRRRRRRRRRR"  /* 80 */
				   "MMMMMMMMMMMMMMMM"  /* 90 */
				   "...MbM--...MbMMM"  /* a0 */
				   "MMMMMMMMMMbMMMMM"  /* b0 */
				   "MMbMbbbM........"  /* c0 */
				   "MMMMMMMMMMMMMMMM"  /* d0 */
				   "MMMMMMMMMMMMMMMM"  /* e0 */
				   "MMMMMMMMMMMMMMMM"; /* f0 */

static_assert(sizeof(one_byte_map) == 257 && sizeof(two_byte_map) == 257,
	      "a character for each opcode");

#define RSP 4

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 ||
	       byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 ||
	       byte == 0x65;
}

static int64_t read_signed(struct bytes_reader *reader, size_t size)
{
	uint64_t value = cursor_fixed(reader, size);

	switch (size) {
	case 1:
		return (int8_t)value;
	case 2:
		return (int16_t)value;
	case 4:
		return (int32_t)value;
	default:
		return (int64_t)value;
	}
}

/* Of what VEX and EVEX have of REX only the width matters here: they leave rsp and rbp alone. */
static void read_vector_prefix(struct x86_parts *parts, uint8_t first)
{
	uint8_t byte = cursor_u8(&parts->reader);

	parts->is_vector = true;
	parts->map = X86_MAP_0F;
	if (first == 0xc5)
		return;
	parts->map = byte & (first == 0xc4 ? 0x1f : 0x07);
	(void)cursor_u8(&parts->reader);
	if (first == 0x62)
		(void)cursor_u8(&parts->reader);
}

static void read_opcode(struct x86_parts *parts)
{
	uint8_t byte = cursor_u8(&parts->reader);

	while (is_prefix(byte) && !parts->reader.error) {
		parts->is_16_bit |= byte == 0x66;
		byte = cursor_u8(&parts->reader);
	}
	if ((byte & 0xf0) == 0x40) {
		parts->rex = byte & 0x0f;
		byte = cursor_u8(&parts->reader);
	}
	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
		read_vector_prefix(parts, byte);
		byte = cursor_u8(&parts->reader);
	} else if (byte == 0x0f) {
		parts->map = X86_MAP_0F;
		byte = cursor_u8(&parts->reader);
		if (byte == 0x38 || byte == 0x3a) {
			parts->map = byte == 0x38 ? X86_MAP_0F38 : X86_MAP_0F3A;
			byte = cursor_u8(&parts->reader);
		}
	}
	parts->opcode = byte;
}

static void read_modrm(struct x86_parts *parts)
{
	uint8_t modrm = cursor_u8(&parts->reader);
	uint8_t low = modrm & 7;

	parts->has_modrm = true;
	parts->mode = modrm >> 6;
	parts->reg = (uint8_t)((modrm >> 3 & 7) | (parts->rex & X86_REX_R ? 8 : 0));
	parts->rm = (uint8_t)(low | (parts->rex & X86_REX_B ? 8 : 0));
	parts->base = X86_NO_REGISTER;
	parts->index = X86_NO_REGISTER;
	if (parts->mode == 3)
		return;
	parts->base = parts->rm;
	if (low == 4) {
		uint8_t sib = cursor_u8(&parts->reader);
		uint8_t index = (uint8_t)((sib >> 3 & 7) | (parts->rex & X86_REX_X ? 8 : 0));

		parts->base = (uint8_t)((sib & 7) | (parts->rex & X86_REX_B ? 8 : 0));
		parts->index = index == RSP ? X86_NO_REGISTER : index;
		low = sib & 7;
		if (low == 5 && parts->mode == 0)
			parts->base = X86_NO_REGISTER;
	} else if (low == 5 && parts->mode == 0) {
		parts->base = X86_NO_REGISTER;
		parts->is_rip_relative = true;
	}
	if (parts->mode == 1)
		parts->displacement = read_signed(&parts->reader, 1);
	else if (parts->mode == 2 || (parts->mode == 0 && low == 5))
		parts->displacement = read_signed(&parts->reader, 4);
}

static char form_of(const struct x86_parts *parts)
{
	if (parts->map > X86_MAP_0F3A)
		return 'M'; /* EVEX maps 5 and 6 */
	if (parts->map == X86_MAP_0F38)
		return 'M';
	if (parts->map == X86_MAP_0F3A)
		return 'b';
	if (parts->map == X86_MAP_0F)
		return two_byte_map[parts->opcode];
	return one_byte_map[parts->opcode];
}

static bool read_operands(struct x86_parts *parts)
{
	char form = form_of(parts);
	size_t word = parts->is_16_bit ? 2 : 4;

	if (form == '-' || form == 'x' || form == 'p')
		return false;
	if (form == 'M' || form == 'b' || form == 'z')
		read_modrm(parts);
	/* XOP, which few processors had. */
	if (parts->map == X86_MAP_ONE_BYTE && parts->opcode == 0x8f && (parts->reg & 7) != 0)
		return false;
	/* test, the only ones of their group that have an immediate. */
	if (parts->map == X86_MAP_ONE_BYTE && (parts->opcode & 0xfe) == 0xf6 &&
	    (parts->reg & 6) == 0)
		form = parts->opcode == 0xf6 ? '1' : '4';
	if (form == 'b' || form == '1' || form == 'r')
		parts->immediate = read_signed(&parts->reader, 1);
	else if (form == 'z' || form == '4')
		parts->immediate = read_signed(&parts->reader, word);
	else if (form == '8')
		parts->immediate = read_signed(&parts->reader, parts->rex & X86_REX_W ? 8 : word);
	else if (form == 'R')
		parts->immediate = read_signed(&parts->reader, 4);
	else if (form == '2')
		parts->immediate = read_signed(&parts->reader, 2);
	else if (form == 'o')
		parts->immediate = read_signed(&parts->reader, 8);
	else if (form == 'e')
		(void)cursor_fixed(&parts->reader, 3);
	return !parts->reader.error;
}

bool x86_take_apart(struct bytes_view code, struct x86_parts *ret_parts, uint8_t *ret_length)
{
	/* No instruction is longer. */
	struct bytes_view view = { .data = code.data, .size = MIN(code.size, (size_t)15) };
	struct x86_parts parts = { .reader = bytes_reader_of(view) };

	read_opcode(&parts);
	if (parts.reader.error || !read_operands(&parts))
		return false;
	/* Of a ModRM without an operand in memory too. */
	if (!parts.has_modrm)
		parts.base = parts.index = X86_NO_REGISTER;
	*ret_parts = parts;
	*ret_length = (uint8_t)(parts.reader.next - view.data);
	return true;
}
