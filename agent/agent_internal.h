/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The agent's state, shared by agent_start.c (makes and frees it), agent.c (main loop, stop),
 * agent_records.c (samples and process events), agent_batch.c (sends windows, handles the server's
 * answers), agent_budget.c, agent_cpus.c (CPUs that go offline and come back), agent_helpers.c
 * (files of other processes), agent_metrics.c and agent_waits.c.
 */

#include <stdatomic.h>

#include "agent/agent.h"
#include "agent/budget.h"
#include "agent/helper/identifier.h"
#include "agent/helper/page_toucher.h"
#include "agent/helper/process_reader.h"
#include "agent/helper/upload_opener.h"
#include "agent/host_info.h"
#include "agent/publish/mapping_publisher.h"
#include "agent/parked_records.h"
#include "agent/cpu/cpu_watch.h"
#include "agent/cpu/off_cpu.h"
#include "agent/cpu/on_cpu.h"
#include "agent/rules.h"
#include "agent/sample/collector.h"
#include "agent/publish/copy_unwinder.h"
#include "agent/publish/unwind_publisher.h"
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
	bool trusted_only;      /* waits until a file is seen that only root can write */
	unsigned int n_failed;  /* attempts that failed because a helper died or hung */
	uint64_t not_before_ns; /* monotonic: waits until then, after such an attempt */
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
	struct copy_unwinder *copy_unwinder;
	struct on_cpu *on_cpu;        /* NULL: disabled */
	struct page_toucher *toucher; /* NULL: absent pages are left alone */
	struct off_cpu *off_cpu;      /* NULL: disabled */
	struct nursery *nursery;      /* borrowed */
	struct helper_pool *helpers;
	struct identifier *identifier;
	struct process_reader *reader;
	struct upload_opener *upload_opener;
	struct parked_records *parked;
	struct sender *sender;
	struct wanted_vec wanted;       /* first come, first served */
	unsigned int n_opening_uploads; /* uploads with files that helpers are opening: 0 or 1 */

	uint64_t epoch;
	uint64_t sequence;
	uint64_t window_opened_ns;
	uint64_t n_added; /* samples, in all */
	/* between batches, when the server asks for longer than configured */
	uint64_t server_interval_ns;
	uint64_t base_period_ns; /* of the configured frequency */
	uint64_t period_ns;      /* in effect: longer when the budget lowered the frequency */
	struct budget budget;
	/* of the pool of unwind chunks before the budget reduced it; 0: it is not reduced */
	uint32_t unreduced_parts;
	uint64_t scanned_ns;      /* when /proc was read last */
	uint64_t n_superseded;    /* executables, as of the last look at mappings that have one */
	uint64_t trimmed_ns;      /* when the heap was trimmed last */
	uint64_t modules_read_ns; /* when the kernel's modules were read last */
	uint64_t cpus_looked_ns;  /* when the list of CPUs was read last */
	uint64_t walked_ns;       /* when the open waits were looked at last */
	bool scan_is_due;
	bool is_walking; /* its samples are of the open window, however full that is */
	bool puts_off;   /* the walk may have stacks that samples in the ring buffer refer to */
	/* such samples: each a struct abi_sample, some with a struct abi_wait */
	struct bytes put_off;
	bool over_budget; /* since the last step back the budget was exhausted, which was logged */
	bool is_measured; /* the metrics were updated after the budget was last checked */
	bool quiet;       /* the last drain brought next to nothing */
	uint64_t drained_ns;     /* when the rings were read last */
	uint64_t events_read_ns; /* process events before this time are queued */
	int epoll_fd;
	int signal_fd;
	int instance_fd; /* holds the name of this host and server; see agent/instance.h */

	_Atomic uint64_t metrics[AGENT_METRIC_COUNT];
	uint64_t sent_counters[AGENT_METRIC_COUNT]; /* as of the last batch */
};

/* agent_records.c */

/*
 * How often the rings are drained. A new process, or a ring that fills up, wakes the main loop
 * earlier.
 */
#define AGENT_DRAIN_INTERVAL_NS (250 * NSEC_PER_MSEC)

int agent_read_events(struct agent *agent);
int agent_apply_events_until(struct agent *agent, uint64_t until_ns);

/*
 * When the open window closes. While records are parked (agent_helpers.c) it stays open up to
 * AGENT_PARKED_MAX_NS longer; then the records that are still parked are added to it. They must not
 * be added to a later window: once the server has a later sample, time without samples means that
 * nothing ran. Also, the agent keeps the stacks that hashes refer to for two windows only.
 */
uint64_t agent_window_closes_ns(const struct agent *agent);

/*
 * Reads the ring buffer and closes windows that become full, except during a walk. Returns the
 * number of samples.
 */
int agent_read_samples(struct agent *agent);

/*
 * Add a record of the ring buffer or of a walk to the open window; -EXFULL: the window should be
 * closed. @arg: the agent.
 */
int agent_on_sample(void *arg, const struct abi_sample *sample, const struct abi_frame *frames);
int agent_on_stack_copy(void *arg, const struct abi_stack_copy *copy);

/*
 * The same, without parking the record: its files are identified, or it waits for them no longer.
 */
int agent_fold_sample(struct agent *agent, const struct abi_sample *sample,
		      const struct abi_frame *frames);

/*
 * The same. With @ret_waits_for not NULL it may return -EINPROGRESS, and the number of the
 * executable that needs an unwind table which is being made.
 */
int agent_fold_stack_copy(struct agent *agent, const struct abi_stack_copy *copy,
			  uint32_t *ret_waits_for);

/* agent.c */

/*
 * With sampling paused: submits samples that wait for their thread to finish them, and drains the
 * rings until none is left.
 */
int agent_drain_deferred(struct agent *agent);

/* agent_start.c */

/* Wakes the main loop when @fd is readable, until it is closed. */
int agent_watch_fd(struct agent *agent, int fd);

/* agent_cpus.c */

/*
 * Before anything else is read: opens the events of all processes on all CPUs. What failed was
 * logged.
 */
int agent_open_events(struct agent *agent);

/* Sampling begins. What failed was logged. */
int agent_start_timers(struct agent *agent);

/* Events and timers follow CPUs that came or went. Fails only without memory. */
int agent_follow_cpus(struct agent *agent);

/*
 * Reads all samples that were taken, then restarts the timers with another period. Fails only
 * without memory.
 */
int agent_change_period(struct agent *agent, uint64_t period_ns);

/* Into the metrics, after the timers' clocks, and then the BPF programs' counters, were read. */
void agent_account_ticks(struct agent *agent);

/* agent_helpers.c */

/*
 * Longest time that a record is parked. Most look-ups take a millisecond; with thirty busy threads
 * per CPU they take a second. After that time, frames in files that are not identified keep their
 * raw addresses.
 */
#define AGENT_PARKED_MAX_NS (4 * NSEC_PER_SEC)

int agent_start_helpers(struct agent *agent, struct nursery *nursery);
void agent_free_helpers(struct agent *agent);

/*
 * Parks the record that begins with @sample if files of its process are being looked up. 1: it is
 * parked; 0: it is not, and must be processed now; or negative errno.
 */
int agent_park(struct agent *agent, const struct abi_sample *sample);
bool agent_has_parked(const struct agent *agent);

/* Parks the copy until the unwind table of @executable is made. 0, or -ENOSPC: there is no room. */
int agent_park_for_table(struct agent *agent, const struct abi_stack_copy *copy,
			 uint32_t executable);

/* Processes all parked records with what is known now. */
int agent_fold_parked(struct agent *agent);

/*
 * Before an event is applied. Parks a mapping event that would replace code in which parked records
 * of its process were sampled. Before a fork or an exec, processes all records of a process that
 * has parked events. 1: the event is parked; 0: the caller applies it; or negative errno.
 */
int agent_park_event(struct agent *agent, const struct process_event *event);

/* Handles answers of helpers, and processes parked records that waited for them. */
int agent_run_helpers(struct agent *agent);

/* Publishes mappings of processes. To be called after all events so far were applied. */
int agent_publish(struct agent *agent);
uint64_t agent_helpers_wakeup_ns(const struct agent *agent);

/*
 * Before the agent stops or changes its period: waits up to 0.3 s for look-ups, then processes all
 * parked records.
 */
int agent_finish_helpers(struct agent *agent);
void agent_update_helper_metrics(struct agent *agent);

/* agent_waits.c */

/*
 * During a walk: keeps @sample until the walk is over, if its stack is not known yet. 1: it is
 * kept; 0: the caller processes it now; or -ENOMEM.
 */
int agent_put_off(struct agent *agent, const struct abi_sample *sample);

/*
 * Into the open window: the stacks of open waits that are not known yet; with @reports how long
 * each took so far.
 */
int agent_walk_waits(struct agent *agent, bool reports);

/* agent_batch.c */

/* Closes the open window and hands it to the sender. */
int agent_close_window(struct agent *agent);

/* Handles everything the sender has for us. */
int agent_handle_answers(struct agent *agent);

/* Hands uploads to the sender while it has room for them. */
void agent_feed_uploads(struct agent *agent);

/* agent_budget.c */

/* To be called once sampling has begun. */
void agent_budget_begin(struct agent *agent);

/* Updates the metrics of CPU time and memory that the agent needs in the kernel. */
void agent_budget_measure(struct agent *agent, const uint64_t counters[ABI_COUNTER_COUNT]);

/* Compares the metrics with the budget, and takes at most one step or takes one back. */
int agent_enforce_budget(struct agent *agent);

/* agent_metrics.c */

void agent_update_metrics(struct agent *agent);
int agent_write_metrics_file(struct agent *agent);

/*
 * Counters that rose since the last batch, into ret_counters[AGENT_METRIC_COUNT]. Returns how many.
 */
size_t agent_counters_since_last_batch(struct agent *agent, struct window_counter *ret_counters);
