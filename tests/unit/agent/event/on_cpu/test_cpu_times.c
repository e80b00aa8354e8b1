/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/event/on_cpu/cpu_times.h"

#include "tests/support/unit.h"

#define MAX_SEEN 8

struct seen {
	size_t count;
	uint32_t cpus[MAX_SEEN];
	struct cpu_times times[MAX_SEEN];
};

static void note(void *arg, uint32_t cpu, const struct cpu_times *times)
{
	struct seen *seen = arg;

	if (seen->count >= MAX_SEEN)
		return;
	seen->cpus[seen->count] = cpu;
	seen->times[seen->count++] = *times;
}

static void idle_includes_waiting_for_io_but_not_steal(void **state)
{
	static const char text[] = "cpu  10 20 30 400 50 60 70 80 90 0\n"
				   "cpu0 1 2 3 40 5 6 7 8 9 0\n"
				   "cpu12 1 2 3 100 0 6 7 0 9 0\n"
				   "intr 12345 0 0\n"
				   "cpu13 1 2 3 100 0 6 7 0 9 0\n";
	struct seen seen = {};

	(void)state;
	cpu_times_parse(text, note, &seen);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.cpus[0], 0);
	assert_int_equal(seen.times[0].idle_ns, 45 * 10 * NSEC_PER_MSEC);
	assert_int_equal(seen.times[0].steal_ns, 8 * 10 * NSEC_PER_MSEC);
	assert_int_equal(seen.cpus[1], 12);
	assert_int_equal(seen.times[1].idle_ns, NSEC_PER_SEC);
	assert_int_equal(seen.times[1].steal_ns, 0);
}

static void an_incomplete_line_is_ignored(void **state)
{
	struct seen seen = {};

	(void)state;
	cpu_times_parse("cpu0 1 2 3 40\ncpu1 1 2 3 100 0 6 7 1", note, &seen);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.cpus[0], 1);
	cpu_times_parse("", note, &seen);
	assert_int_equal(seen.count, 1);
}

static void this_host_has_times(void **state)
{
	struct seen seen = {};

	(void)state;
	assert_ok(cpu_times_read(note, &seen));
	assert_true(seen.count > 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_includes_waiting_for_io_but_not_steal),
		cmocka_unit_test(an_incomplete_line_is_ignored),
		cmocka_unit_test(this_host_has_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
