/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbolizer_symbols */
#include <sys/mman.h>

#include "common/file.h"
#include "symbolizer/symbols/symbol_table.h"

/* The first functions, in the middle of their ranges, find themselves. */
static void look_around(struct symbol_table *table)
{
	scoped(arena_freep) struct arena *arena = NULL;

	if (arena_new(MIB, &arena) < 0)
		return;
	for (uint32_t i = 0; i < symbol_table_count(table) && i < 16; i++) {
		const char *name;
		uint64_t start, end, middle;
		uint32_t found;

		symbol_table_range(table, i, &start, &end);
		assert(start < end);
		middle = start + (end - start) / 2;
		symbol_table_find(table, &middle, 1, &found);
		assert(found == i);
		assert(symbol_table_linkage_name(table, i)[0]);
		(void)symbol_table_display_name(table, i, arena, &name);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(symbol_table_freep) struct symbol_table *table = NULL;
	scoped_fd int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char message[SYMBOL_TABLE_MESSAGE_SIZE];

	if (fd < 0 || write_all(fd, data, size) < 0 || symbol_table_build(fd, &table, message) < 0)
		return 0;
	look_around(table);
	return 0;
}
