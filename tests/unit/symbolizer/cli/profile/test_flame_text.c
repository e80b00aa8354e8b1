/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/profile/flame_text.h"

#include "tests/unit/symbolizer/cli/profile/profile_fixture.h"

/* Writes the fixture and compares. @expected_hidden: the number of frames not shown. */
static void assert_flame(const struct flame_text_options *options, const char *expected,
			 uint32_t expected_hidden)
{
	scoped(call_tree_freep) struct call_tree *tree = profile_fixture_tree();
	struct bytes out = BYTES_INIT(64 * KIB);
	uint32_t n_hidden = UINT32_MAX;

	assert_ok(flame_text_write(tree, options, &out, &n_hidden));
	(void)bytes_append_byte(&out, '\0');
	assert_string_equal((const char *)out.data, expected);
	assert_int_equal(n_hidden, expected_hidden);
	bytes_release(&out);
}

/* Not formatted: the lines are aligned as on a terminal. */
/* clang-format off */
static void frames_are_printed_below_their_callers_with_bars_and_shares(void **state)
{
	static const struct flame_text_options options = { .type = EVENT_ON_CPU, .width = 76 };

	(void)state;
	assert_flame(&options,
		     "100.0 %  ████████████████ demo                                        100 us\n"
		     " 70.0 %  ███████████▎      [p] demo                                    70 us\n"
		     " 70.0 %  ███████████▎       main                                       70 us\n"
		     " 60.0 %  █████████▋          work                                      60 us\n"
		     " 30.0 %  ████▊                work > [l] memcpy                        30 us\n"
		     " 20.0 %  ███▎                 [k] do_syscall_64 > [k] ext4_read        20 us\n"
		     "  5.0 %  ▊                   [/opt/lib.so]                              5 us\n"
		     " 30.0 %  ████▊             [t] gc                                      30 us\n"
		     " 30.0 %  ████▊              loop > mark                                30 us\n",
		     0);
}
/* clang-format on */

static void of_too_many_lines_the_largest_are_printed(void **state)
{
	static const struct flame_text_options options = {
		.type = EVENT_MEM_ALLOC, .width = 70, .max_rows = 5, .ascii = true
	};

	(void)state;
	assert_flame(&options,
		     "100.0 %  ################ demo                                   100 B\n"
		     " 70.0 %  ###########       [p] demo                               70 B\n"
		     " 70.0 %  ###########        main                                  70 B\n"
		     " 60.0 %  ##########          work                                 60 B\n"
		     " 30.0 %  #####                work > [l] memcpy                   30 B\n",
		     6);
}

static void frames_below_a_share_are_not_printed(void **state)
{
	static const struct flame_text_options options = {
		.type = EVENT_ON_CPU, .width = 70, .min_pct = 50, .ascii = true
	};

	(void)state;
	assert_flame(&options,
		     "100.0 %  ################ demo                                  100 us\n"
		     " 70.0 %  ###########       [p] demo                              70 us\n"
		     " 70.0 %  ###########        main                                 70 us\n"
		     " 60.0 %  ##########          work                                60 us\n",
		     8);
}

static void a_narrow_terminal_cuts_names_but_no_numbers(void **state)
{
	static const struct flame_text_options options = {
		.type = EVENT_ON_CPU, .width = 56, .max_rows = 7, .ascii = true
	};

	(void)state;
	assert_flame(&options,
		     "100.0 %  ################ demo                    100 us\n"
		     " 70.0 %  ###########       [p] demo                70 us\n"
		     " 70.0 %  ###########        main                   70 us\n"
		     " 60.0 %  ##########          work                  60 us\n"
		     " 30.0 %  #####                work > [l] …cpy      30 us\n"
		     " 30.0 %  #####             [t] gc                  30 us\n"
		     " 30.0 %  #####              loop > mark            30 us\n",
		     3);
}

static void bars_have_the_colour_of_the_type_of_function(void **state)
{
	static const struct flame_text_options options = {
		.type = EVENT_ON_CPU, .width = 70, .max_rows = 1, .colours = true
	};

	(void)state;
	assert_flame(&options,
		     "100.0 %  \033[38;5;245m████████████████\033[0m demo"
		     "                                  100 us\n",
		     11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_printed_below_their_callers_with_bars_and_shares),
		cmocka_unit_test(of_too_many_lines_the_largest_are_printed),
		cmocka_unit_test(frames_below_a_share_are_not_printed),
		cmocka_unit_test(a_narrow_terminal_cuts_names_but_no_numbers),
		cmocka_unit_test(bars_have_the_colour_of_the_type_of_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
