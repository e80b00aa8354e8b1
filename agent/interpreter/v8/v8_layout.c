/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/v8/v8_layout.h"

#include "agent/interpreter/v8/layouts.def"

/* clang-format off */
#define FUNCTION(shared) .function_shared = (shared)
#define SHARED(type, name, script) .shared_type = (type), .shared_name = (name), .shared_script = (script)
#define SCOPE(type, module, first) .scope_type = (type), .scope_of_module = (module), .positions_first = (first)
#define SCRIPT(type) .script_type = (type)
#define LAYOUT(major, minor, ...) { .version = (major) << 8 | (minor), __VA_ARGS__ },
/* clang-format on */

static const struct v8_layout layouts[] = { V8_LAYOUTS(LAYOUT) };

const struct v8_layout *v8_layout_of(uint32_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}
