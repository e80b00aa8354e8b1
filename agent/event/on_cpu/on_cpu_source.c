/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event source on-cpu: opens timers on the CPUs to sample, accounts for their ticks, and lowers
 * the frequency when the agent exceeds its budget.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/cpu/cpu_list.h"
#include "agent/event/event_source.h"
#include "agent/event/on_cpu/cpu_timers.h"
#include "bpf/abi/mapping.h"
#include "common/log.h"

/*
 * CPU time of a tick in addition to what the BPF program measures itself: 0.45 us by
 * kernel.bpf_stats_enabled (Linux 6.18, virtual machine), and 0.55 us that are assumed for the
 * timer's interrupt.
 */
#define TICK_ENTRY_NS 1000

/* Each step halves the frequency: down to an eighth. */
#define MAX_STEPS 3

struct on_cpu {
	const struct event_host *host;
	struct cpu_timers *timers;
	uint64_t base_period_ns; /* of the configured frequency */
	uint64_t period_ns;      /* in effect: longer while the budget lowers the frequency */
};

static const struct bpf_program_row programs[] = {
	{ .name = "hearth_on_cpu_tick" },
	{ .name = "hearth_unwind_part", .without = FEATURE_BIT(BPF_LOOP) },
	{ .name = "hearth_on_timer", .with = FEATURE_BIT(BPF_LOOP), .attached = true },
};

static const struct bpf_map_row maps[] = {
	{ .name = "unwind_parts", .tail_call = "hearth_unwind_part" },
};

static const struct bpf_program_set program_set = {
	.programs = programs,
	.n_programs = ARRAY_SIZE(programs),
	.maps = maps,
	.n_maps = ARRAY_SIZE(maps),
};

static bool is_enabled(const struct agent_config *config)
{
	return !config->on_cpu_disabled;
}

static const char *process_names(const struct agent_config *config)
{
	return config->on_cpu_regex;
}

static void configure(const struct agent_config *config, const struct kernel_layout *kernel,
		      struct abi_config *bpf_config)
{
	(void)kernel;
	bpf_config->period_ns = NSEC_PER_SEC / config->on_cpu_frequency;
}

/* The ticks of each CPU, as of the last reading of the counters. NULL: no memory. */
static struct cpu_timers_received *received_ticks(const struct on_cpu *on_cpu, size_t *ret_n)
{
	static const enum abi_counter received_as[] = {
		ABI_COUNTER_TICKS_IDLE,
		ABI_COUNTER_TICKS_SAMPLED,
		ABI_COUNTER_TICKS_RING_FULL,
		ABI_COUNTER_TICKS_FAILED,
	};
	const struct bpf_programs *loaded = on_cpu->host->programs;
	size_t n_cpus = bpf_programs_n_cpus(loaded);
	struct cpu_timers_received *received = calloc(n_cpus, sizeof(*received));

	*ret_n = n_cpus;
	for (size_t cpu = 0; received && cpu < n_cpus; cpu++) {
		for (size_t i = 0; i < ARRAY_SIZE(received_as); i++)
			received[cpu].all +=
				bpf_programs_counter_of_cpu(loaded, received_as[i], cpu);
		received[cpu].idle =
			bpf_programs_counter_of_cpu(loaded, ABI_COUNTER_TICKS_IDLE, cpu);
	}
	return received;
}

static void scoped_release(struct cpu_vec *cpus)
{
	vec_release(cpus);
}

typedef int (*timer_function)(struct on_cpu *on_cpu, const struct cpu_timers_look *look);

static int follow_timers(struct on_cpu *on_cpu, const struct cpu_timers_look *look)
{
	return cpu_timers_follow(on_cpu->timers, look);
}

static int change_period(struct on_cpu *on_cpu, const struct cpu_timers_look *look)
{
	return cpu_timers_change_period(on_cpu->timers, on_cpu->period_ns, look);
}

/*
 * Calls @function with the CPUs to sample that are online, and the present values of their
 * counters. Logs failures of its own; @function logs those that it returns.
 */
static int with_look(struct on_cpu *on_cpu, uint64_t now_ns, timer_function function)
{
	scoped(scoped_release) struct cpu_vec cpus = {};
	scoped_free struct cpu_timers_received *received = NULL;
	uint64_t counters[ABI_COUNTER_COUNT];
	struct cpu_timers_look look = { .now_ns = now_ns };
	int r;

	r = cpu_list_to_sample(on_cpu->host->config->on_cpu_cpus, &cpus);
	if (r < 0)
		return log_error_errno(
			r, "cannot read which CPUs to sample, their timers stay as they "
			   "are: %m; check /sys/devices/system/cpu");
	r = bpf_programs_read_counters(on_cpu->host->programs, counters);
	if (r < 0)
		return log_error_errno(
			r, "cannot read the counters of the BPF programs, the timers stay as "
			   "they are: %m");
	received = received_ticks(on_cpu, &look.n_received);
	if (!received)
		return log_error_errno(
			ENOMEM, "cannot list the ticks of CPUs, the timers stay as they are: %m; "
				"raise the memory limit of the service or container");
	look.cpus = cpus.items;
	look.n_cpus = cpus.count;
	look.received = received;
	return function(on_cpu, &look);
}

static void stop(void *source)
{
	struct on_cpu *on_cpu = source;

	cpu_timers_stop(on_cpu->timers);
}

static void free_source(void *source)
{
	struct on_cpu *on_cpu = source;

	cpu_timers_free(on_cpu->timers);
	free(on_cpu);
}

static int start_timers(struct on_cpu *on_cpu)
{
	struct bpf_programs *loaded = on_cpu->host->programs;
	int r;

	r = cpu_timers_new(bpf_programs_fd(loaded, "hearth_on_cpu_tick"), on_cpu->period_ns,
			   &on_cpu->timers);
	if (r < 0)
		return log_error_errno(
			r, "cannot make the list of timers: %m, not starting; raise the memory "
			   "limit of the service or container");
	r = bpf_programs_attach(loaded, &program_set);
	if (r < 0)
		return log_error_errno(r, "cannot watch the timers of CPUs: %m");
	return MIN(with_look(on_cpu, clock_monotonic_ns(on_cpu->host->clock), follow_timers), 0);
}

static int start(const struct event_host *host, void **ret_source)
{
	uint64_t period_ns = NSEC_PER_SEC / host->config->on_cpu_frequency;
	struct on_cpu *on_cpu = calloc(1, sizeof(*on_cpu));
	int r;

	if (!on_cpu)
		return log_error_errno(ENOMEM, "cannot make the on-CPU timers: %m, not starting");
	if (cpu_timers_in_step(host->config->on_cpu_frequency))
		log_warn("on_cpu.frequency %" PRIu64
			 " can be in step with the timer tick of the kernel, "
			 "programs that start or end at a tick are then over- or under-counted; "
			 "use a frequency such as 99, 199, 499 or 997",
			 host->config->on_cpu_frequency);
	*on_cpu = (struct on_cpu){
		.host = host,
		.base_period_ns = period_ns,
		.period_ns = period_ns,
	};
	*collector_fold(host->collector, EVENT_ON_CPU) = (struct event_fold){
		.period_ns = period_ns,
		.keep_cpus_apart = host->config->on_cpu_cpu == 1,
		.excluded_flag = ABI_PROCESS_WITHOUT_STACKS,
		.counts_excluded = true,
	};
	r = start_timers(on_cpu);
	if (r < 0) {
		free_source(on_cpu);
		return r;
	}
	*ret_source = on_cpu;
	return 0;
}

static int follow(void *source, uint64_t now_ns)
{
	return MIN(with_look(source, now_ns, follow_timers), 0);
}

static void unchanged(void *source, uint64_t now_ns)
{
	const struct on_cpu *on_cpu = source;

	cpu_timers_unchanged(on_cpu->timers, now_ns);
}

static void suspect(void *source, uint32_t cpu)
{
	const struct on_cpu *on_cpu = source;

	cpu_timers_suspect(on_cpu->timers, cpu);
}

static bool found_dead(void *source)
{
	const struct on_cpu *on_cpu = source;

	return cpu_timers_found_dead(on_cpu->timers);
}

static size_t count(const void *source)
{
	const struct on_cpu *on_cpu = source;

	return cpu_timers_count(on_cpu->timers);
}

/* A tick between the readings of the clocks and of the counters is then not counted as missed. */
static void before_counters(void *source)
{
	const struct on_cpu *on_cpu = source;

	cpu_timers_read_clocks(on_cpu->timers);
}

static void update_metrics(void *source)
{
	scoped_free struct cpu_timers_received *received = NULL;
	const struct on_cpu *on_cpu = source;
	_Atomic uint64_t *metrics = on_cpu->host->metrics;
	struct cpu_timers_ticks ticks;
	size_t n_cpus;

	metric_set(metrics, AGENT_METRIC_FREQUENCY_MHZ, 1000 * NSEC_PER_SEC / on_cpu->period_ns);
	received = received_ticks(on_cpu, &n_cpus);
	if (!received)
		return;
	cpu_timers_account(on_cpu->timers, received, n_cpus, &ticks);
	metric_set(metrics, AGENT_METRIC_TICKS_EXPECTED, ticks.expected);
	metric_set(metrics, AGENT_METRIC_TICKS_CLOCK, ticks.clock);
	metric_set(metrics, AGENT_METRIC_TICKS_ASLEEP, ticks.asleep);
	metric_set(metrics, AGENT_METRIC_TICKS_STOLEN, ticks.stolen);
	metric_set(metrics, AGENT_METRIC_TICKS_MISSED, ticks.missed);
	metric_set(metrics, AGENT_METRIC_CPU_STEAL_NS, ticks.steal_ns);
	metric_set(metrics, AGENT_METRIC_CPU_UNCOVERED_NS, ticks.uncovered_ns);
}

static uint64_t bpf_ns(const uint64_t counters[ABI_COUNTER_COUNT])
{
	uint64_t n_ticks = counters[ABI_COUNTER_TICKS_IDLE] + counters[ABI_COUNTER_TICKS_SAMPLED] +
			   counters[ABI_COUNTER_TICKS_RING_FULL] +
			   counters[ABI_COUNTER_TICKS_FAILED];

	return counters[ABI_COUNTER_TICKS_NS] + n_ticks * TICK_ENTRY_NS;
}

static uint8_t max_step(const void *source)
{
	const struct on_cpu *on_cpu = source;
	uint8_t steps = 0;

	/* A period is at most a second. */
	while (steps < MAX_STEPS && on_cpu->base_period_ns << (steps + 1) <= NSEC_PER_SEC)
		steps++;
	return steps;
}

/*
 * Changes the sampling period. The samples that were taken so far count the old period, so all of
 * them are read before.
 */
static int set_step(void *source, unsigned int step)
{
	struct on_cpu *on_cpu = source;
	const struct event_host *host = on_cpu->host;
	uint64_t period_ns = on_cpu->base_period_ns << step;
	int r;

	if (period_ns == on_cpu->period_ns)
		return 0;
	cpu_timers_pause(on_cpu->timers);
	r = host->settle(host->arg);
	if (r < 0)
		return r;
	on_cpu->period_ns = period_ns;
	collector_fold(host->collector, EVENT_ON_CPU)->period_ns = period_ns;
	r = with_look(on_cpu, clock_monotonic_ns(host->clock), change_period);
	/*
	 * Failures were logged. A CPU without a timer is tried again when the set of CPUs changes,
	 * and its time is counted until then.
	 */
	return r == -ENOMEM ? r : 0;
}

static void describe(const void *source, unsigned int step,
		     char ret_text[EVENT_REDUCTION_TEXT_SIZE])
{
	const struct on_cpu *on_cpu = source;

	(void)snprintf(ret_text, EVENT_REDUCTION_TEXT_SIZE, "on-CPU %.4g of %.4g Hz",
		       1e9 / (double)(on_cpu->base_period_ns << step),
		       1e9 / (double)on_cpu->base_period_ns);
}

static const char *const restart_keys[] = { "on_cpu.frequency", "on_cpu.disabled", NULL };

static const struct event_reduction reduction = {
	.what = "the on-CPU frequency",
	.step = AGENT_METRIC_BUDGET_FREQUENCY,
	.reduced_ns = AGENT_METRIC_REDUCED_FREQUENCY_NS,
	.max_step = max_step,
	.set_step = set_step,
	.describe = describe,
};

const struct event_source on_cpu_source = {
	.programs = &program_set,
	.is_enabled = is_enabled,
	.process_names = process_names,
	.process_names_key = "on_cpu.regex",
	.excluded_flag = ABI_PROCESS_WITHOUT_STACKS,
	.restart_keys = restart_keys,
	.configure = configure,
	.start = start,
	.stop = stop,
	.free = free_source,
	.cpu = {
		.follow = follow,
		.unchanged = unchanged,
		.suspect = suspect,
		.found_dead = found_dead,
		.count = count,
	},
	.before_counters = before_counters,
	.update_metrics = update_metrics,
	.bpf_ns = bpf_ns,
	.reduction = &reduction,
};
