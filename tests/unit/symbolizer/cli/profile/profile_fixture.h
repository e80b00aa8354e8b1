/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A small profile in the form of the server's answers: a service with two threads, a chain, a
 * recursion, a library, the kernel and a module without names.
 *
 *   demo 100
 *   ├ [p] demo 70
 *   │  └ main 70 (self 5)
 *   │     ├ work 60 (self 10)
 *   │     │  ├ work 30 → [l] memcpy 30 (self 30)
 *   │     │  └ [k] do_syscall_64 20 → [k] ext4_read 20 (self 20)
 *   │     └ [/opt/lib.so] 5 (self 5)
 *   └ [t] gc 30
 *      └ loop 30 → mark 30 (self 30)
 */

#include "symbolizer/cli/profile/call_tree.h"
#include "tests/support/unit.h"

#define PROFILE_FIXTURE_RESULT                                                                     \
	"{\"functions\":[\"demo\",\"[p] demo\",\"main\",\"work\",\"[l] memcpy\","                  \
	"\"[k] do_syscall_64\",\"[k] ext4_read\",\"[/opt/lib.so]\",\"[t] gc\",\"loop\",\"mark\"]," \
	"\"function_types\":[\"P\",\"P\",\"A\",\"A\",\"L\",\"K\",\"K\",\"?\",\"T\",\"A\",\"A\"],"  \
	"\"function_values\":{\"columns\":[\"self_value\",\"total_value\"],\"values\":[[0,100],"   \
	"[0,70],[5,70],[10,60],[30,30],[0,20],[20,20],[5,5],[0,30],[0,30],[30,30]]},"              \
	"\"node_values\":{\"columns\":[\"function_id\",\"parent_node_id\",\"self_value\","         \
	"\"total_value\"],\"values\":[[0,-1,0,100],[1,0,0,70],[2,1,5,70],[3,2,10,60],[3,3,0,30],"  \
	"[4,4,30,30],[5,3,0,20],[6,6,20,20],[7,2,5,5],[8,0,0,30],[9,9,0,30],[10,10,30,30]]}}"

#define PROFILE_FIXTURE_ANSWER(result)                                                             \
	"{\"OPT_STATUS\":\"SUCCESS\",\"DESCRIPTION\":\"because\",\"result\":" result               \
	",\"debug\":null}"

static inline int profile_fixture_parse(const char *answer, struct call_tree **ret_tree,
					char *ret_description, size_t size)
{
	struct bytes_view view = { .data = (const uint8_t *)answer, .size = strlen(answer) };

	return call_tree_from_answer(view, ret_tree, ret_description, size);
}

static inline struct call_tree *profile_fixture_tree(void)
{
	struct call_tree *tree = NULL;
	char description[64];

	assert_int_equal(profile_fixture_parse(PROFILE_FIXTURE_ANSWER(PROFILE_FIXTURE_RESULT),
					       &tree, description, sizeof(description)),
			 1);
	return tree;
}
