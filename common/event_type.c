/* SPDX-License-Identifier: Apache-2.0 */
#include "common/event_type.h"

#include <string.h>

#include "common/base.h"

struct event_type_row {
	const char *name;
	const char *unit;
};

static const struct event_type_row event_types[] = {
#define X(id, number, type_name, unit_name, ...)                                                   \
	[EVENT_##id] = { .name = (type_name), .unit = (unit_name) },
	EVENT_TYPES(X)
#undef X
};

static_assert(ARRAY_SIZE(event_types) == EVENT_TYPE_END, "every event type needs a row");

const char *event_type_name(unsigned int type)
{
	return type < ARRAY_SIZE(event_types) ? event_types[type].name : NULL;
}

const char *event_type_unit(unsigned int type)
{
	return type < ARRAY_SIZE(event_types) ? event_types[type].unit : NULL;
}

unsigned int event_type_answer_divisor(unsigned int type)
{
	const char *unit = event_type_unit(type);

	return unit && strcmp(unit, "ns") == 0 ? 1000 : 1;
}

enum event_type event_type_from_name(const char *name)
{
	for (unsigned int type = 0; type < ARRAY_SIZE(event_types); type++)
		if (event_types[type].name && strcmp(event_types[type].name, name) == 0)
			return (enum event_type)type;
	return EVENT_NONE;
}
