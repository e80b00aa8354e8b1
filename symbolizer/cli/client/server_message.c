/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/cli/client/server_message.h"

#include <stdio.h>
#include <string.h>

#include "symbolizer/cli/client/client.h"
#include "symbolizer/cli/print/printable.h"

/* "app_service count 121 is invalid": 121 services match the filter. */
static bool append_too_many(struct bytes *out, const char *message)
{
	unsigned int count;
	int end = 0;

	if (sscanf(message, "app_service count %9u is invalid%n", &count, &end) != 1 || end == 0 ||
	    message[end] != '\0')
		return false;
	(void)bytes_append_format(out,
				  "the filter leaves %u services, and one answer holds at most 10: "
				  "name one ('hearth services' lists them) or narrow the filter",
				  count);
	return true;
}

void server_message_append(struct bytes *out, const char *message)
{
	static const struct {
		const char *key;
		const char *option;
	} keys[] = {
		{ "tag_filter", "--filter" },
		{ "group_by", "--by" },
	};
	scoped_bytes struct bytes renamed = BYTES_INIT(MIB);

	if (append_too_many(out, message))
		return;
	while (*message) {
		size_t i = 0;

		while (i < ARRAY_SIZE(keys) &&
		       strncmp(message, keys[i].key, strlen(keys[i].key)) != 0)
			i++;
		if (i < ARRAY_SIZE(keys)) {
			(void)bytes_append_text(&renamed, keys[i].option);
			message += strlen(keys[i].key);
		} else {
			(void)bytes_append_byte(&renamed, (uint8_t)*message++);
		}
	}
	(void)bytes_append_byte(&renamed, '\0');
	if (bytes_error(&renamed) == 0)
		(void)printable_append(out, (const char *)renamed.data, -1);
}

static bool is_collected(enum event_type type)
{
	return type == EVENT_ON_CPU || type == EVENT_OFF_CPU || type == EVENT_RUN_QUEUE;
}

void server_message_print_no_data(const char *message, enum event_type type)
{
	scoped_bytes struct bytes out = BYTES_INIT(MIB);

	server_message_append(&out, message[0] ? message : "no data");
	if (!is_collected(type))
		(void)bytes_append_text(&out, "; agents collect " COLLECTED_EVENTS);
	(void)fprintf(stderr, "%.*s\n", (int)out.size, (const char *)out.data);
}

void server_message_print_note(const char *message)
{
	scoped_bytes struct bytes out = BYTES_INIT(MIB);

	if (!message[0])
		return;
	server_message_append(&out, message);
	(void)fprintf(stderr, "note: %.*s\n", (int)out.size, (const char *)out.data);
}
