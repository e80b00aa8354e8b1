/* SPDX-License-Identifier: Apache-2.0 */
#include "common/frame_kind.h"

#include "common/base.h"

struct frame_kind_row {
	const char *name;
	enum frame_object object;
	enum frame_position position;
	char marker;
};

static const struct frame_kind_row kinds[] = {
#define X(id, number, kind_name, letter, object_of, position_of, ...)                              \
	[FRAME_##id] = { .name = (kind_name),                                                      \
			 .object = FRAME_OBJECT_##object_of,                                       \
			 .position = FRAME_POSITION_##position_of,                                 \
			 .marker = (letter) },
	FRAME_KINDS(X)
#undef X
};

static_assert(ARRAY_SIZE(kinds) == FRAME_KIND_END, "every kind needs a row");
static_assert(FRAME_KIND_END <= FRAME_KIND_MAX + 1, "a kind fits into the store's eight bits");

static const struct frame_kind_row *row_of(unsigned int kind)
{
	static const struct frame_kind_row unknown = {};

	return kind < ARRAY_SIZE(kinds) && kinds[kind].name ? &kinds[kind] : &unknown;
}

const char *frame_kind_name(unsigned int kind)
{
	return row_of(kind)->name;
}

char frame_kind_marker(unsigned int kind)
{
	return row_of(kind)->marker;
}

bool frame_kind_allows(unsigned int kind, enum frame_object object)
{
	const struct frame_kind_row *row = row_of(kind);

	if (!row->name || object == row->object)
		return true;
	/* Code may lie in no known file, and a code object may be unreadable. */
	return object == FRAME_OBJECT_NOTHING;
}

enum frame_position frame_kind_position(unsigned int kind)
{
	return row_of(kind)->position;
}
