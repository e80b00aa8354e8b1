/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens timers and event rings of CPUs that come online, closes those of CPUs that go offline, and
 * accounts for the ticks of the timers.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "agent/agent_internal.h"
#include "agent/privileges.h"

/* How often the list of CPUs is read although the kernel announced no change. */
#define LOOK_AT_CPUS_NS NSEC_PER_SEC

static int watch_fd(void *arg, int fd)
{
	return agent_watch_fd(arg, fd);
}

static void scoped_release(struct cpu_vec *cpus)
{
	vec_release(cpus);
}

int agent_open_events(struct agent *agent)
{
	const struct cpu_vec *online;
	int r;

	r = cpu_watch_new(&agent->cpu_watch);
	if (r < 0)
		return log_error_errno(
			r, "cannot read which CPUs are online from "
			   "'/sys/devices/system/cpu/online': %m, not starting; mount the "
			   "host's /sys");
	if (cpu_watch_fd(agent->cpu_watch) >= 0) {
		r = agent_watch_fd(agent, cpu_watch_fd(agent->cpu_watch));
		if (r < 0)
			return agent_log_not_made(r, "the watch of CPUs");
	}
	r = process_events_new(&agent->events);
	if (r < 0)
		return agent_log_not_made(r, "the queue of process events");
	/* Also on CPUs that are not sampled, because processes move between CPUs. */
	online = cpu_watch_online(agent->cpu_watch);
	r = process_events_follow(agent->events, online->items, online->count, watch_fd, agent);
	if (r < 0)
		return log_error_errno(
			r, "cannot watch processes through perf events: %m, not starting; %s",
			r == -EPERM || r == -EACCES
				? privileges_perf_remedy()
				: "raise the limits of the service or container for "
				  "memory and open files");
	return 0;
}

/* The ticks of each CPU, as of the last reading of the counters. NULL: no memory. */
static struct on_cpu_received *received_ticks(const struct agent *agent, size_t *ret_n)
{
	static const enum abi_counter received_as[] = {
		ABI_COUNTER_TICKS_IDLE,
		ABI_COUNTER_TICKS_SAMPLED,
		ABI_COUNTER_TICKS_RING_FULL,
		ABI_COUNTER_TICKS_FAILED,
	};
	size_t n_cpus = bpf_programs_n_cpus(agent->programs);
	struct on_cpu_received *received = calloc(n_cpus, sizeof(*received));

	*ret_n = n_cpus;
	for (size_t cpu = 0; received && cpu < n_cpus; cpu++) {
		for (size_t i = 0; i < ARRAY_SIZE(received_as); i++)
			received[cpu].all +=
				bpf_programs_counter_of_cpu(agent->programs, received_as[i], cpu);
		received[cpu].idle =
			bpf_programs_counter_of_cpu(agent->programs, ABI_COUNTER_TICKS_IDLE, cpu);
	}
	return received;
}

typedef int (*timer_function)(struct agent *agent, const struct on_cpu_look *look);

static int follow(struct agent *agent, const struct on_cpu_look *look)
{
	return on_cpu_follow(agent->on_cpu, look);
}

static int change_period(struct agent *agent, const struct on_cpu_look *look)
{
	return on_cpu_change_period(agent->on_cpu, agent->period_ns, look);
}

/*
 * Calls @function with the CPUs to sample that are online, and the present values of their
 * counters. Logs failures of its own; @function logs those that it returns.
 */
static int with_look(struct agent *agent, uint64_t now_ns, timer_function function)
{
	scoped(scoped_release) struct cpu_vec cpus = {};
	scoped_free struct on_cpu_received *received = NULL;
	uint64_t counters[ABI_COUNTER_COUNT];
	struct on_cpu_look look = { .now_ns = now_ns };
	int r;

	r = cpu_list_to_sample(agent->config->on_cpu_cpus, &cpus);
	if (r < 0)
		return log_error_errno(
			r, "cannot read which CPUs to sample, their timers stay as they "
			   "are: %m; check /sys/devices/system/cpu");
	r = bpf_programs_read_counters(agent->programs, counters);
	if (r < 0)
		return log_error_errno(
			r, "cannot read the counters of the BPF programs, the timers stay as "
			   "they are: %m");
	received = received_ticks(agent, &look.n_received);
	if (!received)
		return log_error_errno(
			ENOMEM, "cannot list the ticks of CPUs, the timers stay as they are: %m; "
				"raise the memory limit of the service or container");
	look.cpus = cpus.items;
	look.n_cpus = cpus.count;
	look.received = received;
	return function(agent, &look);
}

static int follow_timers(struct agent *agent, uint64_t now_ns)
{
	return with_look(agent, now_ns, follow);
}

int agent_set_period(struct agent *agent, uint64_t period_ns)
{
	int r;

	agent->period_ns = period_ns;
	collector_set_period(agent->collector, period_ns);
	r = with_look(agent, clock_monotonic_ns(agent->clock), change_period);
	/*
	 * Failures were logged. A CPU without a timer is tried again when the set of CPUs changes,
	 * and its time is counted until then.
	 */
	return r == -ENOMEM ? r : 0;
}

int agent_start_timers(struct agent *agent)
{
	int r;

	r = on_cpu_new(bpf_programs_on_cpu_fd(agent->programs), agent->period_ns, &agent->on_cpu);
	if (r < 0)
		return agent_log_not_made(r, "the list of timers");
	return MIN(follow_timers(agent, clock_monotonic_ns(agent->clock)), 0);
}

static void suspect(void *arg, uint32_t cpu)
{
	struct agent *agent = arg;

	process_events_suspect(agent->events, cpu);
	if (agent->on_cpu)
		on_cpu_suspect(agent->on_cpu, cpu);
}

static int follow_changes(struct agent *agent, uint64_t now_ns)
{
	const struct cpu_vec *online = cpu_watch_online(agent->cpu_watch);
	int rings;
	int timers = 0;

	rings = process_events_follow(agent->events, online->items, online->count, watch_fd, agent);
	if (agent->on_cpu)
		timers = follow_timers(agent, now_ns);
	if (rings == -ENOMEM || timers == -ENOMEM)
		return -ENOMEM;
	if (rings < 0)
		log_warn_errno(
			rings,
			"cannot watch processes on a CPU that came online, samples may lack names: "
			"%m");
	log_info("the set of online CPUs changed: %zu are online, %zu are sampled", online->count,
		 agent->on_cpu ? on_cpu_count(agent->on_cpu) : 0);
	/* Programs may have run on the CPU before its ring was opened, or it has no ring. */
	if (rings != 0) {
		metric_add(agent->metrics, AGENT_METRIC_EVENT_GAPS,
			   rings > 0 ? (uint64_t)rings : 1);
		agent->scan_is_due = true;
	}
	return 0;
}

int agent_follow_cpus(struct agent *agent)
{
	uint64_t now_ns = clock_monotonic_ns(agent->clock);
	bool look = now_ns >= agent->cpus_looked_ns + LOOK_AT_CPUS_NS;
	int r;

	if (look)
		agent->cpus_looked_ns = now_ns;
	r = cpu_watch_changed(agent->cpu_watch, look, suspect, agent);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (r > 0 || (agent->on_cpu && on_cpu_found_dead(agent->on_cpu)))
		return follow_changes(agent, now_ns);
	if (agent->on_cpu && (look || cpu_watch_fd(agent->cpu_watch) >= 0))
		on_cpu_unchanged(agent->on_cpu, now_ns);
	return 0;
}

void agent_account_ticks(struct agent *agent)
{
	scoped_free struct on_cpu_received *received = NULL;
	struct on_cpu_ticks ticks;
	size_t n_cpus;

	received = received_ticks(agent, &n_cpus);
	if (!received)
		return;
	on_cpu_account(agent->on_cpu, received, n_cpus, &ticks);
	metric_set(agent->metrics, AGENT_METRIC_TICKS_EXPECTED, ticks.expected);
	metric_set(agent->metrics, AGENT_METRIC_TICKS_CLOCK, ticks.clock);
	metric_set(agent->metrics, AGENT_METRIC_TICKS_ASLEEP, ticks.asleep);
	metric_set(agent->metrics, AGENT_METRIC_TICKS_STOLEN, ticks.stolen);
	metric_set(agent->metrics, AGENT_METRIC_TICKS_MISSED, ticks.missed);
	metric_set(agent->metrics, AGENT_METRIC_CPU_STEAL_NS, ticks.steal_ns);
	metric_set(agent->metrics, AGENT_METRIC_CPU_UNCOVERED_NS, ticks.uncovered_ns);
}
