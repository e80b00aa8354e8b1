/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "common/id_map.h"

#define N_KEYS 20000

static void values_of_keys_are_found_while_the_map_grows(void **state)
{
	struct id_map map;

	(void)state;
	id_map_init(&map);
	assert_null(id_map_find(&map, 1));
	for (uint64_t i = 1; i <= N_KEYS; i++)
		assert_ok(id_map_set(&map, i << 32 | i % 10, (uint32_t)i));
	assert_int_equal(map.count, N_KEYS);
	for (uint64_t i = 1; i <= N_KEYS; i++) {
		const uint32_t *value = id_map_find(&map, i << 32 | i % 10);

		assert_non_null(value);
		assert_int_equal(*value, i);
	}
	assert_null(id_map_find(&map, UINT64_C(1) << 32));
	assert_true(id_map_bytes(&map) <= N_KEYS * 12 * 3);
	id_map_release(&map);
}

static void a_value_is_replaced(void **state)
{
	struct id_map map;

	(void)state;
	id_map_init(&map);
	assert_ok(id_map_set(&map, UINT64_MAX, 1));
	assert_ok(id_map_set(&map, UINT64_MAX, 2));
	assert_int_equal(map.count, 1);
	assert_int_equal(*id_map_find(&map, UINT64_MAX), 2);
	id_map_release(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_keys_are_found_while_the_map_grows),
		cmocka_unit_test(a_value_is_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
