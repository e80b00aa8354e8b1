/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbolizer_import */

#include "symbolizer/import/gunzip.h"

#include "common/scoped.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);

	(void)gunzip((struct bytes_view){ data, size }, &out);
	assert(out.size <= MIB);
	return 0;
}
