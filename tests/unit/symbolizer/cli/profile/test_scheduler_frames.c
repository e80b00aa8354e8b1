/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/profile/scheduler_frames.h"

#include "tests/unit/symbolizer/cli/profile/profile_fixture.h"

/*
 * demo 10 - [p] demo 10
 *   - poll 9 - [k] do_epoll_wait 9 - [k] schedule 9 (self 2) - [k] __schedule 7
 *   - [k] __schedule 1
 */
static const char waits[] =
	"{\"result\":{\"functions\":[\"demo\",\"[p] demo\",\"poll\",\"[k] do_epoll_wait\","
	"\"[k] schedule\",\"[k] __schedule\"],"
	"\"function_types\":[\"P\",\"P\",\"A\",\"K\",\"K\",\"K\"],"
	"\"function_values\":{\"columns\":[\"self_value\",\"total_value\"],\"values\":[[0,10],[0,"
	"10],"
	"[0,9],[0,9],[2,9],[8,8]]},"
	"\"node_values\":{\"columns\":[\"function_id\",\"parent_node_id\",\"self_value\","
	"\"total_value\"],\"values\":[[0,-1,0,10],[1,0,0,10],[2,1,0,9],[3,2,0,9],[4,3,2,9],"
	"[5,4,7,7],[5,1,1,1]]}},\"stats\":{\"covered_s\":12.4}}";

static void a_wait_is_charged_to_the_caller_of_the_scheduler(void **state)
{
	scoped(call_tree_freep) struct call_tree *tree = NULL;
	char description[64];

	(void)state;
	assert_int_equal(profile_fixture_parse(waits, &tree, description, sizeof(description)), 1);
	scheduler_frames_charge_callers(tree);
	assert_int_equal(tree->functions[3].self, 9);
	assert_int_equal(tree->functions[4].self, 0);
	assert_int_equal(tree->functions[4].total, 9);
	/* In a thread with scheduler frames only, no other function can be charged. */
	assert_int_equal(tree->functions[5].self, 1);
	assert_int_equal(tree->functions[1].self, 0);
}

static void other_functions_with_similar_names_are_no_scheduler(void **state)
{
	(void)state;
	assert_true(scheduler_frame_matches("[k] __schedule"));
	assert_true(scheduler_frame_matches("[k] schedule_hrtimeout_range_clock"));
	assert_true(scheduler_frame_matches("[k] io_schedule_timeout.isra.0"));
	assert_true(scheduler_frame_matches("[k] _cond_resched"));
	assert_true(scheduler_frame_matches("[k] __cond_resched"));
	assert_true(scheduler_frame_matches("[k] rt_mutex_schedule"));
	assert_false(scheduler_frame_matches("[k] poll_schedule_timeout.constprop.0"));
	assert_false(scheduler_frame_matches("schedule"));
}

static void the_covered_time_is_read_with_the_tree(void **state)
{
	scoped(call_tree_freep) struct call_tree *tree = NULL;
	char description[64];

	(void)state;
	assert_int_equal(profile_fixture_parse(waits, &tree, description, sizeof(description)), 1);
	assert_int_equal(tree->covered_s, 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_is_charged_to_the_caller_of_the_scheduler),
		cmocka_unit_test(other_functions_with_similar_names_are_no_scheduler),
		cmocka_unit_test(the_covered_time_is_read_with_the_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
