/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbolizer_import symbolizer_ingest */

#include "tests/fuzz/import_fuzz.h"

/* The first byte selects the form: with or without values. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import_result result = {};

	if (size == 0)
		return 0;
	(void)import_folded(&fuzz_request, (struct bytes_view){ data + 1, size - 1 }, data[0] & 1,
			    &result);
	check_batches(&result);
	return 0;
}
