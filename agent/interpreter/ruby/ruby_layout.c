/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/ruby/ruby_layout.h"

#include "agent/interpreter/ruby/layouts.def"

/* clang-format off */
#define FRAME(bytes) .walk.frame_bytes = (bytes)
#define LISTED(threads, id, ec, thread) \
	.walk.vm_threads = (threads), .walk.thread_id = (id), .walk.thread_ec = (ec), .walk.ec_thread = (thread)
#define NO_LIST .walk.vm_threads = 0
#define LINE(offset, is_fixnum) .first_line = (offset), .line_is_fixnum = (is_fixnum)
#define LINES(body, size, positions, bytes) \
	.lines_body = (body), .lines_size = (size), .lines_positions = (positions), .line_bytes = (bytes)
#define TEXT(has_length) .text_has_length = (has_length)
#define LAYOUT(major, minor, ...) { .version = (major) << 8 | (minor), __VA_ARGS__ },
/* clang-format on */

static const struct ruby_layout layouts[] = { RUBY_LAYOUTS(LAYOUT) };

const struct ruby_layout *ruby_layout_of(uint32_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}
