/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbols_table */
#include "symbolizer/symbols/table/symbol_file.h"
#include "symbolizer/symbols/table/symbol_pack.h"

#define FLAT_MAX_BYTES (64 * MIB)

/* An input that expands must have the size of its header. The result need not be a valid table. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(symbol_file_freep) struct symbol_file *file = NULL;
	struct bytes flat = BYTES_INIT(FLAT_MAX_BYTES);
	uint64_t flat_bytes;

	if (symbol_unpack((struct bytes_view){ data, size }, &flat) == 0) {
		int r = symbol_pack_flat_bytes((struct bytes_view){ data, size }, &flat_bytes);

		assert(r == 0 && flat_bytes == flat.size);
		(void)symbol_file_open_memory(bytes_view_of(&flat), &file);
	}
	file = symbol_file_free(file);
	bytes_release(&flat);
	return 0;
}
