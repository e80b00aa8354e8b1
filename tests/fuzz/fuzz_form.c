/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbolizer_http */
#include <string.h>

#include "symbolizer/http/form.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct form form;
	size_t used = 0;

	if (arena_new(4 * MIB, &arena) < 0 ||
	    form_parse((struct bytes_view){ data, size }, arena, &form) < 0)
		return 0;
	assert(form.n_fields <= FORM_MAX_FIELDS);
	for (size_t i = 0; i < form.n_fields; i++)
		used += strlen(form.fields[i].name) + strlen(form.fields[i].value);
	assert(used <= size);
	return 0;
}
