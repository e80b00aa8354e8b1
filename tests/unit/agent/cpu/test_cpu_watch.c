/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu/cpu_watch.h"

#include "tests/support/unit.h"

/* The kernel sends more fields after the first line. */
#define REST "\0ACTION=x\0SUBSYSTEM=cpu\0SEQNUM=1"

static void a_uevent_names_the_cpu_and_its_new_state(void **state)
{
	static const struct {
		const char *message;
		size_t size;
		enum cpu_uevent event;
		uint32_t cpu;
	} cases[] = {
#define MESSAGE(text) text, sizeof(text) - 1
		{ MESSAGE("offline@/devices/system/cpu/cpu1" REST), CPU_UEVENT_OFFLINE, 1 },
		{ MESSAGE("online@/devices/system/cpu/cpu127" REST), CPU_UEVENT_ONLINE, 127 },
		{ MESSAGE("online@/devices/system/cpu/cpu0"), CPU_UEVENT_ONLINE, 0 },
		{ MESSAGE("online@/devices/system/memory/memory3" REST), CPU_UEVENT_OTHER, 0 },
		{ MESSAGE("online@/devices/system/cpu/cpu" REST), CPU_UEVENT_OTHER, 0 },
		{ MESSAGE("online@/devices/system/cpu/cpu"), CPU_UEVENT_OTHER, 0 },
		{ MESSAGE("online@/devices/system/cpu/cpufreq" REST), CPU_UEVENT_OTHER, 0 },
		{ MESSAGE("online@/devices/system/cpu/cpu1/cache" REST), CPU_UEVENT_OTHER, 0 },
		{ MESSAGE("online@/devices/system/cpu/cpu-1" REST), CPU_UEVENT_OTHER, 0 },
		{ MESSAGE("online@/devices/system/cpu/cpu99999999" REST), CPU_UEVENT_OTHER, 0 },
		{ MESSAGE("add@/devices/system/cpu/cpu1" REST), CPU_UEVENT_OTHER, 0 },
		{ MESSAGE(""), CPU_UEVENT_OTHER, 0 },
#undef MESSAGE
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t cpu = 0;

		assert_int_equal(cpu_uevent_parse(cases[i].message, cases[i].size, &cpu),
				 cases[i].event);
		if (cases[i].event != CPU_UEVENT_OTHER)
			assert_int_equal(cpu, cases[i].cpu);
	}
}

static void never(void *arg, uint32_t cpu)
{
	(void)arg;
	fail_msg("CPU %u went offline", cpu);
}

static void nothing_changes_while_the_same_cpus_are_online(void **state)
{
	scoped(cpu_watch_freep) struct cpu_watch *watch = NULL;

	(void)state;
	assert_ok(cpu_watch_new(&watch));
	assert_true(cpu_watch_online(watch)->count > 0);
	assert_int_equal(cpu_watch_changed(watch, false, never, NULL), 0);
	assert_int_equal(cpu_watch_changed(watch, true, never, NULL), 0);
	assert_true(cpu_watch_online(watch)->count > 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_uevent_names_the_cpu_and_its_new_state),
		cmocka_unit_test(nothing_changes_while_the_same_cpus_are_online),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
