/* SPDX-License-Identifier: Apache-2.0 */
#include "common/scoped.h"
#include "common/zstd_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
	int r = zstd_decompress((struct bytes_view){ .data = data, .size = size }, &out);

	assert(out.size <= out.ceiling && out.capacity <= out.ceiling);
	assert(r == 0 || out.size == 0);
	return 0;
}
