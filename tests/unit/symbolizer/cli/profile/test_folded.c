/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/profile/flame_text.h"

#include "tests/unit/symbolizer/cli/profile/profile_fixture.h"

static void every_stack_with_a_value_is_one_line(void **state)
{
	scoped(call_tree_freep) struct call_tree *tree = profile_fixture_tree();
	struct bytes out = BYTES_INIT(64 * KIB);

	(void)state;
	assert_ok(folded_write(tree, &out));
	assert_bytes_equal_text(&out, "demo;[p] demo;main 5\n"
				      "demo;[p] demo;main;work 10\n"
				      "demo;[p] demo;main;work;work;[l] memcpy 30\n"
				      "demo;[p] demo;main;work;[k] do_syscall_64;[k] ext4_read 20\n"
				      "demo;[p] demo;main;[/opt/lib.so] 5\n"
				      "demo;[t] gc;loop;mark 30\n");
	bytes_release(&out);
}

static void an_output_that_is_too_large_is_an_error(void **state)
{
	scoped(call_tree_freep) struct call_tree *tree = profile_fixture_tree();
	struct bytes out = BYTES_INIT(64);

	(void)state;
	assert_errno(folded_write(tree, &out), -EFBIG);
	bytes_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_stack_with_a_value_is_one_line),
		cmocka_unit_test(an_output_that_is_too_large_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
