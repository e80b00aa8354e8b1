/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/clickhouse/endpoints.h"

#include "tests/support/unit.h"

static void the_urls_of_a_list_take_turns(void **state)
{
	struct endpoints endpoints;

	(void)state;
	assert_ok(endpoints_init(&endpoints, " http://a:1/, http://b:2/path//,,http://c ", 1));
	assert_int_equal(endpoints.urls.count, 3);
	assert_string_equal(endpoints_current(&endpoints), "http://b:2/path");
	endpoints_next(&endpoints);
	assert_string_equal(endpoints_current(&endpoints), "http://c");
	endpoints_next(&endpoints);
	assert_string_equal(endpoints_current(&endpoints), "http://a:1");
	endpoints_release(&endpoints);
}

static void a_list_without_a_url_is_refused(void **state)
{
	static const char *const lists[] = { "", " ", ",", " , ," };
	struct endpoints endpoints;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		assert_errno(endpoints_init(&endpoints, lists[i], 5), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_urls_of_a_list_take_turns),
		cmocka_unit_test(a_list_without_a_url_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
