/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "agent/bpf_programs/map_sizes.h"

static struct map_sizes choose(size_t n_cpus, uint64_t host_bytes, uint64_t budget_bytes)
{
	const struct map_sizes_wish wish = {
		.n_cpus = n_cpus,
		.host_bytes = host_bytes,
		.budget_bytes = budget_bytes,
	};
	struct map_sizes sizes;

	map_sizes_choose(&wish, &sizes);
	return sizes;
}

static void sizes_follow_cpus_and_memory(void **state)
{
	static const struct {
		size_t n_cpus;
		uint64_t host_bytes;
		struct map_sizes sizes;
	} cases[] = {
		{ 1, 512 * MIB, { 1 * MIB, 8192 } },    { 2, 2 * GIB, { 2 * MIB, 8192 } },
		{ 2, 24 * GIB, { 2 * MIB, 32768 } },    { 6, 16 * GIB, { 8 * MIB, 16384 } },
		{ 64, 256 * GIB, { 16 * MIB, 65536 } }, { 200, 1024 * GIB, { 16 * MIB, 65536 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct map_sizes sizes = choose(cases[i].n_cpus, cases[i].host_bytes, 64 * MIB);

		assert_int_equal(sizes.ring_bytes, cases[i].sizes.ring_bytes);
		assert_int_equal(sizes.max_processes, cases[i].sizes.max_processes);
	}
}

static void the_ring_takes_at_most_a_quarter_of_the_budget(void **state)
{
	(void)state;
	assert_int_equal(choose(64, GIB, 16 * MIB).ring_bytes, 4 * MIB);
	assert_int_equal(choose(64, GIB, 40 * MIB).ring_bytes, 8 * MIB);
	assert_int_equal(choose(1000, GIB, GIB).ring_bytes, 32 * MIB);
}

static void configured_sizes_are_used(void **state)
{
	const struct map_sizes_wish wish = {
		.n_cpus = 200,
		.host_bytes = GIB,
		.budget_bytes = 16 * MIB,
		.ring_bytes = 64 * KIB,
		.max_processes = 100000,
	};
	struct map_sizes sizes;

	(void)state;
	map_sizes_choose(&wish, &sizes);
	assert_int_equal(sizes.ring_bytes, 64 * KIB);
	assert_int_equal(sizes.max_processes, 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_follow_cpus_and_memory),
		cmocka_unit_test(the_ring_takes_at_most_a_quarter_of_the_budget),
		cmocka_unit_test(configured_sizes_are_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
