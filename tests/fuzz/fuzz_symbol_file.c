/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbols_table */
#include <stdlib.h>

#include "symbolizer/symbols/table/symbol_file.h"
#include "symbolizer/symbols/table/symbol_layout.h"

/* Each chain must end, and each text must be readable. */
static void read_all(const struct symbol_file *file)
{
	const struct symbol_file_info *info = symbol_file_info(file);
	size_t lengths = 0;

	for (uint32_t i = 0; i < info->n_ranges; i++) {
		struct symbol_range range, around;
		uint32_t location;
		unsigned int depth = 0;

		symbol_file_range(file, i, &range);
		assert(symbol_file_nameless(file, range.end, &around) == 0 ||
		       (around.start <= range.end && range.end < around.end));
		symbol_file_find(file, &range.start, 1, &location);
		while (location != SYMBOL_NO_LOCATION) {
			struct symbol_frame frame;

			location = symbol_file_frame(file, location, &frame);
			assert(++depth <= SYMBOL_CHAIN_MAX);
			lengths += frame.function ? strlen(frame.function) : 0;
			assert(!frame.function ||
			       (symbol_file_code_around(file, range.start, frame.function,
							&around) == 1 &&
				around.start <= range.start && range.start < around.end));
			lengths += frame.linkage_name ? strlen(frame.linkage_name) : 0;
			lengths += frame.path ? strlen(frame.path) : 0;
		}
	}
	assert(lengths < SIZE_MAX / 2);
}

/* The input is a flat table. Its checksum is corrected, as a hostile writer would do. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(symbol_file_freep) struct symbol_file *file = NULL;
	scoped_free uint8_t *copy = malloc(size + 1);

	if (!copy || size < sizeof(struct symbol_header))
		return 0;
	memcpy(copy, data, size);
	((struct symbol_header *)(void *)copy)->checksum =
		symbol_layout_checksum((struct bytes_view){ copy, size });
	if (symbol_file_open_memory((struct bytes_view){ copy, size }, &file) == 0)
		read_all(file);
	return 0;
}
