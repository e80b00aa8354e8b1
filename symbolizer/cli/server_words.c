/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/cli/server_words.h"

#include <stdio.h>

#include "symbolizer/cli/client.h"
#include "symbolizer/cli/human.h"

/* "app_service count 121 is invalid": the services that a filter leaves. */
static bool append_too_many(struct bytes *out, const char *words)
{
	unsigned int count;
	int end = 0;

	if (sscanf(words, "app_service count %9u is invalid%n", &count, &end) != 1 || end == 0 ||
	    words[end] != '\0')
		return false;
	(void)bytes_append_format(out,
				  "the filter leaves %u services, and one answer holds at most 10: "
				  "name one ('hearth services' lists them) or narrow the filter",
				  count);
	return true;
}

void server_words_append(struct bytes *out, const char *words)
{
	static const char key[] = "tag_filter";
	scoped_bytes struct bytes renamed = BYTES_INIT(MIB);

	if (append_too_many(out, words))
		return;
	for (const char *found; (found = strstr(words, key)); words = found + strlen(key)) {
		(void)bytes_append(&renamed, words, (size_t)(found - words));
		(void)bytes_append_text(&renamed, "--filter");
	}
	(void)bytes_append_text(&renamed, words);
	(void)bytes_append_byte(&renamed, '\0');
	if (bytes_error(&renamed) == 0)
		(void)human_append(out, (const char *)renamed.data, -1);
}
