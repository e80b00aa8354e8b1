/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/budget.h"

#include "tests/support/unit.h"

/* The measures of two event sources. */
#define OFF_CPU   BUDGET_FIRST_SOURCE
#define FREQUENCY (BUDGET_FIRST_SOURCE + 1)

#define LIMIT_BYTES ((uint64_t)(100 * MIB))
#define LIMIT_CPU   (NSEC_PER_SEC / 10)

/* A simulated agent: each step lowers its costs. */
struct simulation {
	struct budget budget;
	struct budget_reading reading;
	uint64_t fixed_bytes, unwind_bytes;        /* before any step */
	uint64_t fixed_cpu, off_cpu_cpu, tick_cpu; /* ns per s, before any step */
};

static void begin(struct simulation *simulation)
{
	const struct budget_limits limits = {
		.memory_bytes = LIMIT_BYTES,
		.cpu_ns_per_s = LIMIT_CPU,
		.interval_ns = 15 * NSEC_PER_SEC,
		.max_step = { 3, 4, 3 },
	};

	*simulation = (struct simulation){
		.reading.now_ns = 1000 * NSEC_PER_SEC,
		.fixed_bytes = 10 * MIB,
		.unwind_bytes = 16 * MIB,
		.fixed_cpu = NSEC_PER_MSEC,
		.tick_cpu = NSEC_PER_MSEC,
	};
	budget_init(&simulation->budget, &limits);
}

/* Advances five seconds, the time between two batches. */
static enum budget_change step(struct simulation *simulation, enum budget_measure *ret_measure)
{
	const uint8_t *steps = simulation->budget.step;
	uint64_t cpu = simulation->fixed_cpu + (simulation->off_cpu_cpu >> steps[OFF_CPU]) +
		       (simulation->tick_cpu >> steps[FREQUENCY]);

	simulation->reading.now_ns += 5 * NSEC_PER_SEC;
	simulation->reading.cpu_ns += 5 * cpu;
	simulation->reading.unwind_bytes = simulation->unwind_bytes >> steps[BUDGET_UNWIND];
	simulation->reading.memory_bytes =
		simulation->fixed_bytes + simulation->reading.unwind_bytes;
	return budget_update(&simulation->budget, &simulation->reading, ret_measure);
}

static void run(struct simulation *simulation, uint64_t seconds)
{
	enum budget_measure measure;

	for (uint64_t i = 0; i < seconds / 5; i++)
		(void)step(simulation, &measure);
}

static void expect_steps(const struct simulation *simulation, uint8_t unwind, uint8_t off_cpu,
			 uint8_t frequency)
{
	const uint8_t *steps = simulation->budget.step;

	if (steps[BUDGET_UNWIND] != unwind || steps[OFF_CPU] != off_cpu ||
	    steps[FREQUENCY] != frequency)
		fail_msg("steps are %u %u %u, expected %u %u %u", steps[BUDGET_UNWIND],
			 steps[OFF_CPU], steps[FREQUENCY], unwind, off_cpu, frequency);
}

static void an_agent_within_its_budget_takes_no_step(void **state)
{
	struct simulation simulation;

	(void)state;
	begin(&simulation);
	run(&simulation, 3600);
	expect_steps(&simulation, 0, 0, 0);
	assert_int_equal(simulation.budget.n_tightened, 0);
}

static void above_the_memory_budget_unwind_chunks_are_reduced_first(void **state)
{
	enum budget_measure measure;
	struct simulation simulation;

	(void)state;
	begin(&simulation);
	simulation.unwind_bytes = 150 * MIB;
	assert_int_equal(step(&simulation, &measure), BUDGET_UNCHANGED);
	assert_int_equal(step(&simulation, &measure), BUDGET_UNCHANGED);
	assert_int_equal(step(&simulation, &measure), BUDGET_TIGHTENED_FOR_MEMORY);
	assert_int_equal(measure, BUDGET_UNWIND);
	run(&simulation, 600);
	expect_steps(&simulation, 1, 0, 0);
	assert_false(budget_is_exceeded(&simulation.budget));
	assert_false(budget_is_exhausted(&simulation.budget));
}

static void while_memory_stays_above_the_budget_all_steps_are_taken_in_order(void **state)
{
	enum budget_measure measure, last = BUDGET_UNWIND;
	struct simulation simulation;
	size_t n_steps = 0;

	(void)state;
	begin(&simulation);
	simulation.fixed_bytes = LIMIT_BYTES;
	for (int i = 0; i < 100; i++) {
		if (step(&simulation, &measure) != BUDGET_TIGHTENED_FOR_MEMORY)
			continue;
		assert_true(measure >= last);
		last = measure;
		n_steps++;
	}
	assert_int_equal(n_steps, 3 + 4 + 3);
	expect_steps(&simulation, 3, 4, 3);
	assert_true(budget_is_exhausted(&simulation.budget));
}

static void above_the_cpu_budget_unwind_chunks_are_not_reduced(void **state)
{
	struct simulation simulation;

	(void)state;
	begin(&simulation);
	simulation.off_cpu_cpu = LIMIT_CPU * 3;
	run(&simulation, 600);
	expect_steps(&simulation, 0, 2, 0);

	begin(&simulation);
	simulation.budget.limits.max_step[OFF_CPU] = 0; /* off-CPU is disabled */
	simulation.tick_cpu = LIMIT_CPU * 3;
	run(&simulation, 600);
	expect_steps(&simulation, 0, 0, 2);
}

/* Steps of unwind chunks save no CPU time: the budget is exhausted without them. */
static void cpu_time_above_the_budget_after_all_steps_exhausts_it(void **state)
{
	struct simulation simulation;

	(void)state;
	begin(&simulation);
	simulation.fixed_cpu = LIMIT_CPU * 2;
	run(&simulation, 60);
	assert_true(budget_is_exceeded(&simulation.budget));
	assert_false(budget_is_exhausted(&simulation.budget));
	run(&simulation, 600);
	expect_steps(&simulation, 0, 4, 3);
	assert_true(budget_is_exhausted(&simulation.budget));
	simulation.fixed_cpu = NSEC_PER_MSEC;
	run(&simulation, 30);
	assert_false(budget_is_exhausted(&simulation.budget));
}

static void a_burst_of_fifteen_seconds_causes_no_step(void **state)
{
	struct simulation simulation;

	(void)state;
	begin(&simulation);
	run(&simulation, 60);
	simulation.fixed_cpu = NSEC_PER_SEC;
	run(&simulation, 15);
	simulation.fixed_cpu = NSEC_PER_MSEC;
	run(&simulation, 600);
	assert_int_equal(simulation.budget.n_tightened, 0);
}

static void after_the_load_ends_all_steps_are_taken_back_one_by_one(void **state)
{
	struct simulation simulation;
	enum budget_measure measure, last = FREQUENCY;
	size_t n_steps = 0;

	(void)state;
	begin(&simulation);
	simulation.unwind_bytes = 300 * MIB;
	simulation.tick_cpu = 100 * LIMIT_CPU;
	run(&simulation, 1200);
	expect_steps(&simulation, 2, 4, 3);

	simulation.unwind_bytes = 16 * MIB;
	simulation.tick_cpu = NSEC_PER_MSEC;
	for (int i = 0; i < 400; i++) {
		if (step(&simulation, &measure) != BUDGET_RELAXED)
			continue;
		assert_true(measure <= last);
		last = measure;
		n_steps++;
	}
	assert_int_equal(n_steps, 2 + 4 + 3);
	expect_steps(&simulation, 0, 0, 0);
}

static void a_step_is_not_taken_back_when_that_would_exceed_the_budget(void **state)
{
	struct simulation simulation;

	(void)state;
	begin(&simulation);
	simulation.tick_cpu = LIMIT_CPU * 11 / 10;
	run(&simulation, 7200);
	/* Half the frequency takes 55 % of the budget, so the whole would take 110 %. */
	expect_steps(&simulation, 0, 4, 1);
	assert_int_equal(simulation.budget.n_relaxed, 0);
}

/* The load rises with the full frequency, which the budget cannot predict. */
static void a_failed_step_back_doubles_the_time_to_the_next(void **state)
{
	struct simulation simulation;
	uint64_t in_first_hour, in_second_hour;

	(void)state;
	begin(&simulation);
	simulation.budget.limits.max_step[OFF_CPU] = 0;
	for (int i = 0; i < 240; i++) {
		simulation.tick_cpu =
			simulation.budget.step[FREQUENCY] == 0 ? LIMIT_CPU * 2 : LIMIT_CPU / 4;
		run(&simulation, 15);
	}
	in_first_hour = simulation.budget.n_relaxed;
	for (int i = 0; i < 240; i++) {
		simulation.tick_cpu =
			simulation.budget.step[FREQUENCY] == 0 ? LIMIT_CPU * 2 : LIMIT_CPU / 4;
		run(&simulation, 15);
	}
	in_second_hour = simulation.budget.n_relaxed - in_first_hour;
	assert_in_range(in_first_hour, 2, 8);
	assert_in_range(in_second_hour, 1, 4);
}

static void without_a_limit_cpu_time_is_ignored(void **state)
{
	struct simulation simulation;

	(void)state;
	begin(&simulation);
	simulation.budget.limits.cpu_ns_per_s = 0;
	simulation.fixed_cpu = NSEC_PER_SEC;
	run(&simulation, 600);
	expect_steps(&simulation, 0, 0, 0);
}

static void cpu_time_is_averaged_over_the_last_interval(void **state)
{
	struct simulation simulation;

	(void)state;
	begin(&simulation);
	simulation.fixed_cpu = 0;
	simulation.tick_cpu = 20 * NSEC_PER_MSEC;
	run(&simulation, 60);
	assert_in_range(simulation.budget.cpu_ns_per_s, 20 * NSEC_PER_MSEC - 1, 20 * NSEC_PER_MSEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_agent_within_its_budget_takes_no_step),
		cmocka_unit_test(above_the_memory_budget_unwind_chunks_are_reduced_first),
		cmocka_unit_test(while_memory_stays_above_the_budget_all_steps_are_taken_in_order),
		cmocka_unit_test(above_the_cpu_budget_unwind_chunks_are_not_reduced),
		cmocka_unit_test(cpu_time_above_the_budget_after_all_steps_exhausts_it),
		cmocka_unit_test(a_burst_of_fifteen_seconds_causes_no_step),
		cmocka_unit_test(after_the_load_ends_all_steps_are_taken_back_one_by_one),
		cmocka_unit_test(a_step_is_not_taken_back_when_that_would_exceed_the_budget),
		cmocka_unit_test(a_failed_step_back_doubles_the_time_to_the_next),
		cmocka_unit_test(without_a_limit_cpu_time_is_ignored),
		cmocka_unit_test(cpu_time_is_averaged_over_the_last_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
