/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's main loop and its stop. */
#include "agent/agent.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>

#include "agent/agent_internal.h"
#include "common/log.h"

/* Used instead of AGENT_DRAIN_INTERVAL_NS while a drain reads fewer than QUIET_SAMPLES samples. */
#define QUIET_DRAIN_INTERVAL_NS NSEC_PER_SEC
#define QUIET_SAMPLES           8

/* /proc is read again for lost events at most this often. */
#define SCAN_EVERY_NS (10 * NSEC_PER_SEC)

/* How often waits are looked for whose stack was not taken as they began. */
#define WALK_EVERY_NS NSEC_PER_SEC

/* A sample waits so long for its thread to finish it, which most do in microseconds. */
#define DEFERRED_MAX_NS NSEC_PER_SEC

/* A stopping agent waits this often, a millisecond each, for threads that are finishing theirs. */
#define DEFERRED_STOP_ROUNDS 20

/* How long a stopping agent tries to deliver what it has. */
#define STOP_LINGER_NS (2 * NSEC_PER_SEC)

/* Reading all of /proc takes a while, in which more events may be lost: not too often. */
static int scan_if_due(struct agent *agent, uint64_t now_ns)
{
	if (!agent->scan_is_due || now_ns < agent->scanned_ns + SCAN_EVERY_NS)
		return 0;
	agent->scan_is_due = false;
	agent->scanned_ns = now_ns;
	log_warn("process events were lost, reading /proc again");
	return process_table_scan(agent->processes);
}

/* Moves everything that waits in the kernel into the open window. */
static int drain(struct agent *agent)
{
	uint64_t began_ns = clock_monotonic_ns(agent->clock);
	uint64_t lost;
	int r;

	r = agent_follow_cpus(agent);
	if (r < 0)
		return r;
	r = bpf_programs_sweep_deferred(agent->programs, began_ns - DEFERRED_MAX_NS);
	if (r < 0)
		return r;
	r = agent_read_samples(agent);
	if (r < 0)
		return r;
	/* A look that comes soon after another finds little on a busy host, too. */
	if (r >= QUIET_SAMPLES || began_ns >= agent->drained_ns + AGENT_DRAIN_INTERVAL_NS)
		agent->quiet = r < QUIET_SAMPLES;
	agent->drained_ns = began_ns;
	r = agent_read_events(agent);
	if (r < 0)
		return r;
	/* Every sample older than the beginning has been seen. */
	r = agent_apply_events_until(agent, began_ns);
	if (r < 0)
		return r;
	lost = process_events_lost(agent->events);
	if (lost > 0) {
		metric_add(agent->metrics, AGENT_METRIC_EVENTS_LOST, lost);
		agent->scan_is_due = true;
	}
	r = scan_if_due(agent, began_ns);
	if (r < 0)
		return r;
	r = agent_run_helpers(agent);
	if (r < 0)
		return r;
	/*
	 * Only after all events were applied, so that the mappings that are published are up to
	 * date.
	 */
	return agent_publish(agent);
}

int agent_drain_deferred(struct agent *agent)
{
	const struct timespec pause = { .tv_nsec = NSEC_PER_MSEC };

	for (int round = 0; round < DEFERRED_STOP_ROUNDS; round++) {
		int waiting = bpf_programs_sweep_deferred(agent->programs, UINT64_MAX);
		int r = waiting < 0 ? waiting : drain(agent);

		if (r < 0 || waiting == 0)
			return r;
		(void)nanosleep(&pause, NULL);
	}
	return drain(agent);
}

static uint64_t drain_interval_ns(const struct agent *agent)
{
	return agent->quiet ? QUIET_DRAIN_INTERVAL_NS : AGENT_DRAIN_INTERVAL_NS;
}

/* How long the main loop may sleep when no descriptor becomes readable. */
static int idle_ms(const struct agent *agent)
{
	uint64_t now_ns = clock_monotonic_ns(agent->clock);
	uint64_t closes_ns = agent_window_closes_ns(agent);
	uint64_t left_ns = drain_interval_ns(agent);

	closes_ns = MIN(closes_ns, agent_helpers_wakeup_ns(agent));
	left_ns = MIN(left_ns, closes_ns > now_ns ? closes_ns - now_ns : 0);
	return (int)((left_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC);
}

/* 1 stop, 0 go on. */
static int handle_signal(struct agent *agent, void (*reload)(void *arg, struct agent *agent),
			 void *arg)
{
	struct signalfd_siginfo info;

	if (read(agent->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	if (info.ssi_signo != SIGHUP)
		return 1;
	if (reload)
		reload(arg, agent);
	return 0;
}

static int stop(struct agent *agent)
{
	int r;

	log_info("stopping: sending what is left");
	if (agent->on_cpu)
		on_cpu_stop(agent->on_cpu);
	r = agent_drain_deferred(agent);
	if (r == 0)
		r = agent_finish_helpers(agent);
	if (r == 0)
		r = agent_close_window(agent);
	sender_stop(agent->sender, STOP_LINGER_NS);
	return r;
}

/*
 * Answers of helpers alone need no drain. But helpers that answer all the time must not put off the
 * drain, because that is when rings are read and processes published.
 */
static int run_helpers_or_drain(struct agent *agent, bool only_helpers)
{
	bool is_due =
		clock_monotonic_ns(agent->clock) >= agent->drained_ns + drain_interval_ns(agent);

	return only_helpers && !is_due ? agent_run_helpers(agent) : drain(agent);
}

static int close_due_window(struct agent *agent)
{
	int r = agent_fold_parked(agent);

	return r < 0 ? r : agent_close_window(agent);
}

int agent_run(struct agent *agent, void (*reload)(void *arg, struct agent *agent), void *arg)
{
	struct epoll_event events[16];
	bool stopping = false;
	bool only_helpers;
	int r = 0;

	while (!stopping) {
		int n_events =
			epoll_wait(agent->epoll_fd, events, ARRAY_SIZE(events), idle_ms(agent));

		if (n_events < 0 && errno != EINTR)
			return -errno;
		only_helpers = n_events > 0;
		for (int i = 0; i < n_events; i++) {
			if (events[i].data.fd == agent->signal_fd)
				stopping = handle_signal(agent, reload, arg);
			only_helpers =
				only_helpers && events[i].data.fd == helper_pool_fd(agent->helpers);
		}
		r = run_helpers_or_drain(agent, only_helpers);
		if (r == 0 && clock_monotonic_ns(agent->clock) >= agent->walked_ns + WALK_EVERY_NS)
			r = agent_walk_waits(agent, false);
		if (r == 0)
			r = agent_handle_answers(agent);
		if (r == 0)
			agent_feed_uploads(agent);
		if (r == 0 && clock_monotonic_ns(agent->clock) >= agent_window_closes_ns(agent))
			r = close_due_window(agent);
		/*
		 * May change the sampling period, which must not be done while records of the ring
		 * buffer are read.
		 */
		if (r == 0 && agent->is_measured)
			r = agent_enforce_budget(agent);
		if (r < 0)
			return log_error_errno(r, "cannot go on: %m");
	}
	return stop(agent);
}

int agent_set_config(struct agent *agent, const struct agent_config *config)
{
	struct rules rules;
	int r;

	r = rules_init(&rules, config);
	if (r < 0) {
		rules_release(&rules);
		return r;
	}
	process_table_set_rules(agent->processes, &rules.view);
	rules_release(&agent->rules);
	agent->rules = rules;
	if (config->on_cpu_frequency != agent->config->on_cpu_frequency ||
	    config->on_cpu_disabled != agent->config->on_cpu_disabled ||
	    config->off_cpu_disabled != agent->config->off_cpu_disabled ||
	    config->off_cpu_min_blocking_time_ns != agent->config->off_cpu_min_blocking_time_ns ||
	    strcmp(config->server, agent->config->server) != 0)
		log_warn(
			"on_cpu.frequency, on_cpu.disabled, off_cpu.disabled, off_cpu.min_blocking_time and server "
			"take effect after a restart");
	agent->config = config;
	return 0;
}
