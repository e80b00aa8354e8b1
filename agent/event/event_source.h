/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An event source: one way in which the agent gets samples, such as the timers of on-CPU samples.
 *
 * A source is a folder of agent/event/ with one struct event_source, which names its BPF programs
 * and maps and has its functions. The table agent/event/sources.def lists all sources; the rest of
 * the agent calls them through agent/event/event_sources.h only. Records of all sources pass
 * through one ring buffer, and the fold of their event type turns them into rows
 * (agent/sample/event_fold.h).
 *
 * All functions are called in the agent's main thread. NULL: the source has nothing to do there.
 * Functions that get @source are called only between a successful start and free.
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
	void *arg;                 /* of the functions below */
	/* Add a record to the open window. 0 or -ENOMEM. */
	struct bpf_record_functions add;
	/* Passes all records of the ring buffer to @functions. 0 or a negative errno. */
	int (*read_records)(void *arg, const struct bpf_record_functions *functions);
	/*
	 * With the source paused: adds all samples that it has taken so far, those that wait for
	 * look-ups too. 0 or a negative errno.
	 */
	int (*settle)(void *arg);
};

/* Size of the text of event_reduction.describe. */
#define EVENT_REDUCTION_TEXT_SIZE 64

/*
 * How the source uses less CPU time when the agent exceeds its budget (agent/budget.h): in steps,
 * each of which halves something. Values must stay right on average.
 */
struct event_reduction {
	const char *what;             /* "the on-CPU frequency": in messages */
	enum agent_metric step;       /* metric: the step in effect */
	enum agent_metric reduced_ns; /* metric: time in which it was reduced */
	uint8_t (*max_step)(const void *source);
	/* Carries out @step; 0: nothing is reduced. 0 or a negative errno. */
	int (*set_step)(void *source, unsigned int step);
	/* Describes a step in the label agent.reduced: "on-CPU 49.5 of 99 Hz". */
	void (*describe)(const void *source, unsigned int step,
			 char ret_text[EVENT_REDUCTION_TEXT_SIZE]);
};

/* Functions of sources that have something on each CPU, such as a perf event. */
struct event_cpu_functions {
	/*
	 * The CPUs that are online may have changed: opens and closes what the source has on them.
	 * 0, -ENOMEM, or another negative errno (logged) after which the source goes on.
	 */
	int (*follow)(void *source, uint64_t now_ns);
	/* The same CPUs are online as at the last follow(). */
	void (*unchanged)(void *source, uint64_t now_ns);
	/* The CPU was offline since, so its perf events have ended even if it is online again. */
	void (*suspect)(void *source, uint32_t cpu);
	/* True once after the source noticed that a CPU was offline: follow() is then called. */
	bool (*found_dead)(void *source);
	size_t (*count)(const void *source); /* number of CPUs that the source samples now */
};

struct event_source {
	const struct bpf_program_set *programs;

	bool (*is_enabled)(const struct agent_config *config);
	/*
	 * Regular expression of the names of processes that the source profiles, the flag that the
	 * BPF programs of others see, and the key, for messages. NULL: all processes.
	 */
	const char *(*process_names)(const struct agent_config *config);
	const char *process_names_key;
	uint32_t excluded_flag; /* enum abi_process_flags */
	/* Keys that a running agent does not take over, NULL at the end. */
	const char *const *restart_keys;
	/* Sets constants of the BPF programs. Called before they are loaded, also if disabled. */
	void (*configure)(const struct agent_config *config, const struct kernel_layout *kernel,
			  struct abi_config *bpf_config);

	/*
	 * Sets the folds of its event types and starts to take samples. @host is borrowed until
	 * free(). Logs failures. Called if the source is enabled.
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

	/* Once per batch: before the counters of the BPF programs are read, and afterwards. */
	void (*before_counters)(void *source);
	void (*update_metrics)(void *source);
	/* CPU time of the source's BPF programs by their counters; called also if disabled. */
	uint64_t (*bpf_ns)(const uint64_t counters[ABI_COUNTER_COUNT]);
	/* Kernel memory of the source for each thread of the host. */
	uint64_t (*bytes_per_thread)(const void *source);

	const struct event_reduction *reduction; /* NULL: it is never reduced */
};
