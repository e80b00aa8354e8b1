/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/v8/v8_layout.h"

#include "agent/interpreter/v8/layouts.def"

/* clang-format off */
#define FUNCTION(shared, code) .function_shared = (shared), .function_code = (code)
#define POINTER(offset) .code_start = (offset)
#define IN_OBJECT(offset) .code_header = (offset)
#define CODE(type, deopt, positions, start, flags, size) .code_type = (type), .code_deopt = (deopt), \
	.code_positions = (positions), start, .code_flags = (flags), .code_bytes = (size)
#define TIER(kind) .first_optimized = (kind)
#define DEOPT(literals, shared, inlined) .deopt_literals = (literals), .deopt_shared = (shared), \
	.deopt_inlined = (inlined)
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

struct abi_v8_layout v8_walk_of(const struct v8_layout *layout,
				const struct interpreter_facts *facts)
{
	const bool has_code = layout->version < V8_FIRST_WITH_HANDLES || facts->dispatch_table != 0;

	return (struct abi_v8_layout){
		.function_shared = layout->function_shared,
		.function_code = has_code ? layout->function_code : 0,
		.code_start = layout->code_start,
		.code_flags = layout->code_flags,
		.code_bytes = layout->code_bytes,
		.first_optimized = layout->first_optimized,
		.code_header = layout->code_header,
		.dispatch_table = facts->dispatch_table,
		.entry = facts->loop[0],
		.builtins = facts->loop[1],
	};
}
