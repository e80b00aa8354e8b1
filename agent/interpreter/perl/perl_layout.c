/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/perl/perl_layout.h"

#include "agent/interpreter/perl/layouts.def"

/* struct interpreter: Iop, in all known versions. */
#define INSTRUCTION 8

/* clang-format off */
#define THREADS(cop, stack_info) \
	.walk.instruction = INSTRUCTION, .walk.statement = (cop), .walk.stack = (stack_info)
#define STACK(kind) .walk.stack_kind = (kind)
#define CONTEXT(bytes, cv) .walk.context_bytes = (bytes), .walk.context_cv = (cv)
#define OPS(next, eval, try) \
	.next_state = (next), .walk.eval_string = (eval), .eval_block = (try)
#define STASH(has_names) .stash_has_names = (has_names)
#define LAYOUT(major, minor, ...) { .version = (major) << 8 | (minor), __VA_ARGS__ },
/* clang-format on */

static const struct perl_layout layouts[] = { PERL_LAYOUTS(LAYOUT) };

const struct perl_layout *perl_layout_of(uint32_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].version == (version & ~PERL_VERSION_NO_THREADS))
			return &layouts[i];
	return NULL;
}
