/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/profile_type.h"

#include <stdio.h>
#include <string.h>

static const struct {
	enum event_type type;
	const char *id;
} known[] = {
	{ EVENT_ON_CPU, "process_cpu:cpu:nanoseconds:cpu:nanoseconds" },
	{ EVENT_MEM_ALLOC, "memory:alloc_space:bytes:space:bytes" },
	{ EVENT_MEM_INUSE, "memory:inuse_space:bytes:space:bytes" },
};

void profile_type_id(const struct event_type_info *event, char ret_id[PROFILE_TYPE_ID_SIZE])
{
	const char *unit = strcmp(event->unit, "ns") == 0 ? "nanoseconds" : event->unit;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].type == event->type) {
			(void)snprintf(ret_id, PROFILE_TYPE_ID_SIZE, "%s", known[i].id);
			return;
		}
	}
	(void)snprintf(ret_id, PROFILE_TYPE_ID_SIZE, "%.150s:%.150s:%.100s:%.150s:%.100s",
		       event->name, event->name, unit, event->name, unit);
}

void profile_type_make(const struct event_type_info *event, struct profile_type *ret_type)
{
	const char *part;

	profile_type_id(event, ret_type->id);
	part = ret_type->id;
	for (size_t i = 0; i < PROFILE_TYPE_PARTS; i++) {
		size_t length = strcspn(part, ":");

		(void)snprintf(ret_type->parts[i], sizeof(ret_type->parts[i]), "%.*s", (int)length,
			       part);
		part += length + (part[length] == ':');
	}
}

/* The length of the first five parts; 0: there are fewer, or more than six. */
static size_t length_of_parts(const char *id)
{
	size_t length = 0, n_colons = 0;

	for (const char *c = id; *c; c++) {
		if (*c == ':' && ++n_colons == PROFILE_TYPE_PARTS)
			length = (size_t)(c - id);
	}
	if (n_colons == PROFILE_TYPE_PARTS - 1)
		return strlen(id);
	return n_colons == PROFILE_TYPE_PARTS ? length : 0;
}

bool profile_type_event_name(const char *id, char *ret_name, size_t size)
{
	size_t length = length_of_parts(id);

	if (length == 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strlen(known[i].id) == length && strncmp(known[i].id, id, length) == 0) {
			(void)snprintf(ret_name, size, "%s", event_type_name(known[i].type));
			return true;
		}
	}
	(void)snprintf(ret_name, size, "%.*s", (int)strcspn(id, ":"), id);
	return true;
}
