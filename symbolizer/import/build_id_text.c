/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/import/build_id_text.h"

#include <string.h>

struct executable_id build_id_of_text(const char *text)
{
	struct executable_id id = {};

	if (strchr(text, '/'))
		(void)executable_id_set(&id, EXECUTABLE_ID_GO, text, strlen(text));
	else
		(void)executable_id_parse(text, &id);
	return id;
}
