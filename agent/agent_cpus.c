/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens rings of process events, and has the event sources open theirs, on CPUs that come online.
 * Closes those of CPUs that go offline.
 */
#include "agent/agent_internal.h"
#include "agent/privileges.h"

/* How often the list of CPUs is read although the kernel announced no change. */
#define LOOK_AT_CPUS_NS NSEC_PER_SEC

static int watch_fd(void *arg, int fd)
{
	return agent_watch_fd(arg, fd);
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

static void suspect(void *arg, uint32_t cpu)
{
	struct agent *agent = arg;

	process_events_suspect(agent->events, cpu);
	event_sources_suspect_cpu(&agent->sources, cpu);
}

static int follow_changes(struct agent *agent, uint64_t now_ns)
{
	const struct cpu_vec *online = cpu_watch_online(agent->cpu_watch);
	int rings;
	int r;

	rings = process_events_follow(agent->events, online->items, online->count, watch_fd, agent);
	r = event_sources_follow_cpus(&agent->sources, now_ns);
	if (rings == -ENOMEM || r < 0)
		return -ENOMEM;
	if (rings < 0)
		log_warn_errno(
			rings,
			"cannot watch processes on a CPU that came online, samples may lack names: "
			"%m");
	log_info("the set of online CPUs changed: %zu are online, %zu are sampled", online->count,
		 event_sources_n_cpus(&agent->sources));
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
	if (r > 0 || event_sources_found_dead_cpu(&agent->sources))
		return follow_changes(agent, now_ns);
	if (look || cpu_watch_fd(agent->cpu_watch) >= 0)
		event_sources_cpus_unchanged(&agent->sources, now_ns);
	return 0;
}
