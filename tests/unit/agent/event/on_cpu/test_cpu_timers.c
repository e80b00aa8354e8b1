/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers on CPUs that go offline and online, with real perf events and a program that does nothing.
 * No CPU of this machine is switched off: a timer that is suspected, or whose CPU is reported as
 * offline, is closed and opened in the same way.
 */
#include "agent/event/on_cpu/cpu_timers.h"

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <time.h>

#include "agent/cpu/cpu_list.h"
#include "tests/support/unit.h"

#define PERIOD_NS (10 * NSEC_PER_MSEC)
#define MAX_CPUS  4096

struct fixture {
	struct cpu_vec cpus;
	struct cpu_timers_received received[MAX_CPUS];
	int program_fd;
	struct cpu_timers *timers;
};

/* The program returns 0: the kernel then behaves as if there were no program. */
static int load_program(void)
{
	static const struct bpf_insn steps[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insns = (uint64_t)(uintptr_t)steps,
		.insn_cnt = ARRAY_SIZE(steps),
		.license = (uint64_t)(uintptr_t) "GPL",
	};
	long fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	assert_ok(cpu_list_online(&fixture->cpus));
	assert_in_range(fixture->cpus.items[fixture->cpus.count - 1], 0, MAX_CPUS - 1);
	fixture->program_fd = load_program();
	if (fixture->program_fd >= 0)
		assert_ok(cpu_timers_new(fixture->program_fd, PERIOD_NS, &fixture->timers));
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	cpu_timers_free(fixture->timers);
	if (fixture->program_fd >= 0)
		close(fixture->program_fd);
	vec_release(&fixture->cpus);
	free(fixture);
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/* Reports the first @n_cpus CPUs of the host as online. */
static int follow(struct fixture *fixture, size_t n_cpus)
{
	return cpu_timers_follow(fixture->timers, &(struct cpu_timers_look){
							  .now_ns = now_ns(),
							  .cpus = fixture->cpus.items,
							  .n_cpus = n_cpus,
							  .received = fixture->received,
							  .n_received = MAX_CPUS,
						  });
}

static void need_program(const struct fixture *fixture)
{
	if (fixture->program_fd >= 0)
		return;
	print_message("BPF programs need root: skipped\n");
	skip();
}

static struct cpu_timers_ticks account(struct fixture *fixture)
{
	struct cpu_timers_ticks ticks;

	cpu_timers_read_clocks(fixture->timers);
	cpu_timers_account(fixture->timers, fixture->received, MAX_CPUS, &ticks);
	assert_int_equal(ticks.expected, ticks.asleep + ticks.stolen + ticks.missed);
	return ticks;
}

/* No tick counts as received, so each period that passes is expected and absent. */
static void wait_for_expected(struct fixture *fixture, uint64_t expected)
{
	const struct timespec pause = { .tv_nsec = 2 * NSEC_PER_MSEC };

	while (account(fixture).expected < expected)
		(void)nanosleep(&pause, NULL);
}

static void an_offline_cpu_expects_no_ticks_until_it_is_online_again(void **state)
{
	struct fixture *fixture = *state;
	struct cpu_timers_ticks offline, back;

	need_program(fixture);
	assert_int_equal(follow(fixture, 1), 1);
	assert_int_equal(cpu_timers_count(fixture->timers), 1);
	wait_for_expected(fixture, 10);

	assert_int_equal(follow(fixture, 0), 0);
	assert_int_equal(cpu_timers_count(fixture->timers), 0);
	offline = account(fixture);
	assert_true(offline.expected >= 10);
	assert_int_equal(offline.expected, offline.clock);
	assert_int_equal(account(fixture).expected, offline.expected);
	assert_int_equal(offline.uncovered_ns, 0);

	/*
	 * A look found the CPU still offline. The time from then until the next look may not be
	 * covered.
	 */
	cpu_timers_unchanged(fixture->timers, now_ns() - NSEC_PER_MSEC);
	assert_int_equal(follow(fixture, 1), 1);
	back = account(fixture);
	assert_in_range(back.uncovered_ns, NSEC_PER_MSEC, NSEC_PER_SEC);
	wait_for_expected(fixture, offline.expected + 10);
	assert_int_equal(account(fixture).uncovered_ns, back.uncovered_ns);
}

static void a_suspect_timer_is_reopened_and_no_period_is_lost_or_counted_twice(void **state)
{
	struct fixture *fixture = *state;
	uint64_t began_ns = now_ns();
	struct cpu_timers_ticks ticks;
	uint64_t took_ns;

	need_program(fixture);
	assert_int_equal(follow(fixture, 1), 1);
	for (uint64_t round = 1; round <= 5; round++) {
		wait_for_expected(fixture, 4 * round);
		cpu_timers_suspect(fixture->timers, fixture->cpus.items[0]);
		assert_int_equal(follow(fixture, 1), 1);
		assert_int_equal(cpu_timers_count(fixture->timers), 1);
	}
	ticks = account(fixture);
	took_ns = now_ns() - began_ns;
	assert_true(ticks.expected >= 20);
	assert_true(ticks.expected <= took_ns / PERIOD_NS);
	/*
	 * Each of the timers leaves less than a period over; the last one is overdue only after
	 * half a period.
	 */
	assert_true((ticks.expected + 7) * PERIOD_NS + ticks.uncovered_ns >=
		    took_ns - took_ns / 10);
}

static void a_clock_that_stands_still_shows_that_the_cpu_was_offline(void **state)
{
	struct fixture *fixture = *state;

	need_program(fixture);
	assert_int_equal(follow(fixture, 1), 1);
	wait_for_expected(fixture, 2);
	assert_false(cpu_timers_found_dead(fixture->timers));
	/*
	 * A clock that is read twice within its resolution, or that did not advance between two
	 * readings, would count as standing still. Neither happens here.
	 */
	wait_for_expected(fixture, 4);
	assert_false(cpu_timers_found_dead(fixture->timers));
	/* A stopped agent still reads the clocks of events that it ended itself. */
	cpu_timers_stop(fixture->timers);
	cpu_timers_read_clocks(fixture->timers);
	cpu_timers_read_clocks(fixture->timers);
	assert_false(cpu_timers_found_dead(fixture->timers));
	assert_int_equal(follow(fixture, 1), 0);
}

static void frequencies_in_step_with_a_kernel_tick_are_recognized(void **state)
{
	static const uint64_t in_step[] = { 1, 50, 100, 125, 150, 250, 300, 500, 1000 };
	static const uint64_t out_of_step[] = { 19, 99, 101, 199, 397, 499, 967, 997, 999 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(in_step); i++)
		assert_true(cpu_timers_in_step(in_step[i]));
	for (size_t i = 0; i < ARRAY_SIZE(out_of_step); i++)
		assert_false(cpu_timers_in_step(out_of_step[i]));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TIMER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TIMER_TEST(an_offline_cpu_expects_no_ticks_until_it_is_online_again),
		TIMER_TEST(a_suspect_timer_is_reopened_and_no_period_is_lost_or_counted_twice),
		TIMER_TEST(a_clock_that_stands_still_shows_that_the_cpu_was_offline),
		cmocka_unit_test(frequencies_in_step_with_a_kernel_tick_are_recognized),
#undef TIMER_TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
