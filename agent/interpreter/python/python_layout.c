/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/python/python_layout.h"

#include "agent/interpreter/python/layouts.def"

/* clang-format off */
#define RUNTIME(current, head) \
	.walk.runtime_current_thread = (current), .walk.runtime_interpreters = (head)
#define VM(next, threads) \
	.walk.interpreter_next = (next), .walk.interpreter_threads = (threads)
#define THREAD(next, id, cframe) \
	.walk.thread_next = (next), .walk.thread_native_id = (id), .walk.thread_cframe = (cframe)
#define CFRAME(frame, previous) \
	.walk.cframe_frame = (frame), .walk.cframe_previous = (previous), .walk.has_cframes = 1
#define NO_CFRAME .walk.has_cframes = 0
#define FRAME(code, previous, instruction, entry, value, is_shim, bytes) \
	.walk.frame_code = (code), .walk.frame_previous = (previous), .walk.frame_instruction = (instruction), \
	.walk.frame_entry = (entry), .walk.frame_entry_value = (value), .walk.frame_entry_is_shim = (is_shim), \
	.walk.frame_bytes = (bytes)
#define CODE(file, name, qualified_name, first_line, line_table, bytecode) \
	.code.code_file = (file), .code.code_name = (name), .code.code_qualified_name = (qualified_name), \
	.code.code_first_line = (first_line), .code.code_line_table = (line_table), .walk.code_bytecode = (bytecode)
#define OLD_FRAME(code, previous, index, unit_bytes, bytes) \
	.walk.frame_code = (code), .walk.frame_previous = (previous), .walk.frame_instruction = (index), \
	.walk.index_bytes = (unit_bytes), .walk.frame_bytes = (bytes)
#define OLD_CODE(file, name, first_line, line_table, mark) \
	.code.code_file = (file), .code.code_name = (name), .code.code_qualified_name = (name), \
	.code.code_first_line = (first_line), .code.code_line_table = (line_table), .code.line_table_mark = (mark)
#define TEXT(length, state, ascii, other, bytes_) \
	.code.text_length = (length), .code.text_state = (state), .code.text_ascii = (ascii), \
	.code.text_other = (other), .code.bytes_data = (bytes_)
#define LAYOUT(major, minor, ...) { .version = (major) << 8 | (minor), __VA_ARGS__ },
/* clang-format on */

static const struct python_layout layouts[] = { PYTHON_LAYOUTS(LAYOUT) };

const struct python_layout *python_layout_of(uint32_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}
