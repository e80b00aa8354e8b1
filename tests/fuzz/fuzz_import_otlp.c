/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbolizer_import symbolizer_ingest */

#include "tests/fuzz/import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import_result result = {};

	(void)import_otlp(&fuzz_request, (struct bytes_view){ data, size }, &result);
	check_batches(&result);
	return 0;
}
