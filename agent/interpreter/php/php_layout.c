/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/php/php_layout.h"

#include "agent/interpreter/php/layouts.def"

/* clang-format off */
#define CURRENT(offset) .walk.globals_current = (offset)
#define OPLINES(oplines, number) \
	.walk.function_oplines = (oplines), .walk.function_n_oplines = (number), \
	.walk.function_bytes = (oplines) + 8
#define FILE(file, line) .code.function_file = (file), .code.function_first_line = (line)
#define LAYOUT(major, minor, ...) { .version = (major) << 8 | (minor), __VA_ARGS__ },
/* clang-format on */

static const struct php_layout layouts[] = { PHP_LAYOUTS(LAYOUT) };

const struct php_layout *php_layout_of(uint32_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}
