/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbols_compile */
#include "common/scoped.h"
#include "symbolizer/symbols/compile/demangle.h"
#include "tests/fuzz/allocation_failure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
	int r;

	r = demangle_append(&out, (const char *)data, size);
	assert(r == 0 || allocation_failed());
	assert(out.size <= DEMANGLED_NAME_MAX_BYTES + MANGLED_NAME_MAX_BYTES);
	return 0;
}
