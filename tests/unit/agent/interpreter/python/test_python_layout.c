/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/python/python_layout.h"

#include "tests/support/unit.h"

#if defined(HAS_HEADERS)
#define Py_BUILD_CORE 1
#include <Python.h>

#include <pycore_frame.h>
#include <pycore_interp.h>
#include <pycore_runtime.h>

#define assert_offset(value, type, field) assert_int_equal((value), offsetof(type, field))

static void offsets_are_those_of_the_headers(void **state)
{
	const struct python_layout *layout = python_layout_of(PY_VERSION_HEX >> 16);

	(void)state;
	assert_non_null(layout);
	assert_offset(layout->walk.runtime_current_thread, _PyRuntimeState,
		      gilstate.tstate_current);
	assert_offset(layout->walk.runtime_interpreters, _PyRuntimeState, interpreters.head);
	assert_offset(layout->walk.interpreter_next, PyInterpreterState, next);
	assert_offset(layout->walk.interpreter_threads, PyInterpreterState, threads.head);
	assert_offset(layout->walk.thread_next, PyThreadState, next);
	assert_offset(layout->walk.thread_native_id, PyThreadState, native_thread_id);
	assert_offset(layout->walk.thread_cframe, PyThreadState, cframe);
	assert_offset(layout->walk.cframe_frame, _PyCFrame, current_frame);
	assert_offset(layout->walk.cframe_previous, _PyCFrame, previous);
	assert_offset(layout->walk.frame_code, _PyInterpreterFrame, f_code);
	assert_offset(layout->walk.frame_previous, _PyInterpreterFrame, previous);
	assert_offset(layout->walk.frame_instruction, _PyInterpreterFrame, prev_instr);
	assert_offset(layout->walk.frame_entry, _PyInterpreterFrame, is_entry);
	assert_offset(layout->walk.code_bytecode, PyCodeObject, co_code_adaptive);
	assert_offset(layout->code.code_file, PyCodeObject, co_filename);
	assert_offset(layout->code.code_name, PyCodeObject, co_name);
	assert_offset(layout->code.code_qualified_name, PyCodeObject, co_qualname);
	assert_offset(layout->code.code_first_line, PyCodeObject, co_firstlineno);
	assert_offset(layout->code.code_line_table, PyCodeObject, co_linetable);
	assert_offset(layout->code.text_length, PyASCIIObject, length);
	assert_offset(layout->code.text_state, PyASCIIObject, state);
	assert_int_equal(layout->code.text_ascii, sizeof(PyASCIIObject));
	assert_int_equal(layout->code.text_other, sizeof(PyCompactUnicodeObject));
	assert_offset(layout->code.bytes_data, PyBytesObject, ob_sval);
	assert_int_equal(layout->code.bytes_data,
			 offsetof(PyBytesObject, ob_base.ob_size) + 2 * sizeof(uint64_t));
}
#else
static void offsets_are_those_of_the_headers(void **state)
{
	(void)state;
	skip();
}
#endif

static void each_version_fits_what_the_unwinder_reads(void **state)
{
	(void)state;
	assert_null(python_layout_of(3 << 8 | 7));
	for (uint32_t minor = 8; minor <= 14; minor++) {
		const struct python_layout *layout = python_layout_of(3 << 8 | minor);
		const struct abi_python_layout *walk = &layout->walk;
		const uint16_t offsets[] = { walk->frame_code, walk->frame_previous,
					     walk->frame_instruction };

		assert_non_null(layout);
		assert_true(walk->frame_bytes <= ABI_PYTHON_FRAME_BYTES);
		assert_true(walk->frame_entry < walk->frame_bytes);
		for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
			assert_int_equal(offsets[i] % sizeof(uint64_t), 0);
			assert_true(offsets[i] + sizeof(uint64_t) <= walk->frame_bytes);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_are_those_of_the_headers),
		cmocka_unit_test(each_version_fits_what_the_unwinder_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
