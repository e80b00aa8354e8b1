/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elf/eh_pointer.h"

uint64_t eh_pointer_read_number(struct bytes_reader *cursor, uint8_t encoding)
{
	switch (encoding & EH_PE_FORMAT_MASK) {
	case EH_PE_ABSPTR:
	case EH_PE_SIGNED:
	case EH_PE_UDATA8:
	case EH_PE_SDATA8:
		return cursor_u64(cursor);
	case EH_PE_ULEB128:
		return cursor_uleb(cursor);
	case EH_PE_SLEB128:
		return (uint64_t)cursor_sleb(cursor);
	case EH_PE_UDATA2:
		return cursor_u16(cursor);
	case EH_PE_SDATA2:
		return (uint64_t)(int16_t)cursor_u16(cursor);
	case EH_PE_UDATA4:
		return cursor_u32(cursor);
	case EH_PE_SDATA4:
		return (uint64_t)(int32_t)cursor_u32(cursor);
	default:
		return cursor_fail(cursor);
	}
}

/* Skips the padding before an aligned pointer. */
static void skip_to_alignment(struct bytes_reader *cursor, uint64_t field_vaddr)
{
	(void)cursor_take(cursor, -field_vaddr & 7);
}

uint64_t eh_pointer_read(struct bytes_reader *cursor, uint8_t encoding, uint64_t field_vaddr,
			 const struct eh_pointer_bases *bases)
{
	uint64_t base = 0;

	if (encoding & EH_PE_INDIRECT)
		return cursor_fail(cursor);
	switch (encoding & EH_PE_BASE_MASK) {
	case 0:
		break;
	case EH_PE_PCREL:
		base = field_vaddr;
		break;
	case EH_PE_TEXTREL:
		base = bases->text;
		break;
	case EH_PE_DATAREL:
		base = bases->data;
		break;
	case EH_PE_FUNCREL:
		base = bases->function;
		break;
	case EH_PE_ALIGNED:
		skip_to_alignment(cursor, field_vaddr);
		return cursor_u64(cursor);
	default:
		return cursor_fail(cursor);
	}
	/* The sum is modulo 2^64: a negative distance is a large unsigned number. */
	return base + eh_pointer_read_number(cursor, encoding);
}
