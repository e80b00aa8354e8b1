/* SPDX-License-Identifier: Apache-2.0 */
#include "common/frame_kind.h"

#include "tests/support/unit.h"

static void a_kind_has_the_name_and_marker_of_its_row(void **state)
{
	static const struct {
		unsigned int kind;
		const char *name;
		char marker;
		enum frame_position position;
		bool kernel;
	} cases[] = {
		{ 1, "native", 0, FRAME_POSITION_ELF_ADDRESS, false },
		{ 2, "kernel", 'k', FRAME_POSITION_ELF_ADDRESS, true },
		{ 3, "native-file-offset", 0, FRAME_POSITION_FILE_OFFSET, false },
		{ 4, "kernel-named", 'k', FRAME_POSITION_NAME_KEY, true },
		{ 5, "kernel-code", 'k', FRAME_POSITION_CODE_OFFSET, true },
		{ 6, "anonymous", 0, FRAME_POSITION_PROCESS_ADDRESS, false },
		{ 16, "python", 0, FRAME_POSITION_CODE_OFFSET, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_string_equal(frame_kind_name(cases[i].kind), cases[i].name);
		assert_int_equal(frame_kind_marker(cases[i].kind), cases[i].marker);
		assert_int_equal(frame_kind_position(cases[i].kind), cases[i].position);
		assert_int_equal(frame_kind_is_kernel(cases[i].kind), cases[i].kernel);
	}
}

static void a_kind_without_a_row_has_no_name_and_may_refer_to_anything(void **state)
{
	static const unsigned int kinds[] = {
		0, 7, 19, FRAME_KIND_END, FRAME_KIND_MAX, UINT32_MAX
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		assert_null(frame_kind_name(kinds[i]));
		assert_int_equal(frame_kind_marker(kinds[i]), 0);
		assert_false(frame_kind_is_kernel(kinds[i]));
		assert_int_equal(frame_kind_position(kinds[i]), FRAME_POSITION_UNKNOWN);
		assert_true(frame_kind_allows(kinds[i], FRAME_OBJECT_NOTHING));
		assert_true(frame_kind_allows(kinds[i], FRAME_OBJECT_EXECUTABLE));
		assert_true(frame_kind_allows(kinds[i], FRAME_OBJECT_CODE));
	}
}

static void a_known_kind_refers_to_one_sort_of_object_or_to_none(void **state)
{
	static const struct {
		enum frame_kind kind;
		bool executable, code;
	} cases[] = {
		{ FRAME_NATIVE, true, false },        { FRAME_KERNEL, true, false },
		{ FRAME_KERNEL_NAMED, false, false }, { FRAME_KERNEL_CODE, false, true },
		{ FRAME_ANONYMOUS, false, false },    { FRAME_HOTSPOT, false, true },
		{ FRAME_GPU, true, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(frame_kind_allows(cases[i].kind, FRAME_OBJECT_NOTHING));
		assert_int_equal(frame_kind_allows(cases[i].kind, FRAME_OBJECT_EXECUTABLE),
				 cases[i].executable);
		assert_int_equal(frame_kind_allows(cases[i].kind, FRAME_OBJECT_CODE),
				 cases[i].code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kind_has_the_name_and_marker_of_its_row),
		cmocka_unit_test(a_kind_without_a_row_has_no_name_and_may_refer_to_anything),
		cmocka_unit_test(a_known_kind_refers_to_one_sort_of_object_or_to_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
