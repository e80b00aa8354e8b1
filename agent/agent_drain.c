/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drains: adds the samples of the ring buffer, and the records that waited for helpers, to the open
 * window, and applies the process events of the perf rings. If the window becomes full, closes it
 * and continues with the next window. To avoid recursion, no function called by
 * agent_close_window() closes a window.
 */
#include <poll.h>
#include <time.h>

#include "agent/agent_internal.h"
#include "common/log.h"

/* A drain that reads fewer samples than this is quiet. After it, agent.c drains less often. */
#define QUIET_SAMPLES 8

/* Shortest time between two scans of /proc. One scan replaces all events that were lost in it. */
#define SCAN_EVERY_NS (10 * NSEC_PER_SEC)

/*
 * A deferred sample that its thread has not completed after this time is submitted as it is. Most
 * threads need microseconds.
 */
#define DEFERRED_MAX_NS NSEC_PER_SEC

/* How often agent_drain_deferred() pauses for 1 ms, so that threads can complete their samples. */
#define DEFERRED_STOP_ROUNDS 20

/* How long agent_finish_helpers() waits for look-ups in progress, and in which steps. */
#define FINISH_WAIT_NS (300 * NSEC_PER_MSEC)
#define FINISH_POLL_MS 10

/* Reads all of /proc again if process events were lost, but not too often. */
static int scan_if_due(struct agent *agent, uint64_t now_ns)
{
	if (!agent->scan_is_due || now_ns < agent->scanned_ns + SCAN_EVERY_NS)
		return 0;
	agent->scan_is_due = false;
	agent->scanned_ns = now_ns;
	log_warn("process events were lost, reading /proc again");
	return process_table_scan(agent->processes);
}

/*
 * Reads the whole ring buffer. Returns the number of samples that were read since it last closed a
 * window, or a negative errno.
 */
static int drain_samples(struct agent *agent)
{
	for (;;) {
		int n_samples = agent_read_samples(agent);

		if (n_samples < 0 || !agent->window_is_full)
			return n_samples;
		n_samples = agent_close_window(agent);
		if (n_samples < 0)
			return n_samples;
	}
}

/* Adds parked records that need not wait any longer at @now_ns. */
static int fold_parked(struct agent *agent, uint64_t now_ns)
{
	int r;

	while ((r = agent_fold_parked(agent, now_ns)) == 1) {
		r = agent_close_window(agent);
		if (r < 0)
			return r;
	}
	return r;
}

/* Applies all process events before @until_ns. All older samples must have been read. */
static int drain_events(struct agent *agent, uint64_t until_ns)
{
	uint64_t n_lost;
	int r;

	r = agent_read_events(agent);
	if (r < 0)
		return r;
	r = agent_apply_events_until(agent, until_ns);
	if (r < 0)
		return r;
	n_lost = process_events_lost(agent->events);
	if (n_lost > 0) {
		metric_add(agent->metrics, AGENT_METRIC_EVENTS_LOST, n_lost);
		agent->scan_is_due = true;
	}
	return scan_if_due(agent, until_ns);
}

int agent_drain(struct agent *agent)
{
	uint64_t began_ns = clock_monotonic_ns(agent->clock);
	int n_samples;
	int r;

	r = agent_follow_cpus(agent);
	if (r < 0)
		return r;
	r = bpf_programs_sweep_deferred(agent->programs, began_ns - DEFERRED_MAX_NS);
	if (r < 0)
		return r;
	n_samples = drain_samples(agent);
	if (n_samples < 0)
		return n_samples;
	/*
	 * On a busy host too, a drain soon after another drain reads few samples. So that drain may
	 * end the quiet state, but not begin it.
	 */
	if (n_samples >= QUIET_SAMPLES || began_ns >= agent->drained_ns + AGENT_DRAIN_INTERVAL_NS)
		agent->quiet = n_samples < QUIET_SAMPLES;
	agent->drained_ns = began_ns;
	r = drain_events(agent, began_ns);
	if (r < 0)
		return r;
	r = agent_run_helpers(agent);
	if (r < 0)
		return r;
	/* After all events were applied, so that the current mappings are published. */
	agent_publish(agent, clock_monotonic_ns(agent->clock));
	return 0;
}

int agent_drain_deferred(struct agent *agent)
{
	const struct timespec pause = { .tv_nsec = NSEC_PER_MSEC };

	for (int round = 0; round < DEFERRED_STOP_ROUNDS; round++) {
		int n_waiting = bpf_programs_sweep_deferred(agent->programs, UINT64_MAX);
		int r = n_waiting < 0 ? n_waiting : agent_drain(agent);

		if (r < 0 || n_waiting == 0)
			return r;
		(void)nanosleep(&pause, NULL);
	}
	return agent_drain(agent);
}

int agent_run_helpers(struct agent *agent)
{
	uint64_t now_ns = clock_monotonic_ns(agent->clock);
	int r;

	agent_serve_helpers(agent, now_ns);
	r = fold_parked(agent, now_ns);
	if (r < 0)
		return r;
	/* Processing the records may have requested more look-ups. */
	agent_serve_helpers(agent, now_ns);
	return 0;
}

int agent_finish_helpers(struct agent *agent)
{
	uint64_t until_ns = clock_monotonic_ns(agent->clock) + FINISH_WAIT_NS;
	struct pollfd polled = { .fd = helper_pool_fd(agent->helpers), .events = POLLIN };

	while (agent_has_parked(agent) && clock_monotonic_ns(agent->clock) < until_ns) {
		int r;

		(void)poll(&polled, 1, FINISH_POLL_MS);
		r = agent_run_helpers(agent);
		if (r < 0)
			return r;
	}
	return fold_parked(agent, UINT64_MAX);
}

int agent_finish_names(struct agent *agent)
{
	uint64_t now_ns = clock_monotonic_ns(agent->clock);
	const uint64_t until_ns = now_ns + FINISH_WAIT_NS;
	struct pollfd polled = { .fd = helper_pool_fd(agent->helpers), .events = POLLIN };

	while (now_ns < until_ns && agent_waits_for_names(agent, now_ns)) {
		int r;

		(void)poll(&polled, 1, FINISH_POLL_MS);
		r = agent_run_helpers(agent);
		if (r < 0)
			return r;
		now_ns = clock_monotonic_ns(agent->clock);
	}
	return 0;
}

int agent_close_due_window(struct agent *agent)
{
	int r = fold_parked(agent, UINT64_MAX);

	return r < 0 ? r : agent_close_window(agent);
}
