/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbolizer_import */

#include "symbolizer/import/multipart.h"

#include <stdlib.h>

#include "common/scoped.h"

/* A header, a NUL, and a body. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size > 0 ? memchr(data, 0, size) : NULL;
	struct bytes_view body, value = {};

	if (!nul)
		return 0;
	body = (struct bytes_view){ nul + 1, size - (size_t)(nul + 1 - data) };
	if (multipart_find((const char *)data, body, "profile", &value) > 0)
		assert(value.data >= body.data && value.data + value.size <= body.data + body.size);
	return 0;
}
