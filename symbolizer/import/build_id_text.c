/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/import/build_id_text.h"

#include <string.h>

#include "common/hash.h"

struct executable_id build_id_of_text(const char *text)
{
	struct executable_id id = {};

	if (strchr(text, '/'))
		(void)executable_id_set(&id, EXECUTABLE_ID_GO, text, strlen(text));
	else
		(void)executable_id_parse(text, &id);
	return id;
}

struct executable_id htlhash_of_text(const char *text)
{
	uint8_t bytes[EXECUTABLE_ID_HTLHASH_BYTES];
	struct executable_id id = {};
	int size = hex_decode(text, strlen(text), bytes, sizeof(bytes));

	if (size != sizeof(bytes))
		return id;
	/* The profiler's number of code without a file. */
	for (size_t i = 1; i < sizeof(bytes); i++)
		if (bytes[i] != bytes[0]) {
			(void)executable_id_set(&id, EXECUTABLE_ID_HTLHASH, bytes, sizeof(bytes));
			break;
		}
	return id;
}
