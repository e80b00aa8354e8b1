/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbols_compile */
#include <sys/mman.h>

#include "common/file.h"
#include "symbolizer/symbols/compile/symbol_compile.h"
#include "symbolizer/symbols/table/symbol_file.h"
#include "symbolizer/symbols/table/symbol_pack.h"
#include "tests/fuzz/allocation_failure.h"

/* Limit of the table of an input, which has a few KiB. */
#define FLAT_MAX_BYTES (256 * MIB)

/* The compiled table must open, and its stored form must expand to the same bytes. */
static void check_table(struct bytes *flat)
{
	struct bytes stored = BYTES_INIT(FLAT_MAX_BYTES), again = BYTES_INIT(FLAT_MAX_BYTES);
	scoped(symbol_file_freep) struct symbol_file *file = NULL;
	int r = symbol_file_open_memory(bytes_view_of(flat), &file);

	if (r == 0)
		r = symbol_pack(bytes_view_of(flat), &stored);
	if (r == 0)
		r = symbol_unpack(bytes_view_of(&stored), &again);
	assert(r == 0 || allocation_failed());
	assert(r < 0 ||
	       (again.size == flat->size && memcmp(again.data, flat->data, flat->size) == 0));
	bytes_release(&stored);
	bytes_release(&again);
}

/* The input is used as main file, as file of dwz, and as split DWARF. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes flat = BYTES_INIT(FLAT_MAX_BYTES);
	scoped_fd int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct symbol_compile_report report;
	struct symbol_compile_input input = { fd, -1, fd, fd };

	if (fd < 0 || write_all(fd, data, size) < 0)
		return 0;
	if (symbol_compile_flat(&input, &flat, &report) == 0)
		check_table(&flat);
	bytes_release(&flat);
	return 0;
}
