/* SPDX-License-Identifier: Apache-2.0 */
#include "common/event_type.h"

#include <string.h>

#include "common/base.h"

static const struct event_type_info event_types[] = {
#define X(id, number, type_name, unit_name, value_kind, ...)                                       \
	[EVENT_##id] = { .type = EVENT_##id,                                                       \
			 .name = (type_name),                                                      \
			 .unit = (unit_name),                                                      \
			 .kind = EVENT_VALUE_##value_kind },
	EVENT_TYPES(X)
#undef X
};

static_assert(ARRAY_SIZE(event_types) == EVENT_TYPE_END, "every event type needs a row");

const struct event_type_info *event_type_info(unsigned int type)
{
	return type < ARRAY_SIZE(event_types) && event_types[type].name ? &event_types[type] : NULL;
}

const char *event_type_name(unsigned int type)
{
	const struct event_type_info *info = event_type_info(type);

	return info ? info->name : NULL;
}

const char *event_type_unit(unsigned int type)
{
	const struct event_type_info *info = event_type_info(type);

	return info ? info->unit : NULL;
}

unsigned int event_unit_divisor(const char *unit)
{
	return unit && strcmp(unit, "ns") == 0 ? 1000 : 1;
}

unsigned int event_type_answer_divisor(unsigned int type)
{
	return event_unit_divisor(event_type_unit(type));
}

enum event_type event_type_from_name(const char *name)
{
	for (unsigned int type = 0; type < ARRAY_SIZE(event_types); type++)
		if (event_types[type].name && strcmp(event_types[type].name, name) == 0)
			return (enum event_type)type;
	return EVENT_NONE;
}
