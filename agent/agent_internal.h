/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The agent's parts, shared by agent.c (life and loop), agent_records.c (records in), agent_batch.c (windows out,
 * answers in), agent_cpus.c (CPUs come and go), agent_helpers.c (files of other processes) and agent_metrics.c.
 */

#include <stdatomic.h>

#include "agent/agent.h"
#include "agent/budget.h"
#include "agent/helper/identifier.h"
#include "agent/host_info.h"
#include "agent/mapping_publisher.h"
#include "agent/parked_records.h"
#include "agent/profile/cpu_watch.h"
#include "agent/profile/off_cpu.h"
#include "agent/profile/on_cpu.h"
#include "agent/profile/page_toucher.h"
#include "agent/rules.h"
#include "agent/sample/collector.h"
#include "agent/stack_copy.h"
#include "agent/unwind_publisher.h"
#include "agent/upload/sender.h"
#include "common/clock.h"
#include "common/metrics.h"

enum agent_metric {
#define AGENT_METRIC(id, ...) AGENT_METRIC_##id,
#include "agent/metrics.def"
#undef AGENT_METRIC
	AGENT_METRIC_COUNT,
};

/* An executable that the server asked for and that is not uploaded yet. */
struct wanted {
	struct executable_id id;
	uint32_t what;
	bool trusted_only; /* waits until a file is seen that only root can write */
};

VEC_DEFINE(wanted_vec, struct wanted);

/* Paths and label values of all processes; compacted when half full. */
#define MAX_STRING_BYTES (16 * MIB)

struct agent {
	const struct agent_config *config;
	const struct clock *clock;
	struct host_info host;
	struct rules rules;
	struct kernel_layout kernel;
	struct string_table *strings;
	struct executable_cache *executables;
	struct process_table *processes;
	struct frame_resolver *frames;
	struct collector *collector;
	struct cpu_watch *cpu_watch;
	struct process_events *events;
	struct abi_config bpf_config; /* what they were loaded with */
	struct bpf_programs *programs;
	struct mapping_publisher publisher;
	struct unwind_publisher tables;
	struct stack_copier *copier;
	struct on_cpu *on_cpu; /* NULL: disabled */
	struct page_toucher *toucher; /* NULL: absent pages are left alone */
	struct off_cpu *off_cpu; /* NULL: disabled */
	struct helper_pool *helpers;
	struct identifier *identifier;
	struct parked_records *parked;
	struct sender *sender;
	struct wanted_vec wanted; /* first come, first served */
	unsigned int n_opening_uploads; /* helpers open their files; one at a time, as the sender has room for few */

	uint64_t epoch;
	uint64_t sequence;
	uint64_t window_opened_ns;
	uint64_t n_added; /* samples, in all */
	uint64_t server_interval_ns; /* between batches, when the server asks for longer than configured */
	uint64_t base_period_ns;     /* as configured at the start */
	uint64_t period_ns;	     /* of the on-CPU timer that runs */
	struct budget budget;
	uint32_t unreduced_parts; /* of the pool of unwind chunks, before the budget reduced it; 0: it did not */
	uint64_t scanned_ns;	     /* when /proc was read last */
	uint64_t n_superseded;	 /* executables, as of the last look at mappings that have one */
	uint64_t trimmed_ns;	 /* when the heap was trimmed last */
	uint64_t cpus_looked_ns; /* when the list of CPUs was read last */
	uint64_t walked_ns;	     /* when the open waits were looked at last */
	bool scan_is_due;
	bool is_walking; /* its samples are of the open window, however full that is */
	bool over_budget; /* since the last step back the budget was exhausted, which was logged */
	bool is_measured; /* the metrics were updated after the budget was last checked */
	bool quiet; /* the last drain brought next to nothing */
	uint64_t drained_ns; /* when the rings were read last */
	uint64_t events_read_ns;    /* process events before this time are queued */
	int epoll_fd;
	int signal_fd;
	int instance_fd; /* holds the name of this host and server; see agent/instance.h */

	_Atomic uint64_t metrics[AGENT_METRIC_COUNT];
	uint64_t sent_counters[AGENT_METRIC_COUNT]; /* as of the last batch */
};

/* agent_records.c */

/*
 * How often the rings are drained when nothing asks for it earlier: a new process and a ring that fills up do.
 */
#define AGENT_DRAIN_INTERVAL_NS (250 * NSEC_PER_MSEC)

int agent_read_events(struct agent *agent);
int agent_apply_events_until(struct agent *agent, uint64_t until_ns);

/*
 * When the open window closes. While records wait for files (agent_helpers.c) it stays open, as long as they may wait
 * at most, and is closed with those that wait still: they belong to it. A reader that has a later sample takes time
 * without samples for time in which nothing ran. Besides, stacks that hashes refer to are known for two windows only.
 */
uint64_t agent_window_closes_ns(const struct agent *agent);

/* Reads what waits in the ring buffer, and closes windows that become full unless a walk goes on. The number read. */
int agent_read_samples(struct agent *agent);

/* Records, of the ring buffer or a walk, into the open window; -EXFULL: it should be closed. @arg is the agent. */
int agent_on_sample(void *arg, const struct abi_sample *sample, const struct abi_frame *frames);
int agent_on_stack_copy(void *arg, const struct abi_stack_copy *copy);

/* The same of records whose files are known, or that do not wait for them any more. */
int agent_fold_sample(struct agent *agent, const struct abi_sample *sample, const struct abi_frame *frames);

/* @ret_waits_for: NULL, or where -EINPROGRESS puts the executable whose unwind table is being made. */
int agent_fold_stack_copy(struct agent *agent, const struct abi_stack_copy *copy, uint32_t *ret_waits_for);

/* agent.c */

/*
 * With sampling paused: has samples submitted that wait for their thread, and moves all that waits in the kernel into
 * the open window.
 */
int agent_drain_deferred(struct agent *agent);

/* Wakes the main loop when @fd is readable, until it is closed. */
int agent_watch_fd(struct agent *agent, int fd);

/* agent_cpus.c */

/* Before anything else is read: opens the events of all processes on all CPUs. What failed was logged. */
int agent_open_events(struct agent *agent);

/* Sampling begins. What failed was logged. */
int agent_start_timers(struct agent *agent);

/* Events and timers follow CPUs that came or went. Fails only without memory. */
int agent_follow_cpus(struct agent *agent);

/* Reads what was sampled so far, and samples with another period from now on. Fails only without memory. */
int agent_change_period(struct agent *agent, uint64_t period_ns);

/* Into the metrics, after the timers' clocks, and then the BPF programs' counters, were read. */
void agent_account_ticks(struct agent *agent);

/* agent_helpers.c */

/*
 * So long a record waits; most look-ups take a millisecond, but on a host with thirty times more work than CPUs a
 * second. Beyond it frames in files that are not known yet keep their raw addresses.
 */
#define AGENT_PARKED_MAX_NS (4 * NSEC_PER_SEC)

int agent_start_helpers(struct agent *agent, struct nursery *nursery);
void agent_free_helpers(struct agent *agent);

/*
 * 1: the record that begins with @sample waits until the files of its process are looked up; 0: it can be folded, or
 * there is no room to wait. Negative errno.
 */
int agent_park(struct agent *agent, const struct abi_sample *sample);
bool agent_has_parked(const struct agent *agent);

/* The copy waits for the unwind table of an executable. 0; -ENOSPC: there is no room to wait. */
int agent_park_for_table(struct agent *agent, const struct abi_stack_copy *copy, uint32_t executable);

/* Folds all records that wait, as they are. */
int agent_fold_parked(struct agent *agent);

/*
 * Holds a mapping event back that would replace code which records that wait were in; applies what was held back before
 * a fork or an exec. 1: it is held back, 0: it is to be applied, or negative errno.
 */
int agent_park_event(struct agent *agent, const struct process_event *event);

/* Delivers what helpers answered, and folds records that waited for it. */
int agent_run_helpers(struct agent *agent);

/* Publishes processes, after all events of the past were applied. */
int agent_publish(struct agent *agent);
uint64_t agent_helpers_wakeup_ns(const struct agent *agent);

/* Before the agent stops or changes its period: records that still wait after 0.3 s are folded as they are. */
int agent_finish_helpers(struct agent *agent);
void agent_update_helper_metrics(struct agent *agent);

/* agent_waits.c */

/* Into the open window: the stacks of open waits that are not known yet; with @reports how long each took so far. */
int agent_walk_waits(struct agent *agent, bool reports);

/* agent_batch.c */

/* Closes the open window and hands it to the sender. */
int agent_close_window(struct agent *agent);

/* Handles everything the sender has for us. */
int agent_handle_answers(struct agent *agent);

/* Hands uploads to the sender while it has room for them. */
void agent_feed_uploads(struct agent *agent);

/* agent_budget.c */

/* Once sampling has begun. */
void agent_budget_begin(struct agent *agent);

/* CPU time and memory in the kernel, into the metrics. */
void agent_budget_measure(struct agent *agent, const uint64_t counters[ABI_COUNTER_COUNT]);

/* Compares what the agent needs, by its metrics, with its budget, and gives up or takes back a step. */
int agent_enforce_budget(struct agent *agent);

/* agent_metrics.c */

void agent_update_metrics(struct agent *agent);
int agent_write_metrics_file(struct agent *agent);

/* Counters that rose since the last batch, into ret_counters[AGENT_METRIC_COUNT]. Returns how many. */
size_t agent_counters_since_last_batch(struct agent *agent, struct window_counter *ret_counters);
