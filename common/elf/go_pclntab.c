/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elf/go_pclntab.h"

#include <string.h>

#include "common/elf/dwarf_cursor.h"

static const uint32_t magics[] = {
	[GO_PCLNTAB_1_16] = 0xfffffffa,
	[GO_PCLNTAB_1_18] = 0xfffffff0,
	[GO_PCLNTAB_1_20] = 0xfffffff1,
};

/*
 * The header begins with the magic number (4 bytes), two zero bytes, the size of the smallest
 * instruction (1 byte), and the size of a pointer (1 byte).
 */
bool go_pclntab_magic_read(const uint8_t bytes[8], enum go_pclntab_version *ret_version)
{
	uint32_t magic;

	memcpy(&magic, bytes, sizeof(magic));
	if (bytes[4] != 0 || bytes[5] != 0 || bytes[7] != 8)
		return false;
	if (bytes[6] != 1 && bytes[6] != 2 && bytes[6] != 4)
		return false;
	for (unsigned int version = 0; version < ARRAY_SIZE(magics); version++) {
		if (magics[version] == magic) {
			*ret_version = (enum go_pclntab_version)version;
			return true;
		}
	}
	return false;
}

bool go_pclntab_header_read(const uint8_t bytes[GO_PCLNTAB_HEADER_BYTES],
			    struct go_pclntab_header *ret_header)
{
	struct bytes_reader cursor =
		cursor_at((struct bytes_view){ bytes, GO_PCLNTAB_HEADER_BYTES }, 8);
	struct go_pclntab_header header = { .quantum = bytes[6] };

	if (!go_pclntab_magic_read(bytes, &header.version))
		return false;
	header.n_functions = cursor_u64(&cursor);
	cursor_skip(&cursor, 8); /* number of files */
	if (header.version != GO_PCLNTAB_1_16)
		header.text_start = cursor_u64(&cursor);
	header.names = cursor_u64(&cursor);
	header.units = cursor_u64(&cursor);
	header.files = cursor_u64(&cursor);
	header.values = cursor_u64(&cursor);
	header.functions = cursor_u64(&cursor);
	*ret_header = header;
	return true;
}

struct go_pc_values go_pc_values_of(struct bytes_view table, uint8_t quantum)
{
	assert(quantum > 0);
	return (struct go_pc_values){
		.reader = bytes_reader_of(table),
		.value = -1,
		.quantum = quantum,
	};
}

/*
 * A pc-value table consists of pairs of LEB128 numbers: the change of the value (zigzag), and the
 * length of the range in units of the quantum. A change of 0 ends the table, except in the first
 * pair.
 */
bool go_pc_values_next(struct go_pc_values *values, uint32_t *ret_length)
{
	uint32_t change = (uint32_t)cursor_uleb(&values->reader);
	uint32_t length;

	if (change == 0 && values->has_begun)
		return false;
	length = (uint32_t)cursor_uleb(&values->reader);
	if (values->reader.error || length == 0 || length > UINT32_MAX / values->quantum)
		return false;
	values->has_begun = true;
	values->value = (int32_t)((uint32_t)values->value + (uint32_t)zigzag_decode(change));
	*ret_length = length * values->quantum;
	return true;
}
