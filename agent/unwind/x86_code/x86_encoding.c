/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_code/x86_encoding.h"

#include "agent/unwind/x86_code/x86_instruction.h"

/*
 * Two tables hold what follows each opcode, one character an opcode:
 *
 *   M  ModRM                           b  ModRM and a byte
 *   z  ModRM and an immediate of 4 bytes (2 with the prefix 66)
 *   1  a byte                          2  two bytes
 *   4  an immediate of 4 (2)           8  an immediate of 4 (2), or 8 with REX.W
 *   r  a relative byte                 R  four relative bytes
 *   o  an offset of 8                  e  the 3 bytes of enter
 *   .  nothing                         -  there is no such instruction
 *   p  this byte is a prefix           x  this byte begins a longer opcode
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

/* Instructions with VEX and EVEX do not write rsp and rbp, so their register bits are ignored. */
static void read_vector_prefix(struct x86_encoding *encoding, uint8_t first)
{
	uint8_t byte = cursor_u8(&encoding->reader);

	encoding->is_vector = true;
	encoding->map = X86_MAP_0F;
	if (first == 0xc5)
		return;
	encoding->map = byte & (first == 0xc4 ? 0x1f : 0x07);
	(void)cursor_u8(&encoding->reader);
	if (first == 0x62)
		(void)cursor_u8(&encoding->reader);
}

static void read_opcode(struct x86_encoding *encoding)
{
	uint8_t byte = cursor_u8(&encoding->reader);

	while (is_prefix(byte) && !encoding->reader.error) {
		encoding->is_16_bit |= byte == 0x66;
		byte = cursor_u8(&encoding->reader);
	}
	if ((byte & 0xf0) == 0x40) {
		encoding->rex = byte & 0x0f;
		byte = cursor_u8(&encoding->reader);
	}
	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
		read_vector_prefix(encoding, byte);
		byte = cursor_u8(&encoding->reader);
	} else if (byte == 0x0f) {
		encoding->map = X86_MAP_0F;
		byte = cursor_u8(&encoding->reader);
		if (byte == 0x38 || byte == 0x3a) {
			encoding->map = byte == 0x38 ? X86_MAP_0F38 : X86_MAP_0F3A;
			byte = cursor_u8(&encoding->reader);
		}
	}
	encoding->opcode = byte;
}

static void read_modrm(struct x86_encoding *encoding)
{
	uint8_t modrm = cursor_u8(&encoding->reader);
	uint8_t low = modrm & 7;

	encoding->has_modrm = true;
	encoding->mode = modrm >> 6;
	encoding->reg = (uint8_t)((modrm >> 3 & 7) | (encoding->rex & X86_REX_R ? 8 : 0));
	encoding->rm = (uint8_t)(low | (encoding->rex & X86_REX_B ? 8 : 0));
	encoding->base = X86_NO_REGISTER;
	encoding->index = X86_NO_REGISTER;
	if (encoding->mode == 3)
		return;
	encoding->base = encoding->rm;
	if (low == 4) {
		uint8_t sib = cursor_u8(&encoding->reader);
		uint8_t index = (uint8_t)((sib >> 3 & 7) | (encoding->rex & X86_REX_X ? 8 : 0));

		encoding->base = (uint8_t)((sib & 7) | (encoding->rex & X86_REX_B ? 8 : 0));
		encoding->index = index == RSP ? X86_NO_REGISTER : index;
		low = sib & 7;
		if (low == 5 && encoding->mode == 0)
			encoding->base = X86_NO_REGISTER;
	} else if (low == 5 && encoding->mode == 0) {
		encoding->base = X86_NO_REGISTER;
		encoding->is_rip_relative = true;
	}
	if (encoding->mode == 1)
		encoding->displacement = read_signed(&encoding->reader, 1);
	else if (encoding->mode == 2 || (encoding->mode == 0 && low == 5))
		encoding->displacement = read_signed(&encoding->reader, 4);
}

static char form_of(const struct x86_encoding *encoding)
{
	if (encoding->map > X86_MAP_0F3A)
		return 'M'; /* EVEX maps 5 and 6 */
	if (encoding->map == X86_MAP_0F38)
		return 'M';
	if (encoding->map == X86_MAP_0F3A)
		return 'b';
	if (encoding->map == X86_MAP_0F)
		return two_byte_map[encoding->opcode];
	return one_byte_map[encoding->opcode];
}

static bool read_operands(struct x86_encoding *encoding)
{
	char form = form_of(encoding);
	size_t word = encoding->is_16_bit ? 2 : 4;

	if (form == '-' || form == 'x' || form == 'p')
		return false;
	if (form == 'M' || form == 'b' || form == 'z')
		read_modrm(encoding);
	/* XOP, which few processors had, is not supported. */
	if (encoding->map == X86_MAP_ONE_BYTE && encoding->opcode == 0x8f &&
	    (encoding->reg & 7) != 0)
		return false;
	/* test is the only instruction of its group with an immediate. */
	if (encoding->map == X86_MAP_ONE_BYTE && (encoding->opcode & 0xfe) == 0xf6 &&
	    (encoding->reg & 6) == 0)
		form = encoding->opcode == 0xf6 ? '1' : '4';
	if (form == 'b' || form == '1' || form == 'r')
		encoding->immediate = read_signed(&encoding->reader, 1);
	else if (form == 'z' || form == '4')
		encoding->immediate = read_signed(&encoding->reader, word);
	else if (form == '8')
		encoding->immediate =
			read_signed(&encoding->reader, encoding->rex & X86_REX_W ? 8 : word);
	else if (form == 'R')
		encoding->immediate = read_signed(&encoding->reader, 4);
	else if (form == '2')
		encoding->immediate = read_signed(&encoding->reader, 2);
	else if (form == 'o')
		encoding->immediate = read_signed(&encoding->reader, 8);
	else if (form == 'e')
		(void)cursor_fixed(&encoding->reader, 3);
	return !encoding->reader.error;
}

bool x86_encoding_read(struct bytes_view code, struct x86_encoding *ret_encoding,
		       uint8_t *ret_length)
{
	/* No instruction is longer than 15 bytes. */
	struct bytes_view view = { .data = code.data, .size = MIN(code.size, (size_t)15) };
	struct x86_encoding encoding = { .reader = bytes_reader_of(view) };

	read_opcode(&encoding);
	if (encoding.reader.error || !read_operands(&encoding))
		return false;
	/* base and index also have no register if there is no ModRM. */
	if (!encoding.has_modrm)
		encoding.base = encoding.index = X86_NO_REGISTER;
	*ret_encoding = encoding;
	*ret_length = (uint8_t)(encoding.reader.next - view.data);
	return true;
}
