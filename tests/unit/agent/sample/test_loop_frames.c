/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sample/loop_frames.h"

#include "common/frame.h"
#include "tests/support/unit.h"

/* A lower-case letter is a function of PHP, L the loop, any other character a native function. */
static void expect_aligned(const char *stack, const char *expected)
{
	const size_t count = strlen(stack);
	struct window_frame *frames = calloc(count ? count : 1, sizeof(*frames));
	size_t n;

	assert_non_null(frames);
	for (size_t i = 0; i < count; i++) {
		frames[i].kind = stack[i] >= 'a' && stack[i] <= 'z' ? FRAME_PHP : FRAME_NATIVE;
		frames[i].address = (uint8_t)stack[i];
	}
	n = loop_frames_align(frames, count);
	assert_int_equal(n, strlen(expected));
	for (size_t i = 0; i < n; i++)
		assert_int_equal(frames[i].address, expected[i]);
	free(frames);
}

static void other_stacks_are_not_changed(void **state)
{
	static const char *const stacks[] = { "", "1", "12L3", "abL1", "1aL2", "1aL2bL3", "ab" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++)
		expect_aligned(stacks[i], stacks[i]);
}

static void a_call_that_begins_gets_no_functions(void **state)
{
	(void)state;
	expect_aligned("1cL2m", "1mL2");
	expect_aligned("1cL2abL3m", "1abL2mL3");
	expect_aligned("123cL2ab", "123abL2");
	expect_aligned("cL2aL3bL4nm", "aL2bL3nmL4");
}

static void a_call_that_returns_gets_no_functions(void **state)
{
	(void)state;
	expect_aligned("1mL2L3", "1L2mL3");
	expect_aligned("abL12L3", "L12abL3");
	expect_aligned("1aL2bcL34L5", "1L2aL34bcL5");
	expect_aligned("L", "L");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_stacks_are_not_changed),
		cmocka_unit_test(a_call_that_begins_gets_no_functions),
		cmocka_unit_test(a_call_that_returns_gets_no_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
