/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's main loop and its stop. */
#include "agent/agent.h"

#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "agent/agent_internal.h"
#include "common/log.h"

/* Used instead of AGENT_DRAIN_INTERVAL_NS while drains are quiet. */
#define QUIET_DRAIN_INTERVAL_NS NSEC_PER_SEC

/* How long a stopping agent tries to send its last batches. */
#define STOP_LINGER_NS (2 * NSEC_PER_SEC)

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

/* Returns whether the agent stops. */
static bool handle_signal(struct agent *agent, void (*reload)(void *arg, struct agent *agent),
			  void *arg)
{
	struct signalfd_siginfo info;

	if (read(agent->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return false;
	if (info.ssi_signo != SIGHUP)
		return true;
	if (reload)
		reload(arg, agent);
	return false;
}

static int close_last_window(struct agent *agent)
{
	int r;

	r = agent_drain_deferred(agent);
	if (r < 0)
		return r;
	r = agent_finish_helpers(agent);
	if (r < 0)
		return r;
	r = agent_finish_names(agent);
	if (r < 0)
		return r;
	return agent_close_window(agent);
}

static int stop(struct agent *agent)
{
	int r;

	log_info("stopping: sending what is left");
	event_sources_stop(&agent->sources);
	r = close_last_window(agent);
	if (r < 0)
		(void)log_error_errno(r, "cannot close the last window, its samples are lost: %m");
	sender_stop(agent->sender, STOP_LINGER_NS);
	return r;
}

/*
 * Answers of helpers alone need no drain. But rings are read and processes are published by drains,
 * so helpers that answer all the time must not delay them.
 */
static int run_helpers_or_drain(struct agent *agent, bool only_helpers)
{
	bool is_due =
		clock_monotonic_ns(agent->clock) >= agent->drained_ns + drain_interval_ns(agent);

	return only_helpers && !is_due ? agent_run_helpers(agent) : agent_drain(agent);
}

static int close_window_if_due(struct agent *agent)
{
	uint64_t now_ns = clock_monotonic_ns(agent->clock);

	if (now_ns >= agent_window_closes_ns(agent) && !agent_waits_for_names(agent, now_ns))
		return agent_close_due_window(agent);
	/* An event source, or parked records that an event released, may have filled it. */
	return agent->window_is_full ? agent_close_window(agent) : 0;
}

/* The work of one round of the main loop. */
static int run_round(struct agent *agent, bool only_helpers)
{
	int r;

	r = run_helpers_or_drain(agent, only_helpers);
	if (r < 0)
		return r;
	r = event_sources_run(&agent->sources, clock_monotonic_ns(agent->clock));
	if (r < 0)
		return r;
	r = agent_handle_answers(agent);
	if (r < 0)
		return r;
	agent_feed_uploads(agent);
	r = close_window_if_due(agent);
	if (r < 0)
		return r;
	return agent->is_measured ? agent_enforce_budget(agent) : 0;
}

int agent_run(struct agent *agent, void (*reload)(void *arg, struct agent *agent), void *arg)
{
	struct epoll_event events[16];
	bool stopping = false;

	while (!stopping) {
		int n_events =
			epoll_wait(agent->epoll_fd, events, ARRAY_SIZE(events), idle_ms(agent));
		bool only_helpers = n_events > 0;
		int r;

		if (n_events < 0 && errno != EINTR)
			return log_error_errno(errno, "cannot wait for events, stopping: %m");
		for (int i = 0; i < n_events; i++) {
			if (events[i].data.fd == agent->signal_fd)
				stopping = handle_signal(agent, reload, arg);
			only_helpers =
				only_helpers && events[i].data.fd == helper_pool_fd(agent->helpers);
		}
		r = run_round(agent, only_helpers);
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
	if (agent_config_differs(agent->config, config, "server"))
		log_warn("the change of server takes effect after a restart");
	event_sources_set_config(&agent->sources, config);
	agent->config = config;
	return 0;
}
