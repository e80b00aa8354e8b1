/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/export/export.h"

#include <string.h>

#include "symbolizer/query/selection.h"

static const char names[] =
#define EXPORT_FORMAT(id, name, ...) ", " name
#include "common/export_formats.def"
#undef EXPORT_FORMAT
	;

const char *const export_format_names = names + sizeof(", ") - 1;

void export_divide(const struct export_writer *writer, struct profile_request *request)
{
	const uint64_t n_slots = request->to_slot - request->from_slot;

	/* The states of several times do not add up. */
	if (writer->stacks->max_blocks > 0 && !has_states(request))
		request->n_blocks = (uint32_t)MIN(n_slots, (uint64_t)writer->stacks->max_blocks);
}

const struct export_format *export_format_find(const char *name)
{
	static const struct export_format formats[] = {
#define EXPORT_FORMAT(id, format_name, type, file_suffix, ...)                                     \
	{ .name = format_name,                                                                     \
	  .content_type = type,                                                                    \
	  .suffix = file_suffix,                                                                   \
	  .writer = &export_##id },
#include "common/export_formats.def"
#undef EXPORT_FORMAT
	};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}
