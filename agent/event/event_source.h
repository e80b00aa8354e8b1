/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An event source: one way in which the agent gets samples, such as the timers of on-CPU samples.
 *
 * A source is a folder of agent/event/ with one struct event_source, which names its BPF programs
 * and maps and has its functions. The table agent/event/sources.def lists all sources; the rest of
 * the agent calls them through agent/event/event_sources.h only. Records of all sources pass
 * through one ring buffer. For each event type, a struct event_fold (agent/sample/event_fold.h)
 * turns the records into rows.
 *
 * All functions are called in the agent's main thread. A function pointer may be NULL if the source
 * does not need the call. Functions that get @source are called only after a successful start() and
 * before free().
 */

#include "agent/agent_metric.h"
#include "agent/bpf_programs/bpf_programs.h"
#include "agent/config.h"
#include "agent/executable/kernel_layout.h"
#include "agent/sample/collector.h"
#include "common/clock.h"

/* What a source may use of the agent. */
struct event_host {
	const struct agent_config *config; /* replaced on SIGHUP */
	const struct clock *clock;
	struct bpf_programs *programs;
	struct collector *collector;
	_Atomic uint64_t *metrics; /* [AGENT_METRIC_COUNT] */
	void *arg;                 /* first argument of read_records() and settle() */
	/* These functions add a record to the open window. 0 or -ENOMEM. */
	struct bpf_record_functions add;
	/* Passes all records of the ring buffer to @functions. 0 or a negative errno. */
	int (*read_records)(void *arg, const struct bpf_record_functions *functions);
	/*
	 * Called by a source that has paused its sampling: adds all samples that it has taken so
	 * far to the open window, including those that wait for look-ups. 0 or a negative errno.
	 */
	int (*settle)(void *arg);
};

/* Size of the text of event_reduction.describe. */
#define EVENT_REDUCTION_TEXT_SIZE 64

/*
 * How the source uses less CPU time when the agent exceeds its budget (agent/budget.h): in steps,
 * each of which halves one quantity, such as the sampling frequency. The values of samples must
 * stay right on average.
 */
struct event_reduction {
	const char *what;             /* "the on-CPU frequency": in messages */
	enum agent_metric step;       /* metric: the step in effect */
	enum agent_metric reduced_ns; /* metric: time in which it was reduced */
	uint8_t (*max_step)(const void *source);
	/* Puts @step into effect; step 0 reduces nothing. Returns 0 or a negative errno. */
	int (*set_step)(void *source, unsigned int step);
	/* Describes a step in the label agent.reduced: "on-CPU 49.5 of 99 Hz". */
	void (*describe)(const void *source, unsigned int step,
			 char ret_text[EVENT_REDUCTION_TEXT_SIZE]);
};

/* Functions of sources that have something on each CPU, such as a perf event. */
struct event_cpu_functions {
	/*
	 * Called when CPUs may have gone online or offline: opens and closes what the source has on
	 * each CPU, such as perf events. 0, -ENOMEM, or another negative errno, which was logged
	 * and after which the source continues on the other CPUs.
	 */
	int (*follow)(void *source, uint64_t now_ns);
	/* Called when the same CPUs are online as at the last follow(). */
	void (*unchanged)(void *source, uint64_t now_ns);
	/*
	 * Called when @cpu has been offline since the last follow(): its perf events have ended,
	 * even if it is online again.
	 */
	void (*suspect)(void *source, uint32_t cpu);
	/*
	 * Returns true if the source has noticed since the last call that a CPU was offline. The
	 * caller then calls follow().
	 */
	bool (*found_dead)(void *source);
	size_t (*count)(const void *source); /* number of CPUs that the source samples now */
};

struct event_source {
	const struct bpf_program_set *programs;

	bool (*is_enabled)(const struct agent_config *config);
	/*
	 * The source profiles only processes with a name that matches the regular expression which
	 * process_names() returns. NULL: all processes.
	 */
	const char *(*process_names)(const struct agent_config *config);
	const char *process_names_key; /* configuration key of the expression, for messages */
	/* enum abi_process_flags: set for the BPF programs in processes that do not match */
	uint32_t excluded_flag;
	/* Configuration keys that take effect only after a restart. NULL ends the list. */
	const char *const *restart_keys;
	/*
	 * Sets constants of the BPF programs in @bpf_config. Called before the programs are loaded,
	 * also if the source is disabled.
	 */
	void (*configure)(const struct agent_config *config, const struct kernel_layout *kernel,
			  struct abi_config *bpf_config);

	/*
	 * Sets the event_fold of each of its event types and starts to take samples. @host is
	 * borrowed until free(). Logs failures. Called if the source is enabled.
	 */
	int (*start)(const struct event_host *host, void **ret_source);
	void (*stop)(void *source); /* takes no more samples */
	void (*free)(void *source);

	/* Called in each round of the main loop, at least once a second. 0 or -ENOMEM. */
	int (*run)(void *source, uint64_t now_ns);
	/*
	 * Called before a window closes: adds values that the source has not reported yet. May
	 * overfill the window. 0 or -ENOMEM.
	 */
	int (*before_close)(void *source);

	struct event_cpu_functions cpu;

	/*
	 * Called once per batch: before_counters() before the agent reads the counters of the BPF
	 * programs, update_metrics() afterwards.
	 */
	void (*before_counters)(void *source);
	void (*update_metrics)(void *source);
	/* CPU time of the source's BPF programs from @counters. Called also if it is disabled. */
	uint64_t (*bpf_ns)(const uint64_t counters[ABI_COUNTER_COUNT]);
	/* Kernel memory of the source for each thread of the host. */
	uint64_t (*bytes_per_thread)(const void *source);

	const struct event_reduction *reduction; /* NULL: the agent never reduces the source */
};
