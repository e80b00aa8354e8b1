/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/executable_id.h"
#include "common/scoped.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_free char *text = strndup((const char *)data, size);
	char again[EXECUTABLE_ID_TEXT_SIZE];
	struct executable_id id, id_again;

	if (!text || executable_id_parse(text, &id) < 0)
		return 0;
	executable_id_format(&id, again);
	assert(executable_id_parse(again, &id_again) == 0 && executable_id_equal(&id, &id_again));
	return 0;
}
