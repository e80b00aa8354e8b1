/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbols_line_table */
/*
 * The first four bytes are the first line of the function, which also selects the language; the
 * rest is its line table.
 */
#include "symbolizer/symbols/line_table/line_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const languages[] = { "python", "java", "ruby" };
	struct line_table table = {};

	if (size < sizeof(table.first_line))
		return 0;
	memcpy(&table.first_line, data, sizeof(table.first_line));
	table.language = languages[table.first_line % ARRAY_SIZE(languages)];
	table.bytes = (struct bytes_view){ .data = data + sizeof(table.first_line),
					   .size = size - sizeof(table.first_line) };
	for (uint64_t position = 0; position < 16 * table.bytes.size; position++)
		(void)line_table_find(&table, position);
	/* The last line of CPython 3.8 and 3.9 has no end. */
	if (table.language == languages[0] && (table.bytes.size == 0 || table.bytes.data[0] >= 10))
		assert(line_table_find(&table, UINT64_MAX) == table.first_line);
	return 0;
}
