/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elf/build_id.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct executable_id id;

	(void)build_id_from_notes((struct bytes_view){ .data = data, .size = size }, &id);
	return 0;
}
