/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/ingest/batch_interval.h"

#include "tests/support/unit.h"

static void the_interval_grows_with_the_wait_within_limits(void **state)
{
	static const struct {
		uint64_t waited_ms;
		uint32_t interval_ms;
	} cases[] = {
		{ 0, 0 },        { 20, 0 },        { 2999, 0 },
		{ 3000, 30000 }, { 4500, 45000 },  { 5999, 59990 },
		{ 6000, 60000 }, { 20000, 60000 }, { 1u << 31, 60000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(batch_interval_ms(cases[i].waited_ms * NSEC_PER_MSEC),
				 cases[i].interval_ms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_interval_grows_with_the_wait_within_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
