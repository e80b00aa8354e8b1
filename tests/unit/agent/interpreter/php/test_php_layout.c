/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/php/php_layout.h"

#include "tests/support/unit.h"

#if defined(HAS_HEADERS)
#include <php.h>

#define assert_offset(value, type, field) assert_int_equal((value), offsetof(type, field))

static void offsets_are_those_of_the_headers(void **state)
{
	const struct php_layout *layout = php_layout_of(PHP_MAJOR_VERSION << 8 | PHP_MINOR_VERSION);

	(void)state;
	if (!layout)
		skip();
	assert_offset(layout->walk.globals_current, zend_executor_globals, current_execute_data);
	assert_offset(layout->walk.function_oplines, zend_op_array, opcodes);
	assert_offset(layout->walk.function_n_oplines, zend_op_array, last);
	assert_offset(layout->code.function_file, zend_op_array, filename);
	assert_offset(layout->code.function_first_line, zend_op_array, line_start);
	assert_offset(layout->code.function_first_line + 4, zend_op_array, line_end);
	/* Those that are the same in all versions. */
	assert_offset(0, zend_execute_data, opline);
	assert_offset(24, zend_execute_data, func);
	assert_offset(40, zend_execute_data, This.u1.type_info);
	assert_offset(48, zend_execute_data, prev_execute_data);
	assert_offset(0, zend_op_array, type);
	assert_offset(8, zend_op_array, function_name);
	assert_offset(16, zend_op_array, scope);
	assert_offset(24, zend_op, lineno);
	assert_int_equal(sizeof(zend_op), 32);
	assert_offset(0, zend_class_entry, type);
	assert_offset(8, zend_class_entry, name);
	assert_offset(4, zend_string, gc.u.type_info);
	assert_offset(16, zend_string, len);
	assert_offset(24, zend_string, val);
	assert_int_equal(ZEND_CALL_TOP, 1U << 17);
}
#else
static void offsets_are_those_of_the_headers(void **state)
{
	(void)state;
	skip();
}
#endif

static void each_version_fits_what_is_read(void **state)
{
	static const uint32_t versions[] = { 0x0704, 0x0800, 0x0801, 0x0802, 0x0803, 0x0804 };

	(void)state;
	assert_null(php_layout_of(0));
	assert_null(php_layout_of(0x0703));
	assert_null(php_layout_of(PHP_VERSION_ZTS | 0x0802));
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		const struct php_layout *layout = php_layout_of(versions[i]);

		assert_non_null(layout);
		assert_true(layout->walk.function_bytes <= ABI_PHP_FUNCTION_BYTES);
		assert_int_equal(layout->walk.function_oplines % 8, 0);
		assert_int_equal(layout->walk.function_n_oplines % 4, 0);
		assert_true(layout->walk.function_n_oplines < layout->walk.function_oplines);
		assert_int_equal(layout->code.function_first_line, layout->code.function_file + 8);
		assert_true(layout->code.function_first_line + 8 <= 192);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_are_those_of_the_headers),
		cmocka_unit_test(each_version_fits_what_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
