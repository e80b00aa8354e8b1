/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The agent's state, and the functions that its files share. Each file calls functions of the files
 * below it only:
 *
 *   agent_start.c    makes and frees the agent
 *   agent_host.c     checks the host, and gives up privileges
 *   agent.c          main loop and stop
 *   agent_budget.c   compares memory and CPU time with the budget
 *   agent_drain.c    reads all that waits in the kernel, and closes windows that are full or due
 *   agent_batch.c    hands windows to the sender, handles the server's answers
 *   agent_uploads.c  uploads executables that the server requests
 *   agent_metrics.c  gathers the metrics
 *   agent_cpus.c     follows CPUs that go offline and come back
 *   agent_pods.c     labels processes with the names and labels of their Pods
 *   agent_records.c  reads samples and process events in the order of their times
 *   agent_helpers.c  looks up files of other processes, parks records that need them
 *   agent_fold.c     adds a sample to the open window
 *
 * A window may become full while samples are added to it. The functions that add samples never
 * close it: they set window_is_full. Only agent.c and agent_drain.c close windows, while no sample
 * is being added and no function of an event source runs.
 */

#include <stdatomic.h>
#include <sys/epoll.h>

#include "agent/agent.h"
#include "agent/agent_metric.h"
#include "agent/budget.h"
#include "agent/helper/identifier.h"
#include "agent/helper/page_toucher.h"
#include "agent/helper/process_reader.h"
#include "agent/helper/upload_opener.h"
#include "agent/host_info.h"
#include "agent/jit/jit_names.h"
#include "agent/interpreter/code_reader.h"
#include "agent/interpreter/compiled_frames.h"
#include "agent/interpreter/jvm_table.h"
#include "agent/kubernetes/pod_watch.h"
#include "agent/publish/mapping_publisher.h"
#include "agent/parked_records.h"
#include "agent/cpu/cpu_watch.h"
#include "agent/event/event_sources.h"
#include "agent/rules.h"
#include "agent/sample/collector.h"
#include "agent/publish/copy_unwinder.h"
#include "agent/publish/unwind_publisher.h"
#include "agent/upload/sender.h"
#include "agent/wanted.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/metrics.h"

/* Size of the table of paths and label values of all processes. It is compacted when half full. */
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
	struct abi_config bpf_config; /* of the loaded BPF programs */
	struct bpf_programs *programs;
	struct mapping_publisher publisher;
	struct unwind_publisher tables;
	struct copy_unwinder *copy_unwinder;
	struct event_sources sources;
	struct page_toucher *toucher; /* NULL: absent pages are not read */
	struct nursery *nursery;      /* borrowed */
	struct helper_pool *helpers;
	struct identifier *identifier;
	struct process_reader *reader;
	struct upload_opener *upload_opener;
	struct jit_names *jit_names; /* NULL: generated code is not named */
	struct code_reader *code_reader;
	struct jvm_table *jvms; /* these two: NULL if Java is not wanted */
	struct compiled_frames *compiled_frames;
	struct pod_watch *pods;   /* NULL: processes have no labels of Pods */
	uint64_t pods_generation; /* of the lists by which processes were labelled */
	struct parked_records *parked;
	struct sender *sender;
	struct wanted_vec wanted;
	unsigned int n_opening_uploads; /* uploads with a file that a helper is opening: 0 or 1 */

	uint64_t epoch;
	uint64_t sequence;
	uint64_t window_opened_ns;
	/* when look-ups of names of generated code began for the open window; 0: not yet */
	uint64_t names_begun_ns;
	unsigned int n_name_rounds; /* look-ups that began since then */
	uint64_t n_added;           /* samples added to all windows */
	bool window_is_full; /* the open window should be closed although its time is not over */
	uint64_t server_interval_ns; /* shortest interval between batches, set by the server */
	struct budget budget;
	/* parts of the pool of unwind chunks before the budget reduced it; 0: not reduced */
	uint32_t unreduced_parts;
	uint64_t scanned_ns;      /* last reading of all of /proc */
	uint64_t n_superseded;    /* executables, as of the last look at mappings that have one */
	uint64_t trimmed_ns;      /* last trim of the heap */
	uint64_t modules_read_ns; /* last reading of the list of kernel modules */
	uint64_t cpus_looked_ns;  /* last reading of the list of CPUs */
	bool scan_is_due;
	bool over_budget; /* no step was left, which was logged; until a step is taken back */
	uint64_t budget_read_ns; /* CLOCK_MONOTONIC, when the budget was last compared; 0: never */
	bool is_measured;        /* the metrics were updated after the budget was last checked */
	bool quiet;              /* the last drain read next to nothing */
	uint64_t drained_ns;     /* last reading of the rings */
	uint64_t events_read_ns; /* process events before this time are queued */
	int epoll_fd;
	int signal_fd;
	int instance_fd; /* socket of agent/instance.h */

	_Atomic uint64_t metrics[AGENT_METRIC_COUNT];
	uint64_t sent_counters[AGENT_METRIC_COUNT]; /* values in the last batch */
};

/* Wakes the main loop whenever @fd is readable, until it is closed. 0 or negative errno. */
static inline int agent_watch_fd(struct agent *agent, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(agent->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* Whether records wait for look-ups or unwind tables (agent_helpers.c). */
static inline bool agent_has_parked(const struct agent *agent)
{
	return parked_records_count(agent->parked) > 0;
}

/* Logs that the start failed because @object could not be made: there are too few resources. */
static inline int agent_log_not_made(int r, const char *object)
{
	return log_error_errno(
		r,
		"cannot make %s: %m, not starting; raise the limits of the service or "
		"container for memory and open files",
		object);
}

/* agent_budget.c */

/* To be called once sampling has begun. */
void agent_budget_begin(struct agent *agent);

/* Compares the metrics with the budget. Takes at most one step, or takes one back. */
int agent_enforce_budget(struct agent *agent);

/* agent_drain.c */

/*
 * How often the rings are drained. A new process, or a ring that fills up, wakes the main loop
 * earlier.
 */
#define AGENT_DRAIN_INTERVAL_NS (250 * NSEC_PER_MSEC)

/*
 * Moves all records that wait in the kernel into the open window, and publishes processes. Closes
 * windows that become full, and goes on with the next one.
 */
int agent_drain(struct agent *agent);

/*
 * With sampling paused: submits samples that wait for their thread to finish them, and drains the
 * rings until no such sample is left.
 */
int agent_drain_deferred(struct agent *agent);

/* Handles answers of helpers, and processes parked records that waited for them. */
int agent_run_helpers(struct agent *agent);

/*
 * Before the agent stops or changes its period: waits up to 0.3 s for look-ups, then processes all
 * parked records.
 */
int agent_finish_helpers(struct agent *agent);

/* Before the agent stops: waits up to 0.3 s for names of generated code. */
int agent_finish_names(struct agent *agent);

/* Processes all parked records, and closes the window. To be called when its time is over. */
int agent_close_due_window(struct agent *agent);

/* agent_batch.c */

/*
 * Closes the open window and hands it to the sender. Walks over the open waits first: must not be
 * called while records are being added.
 */
int agent_close_window(struct agent *agent);

/* Handles all events of the sender. */
int agent_handle_answers(struct agent *agent);

/* agent_uploads.c */

/* Queues the executable of a SENDER_WANTED event. 0 or -ENOMEM. */
int agent_want_upload(struct agent *agent, const struct sender_event *event);

/* Hands uploads to the sender while it has room for them. */
void agent_feed_uploads(struct agent *agent);

/* agent_metrics.c */

void agent_update_metrics(struct agent *agent);
int agent_write_metrics_file(struct agent *agent);

/*
 * Writes the counters that rose since the last batch into ret_counters[AGENT_METRIC_COUNT]. Returns
 * their number.
 */
size_t agent_counters_since_last_batch(struct agent *agent, struct window_counter *ret_counters);

/* agent_cpus.c */

/*
 * Opens the process events of all CPUs. To be called before anything else is read. Logs failures.
 */
int agent_open_events(struct agent *agent);

/*
 * Opens and closes process events, and what the event sources have on each CPU, for CPUs that went
 * online or offline. 0 or -ENOMEM.
 */
int agent_follow_cpus(struct agent *agent);

/* agent_records.c */

int agent_read_events(struct agent *agent);
int agent_apply_events_until(struct agent *agent, uint64_t until_ns);

/*
 * Adds the samples of the ring buffer to the open window until it is full or the ring buffer is
 * empty. Returns the number of samples, 0 if the window is full, or negative errno.
 */
int agent_read_samples(struct agent *agent);

/*
 * Passes all records of the ring buffer to @functions, even if the window is full. 0 or negative
 * errno. @arg: the agent.
 */
int agent_read_all_samples(void *arg, const struct bpf_record_functions *functions);

/* Add a record of the ring buffer or of an event source to the open window. @arg: the agent. */
int agent_on_sample(void *arg, const struct abi_sample *sample, const struct abi_frame *frames);
int agent_on_stack_copy(void *arg, const struct abi_stack_copy *copy);

/* agent_pods.c */

/* Begins to read lists of Pods. To be called once privileges are given up. Logs failures. */
int agent_start_pods(struct agent *agent);

/* Labels processes again if a list of Pods was read. 0 or -ENOMEM. */
int agent_follow_pods(struct agent *agent);

void agent_update_pod_metrics(struct agent *agent);

/* agent_helpers.c */

/*
 * Longest time that a window stays open until names of generated code are looked up. A look-up
 * takes milliseconds; the first one reads the whole file. Then the window closes without names.
 */
#define AGENT_NAMES_MAX_NS (2 * NSEC_PER_SEC)

/*
 * Begins to look up names of generated code in the open window, which is due. Returns whether the
 * window should wait for them.
 */
bool agent_waits_for_names(struct agent *agent, uint64_t now_ns);

/*
 * Longest time that a record is parked. Most look-ups take a millisecond; with thirty busy threads
 * per CPU they take a second. After that time, frames in files that are not identified keep their
 * raw addresses.
 */
#define AGENT_PARKED_MAX_NS (4 * NSEC_PER_SEC)

/*
 * Checks that the agent may run on this host, raises its limits, and gives up privileges. Logs
 * failures.
 */
int agent_check_host(struct agent *agent);

/* Logs failures. */
int agent_start_helpers(struct agent *agent, struct nursery *nursery);
void agent_free_helpers(struct agent *agent);

/* The reader of functions of interpreters and JVMs (agent_code.c). */
int agent_start_code(struct agent *agent);
void agent_free_code(struct agent *agent);

/* Has the publisher of mappings report JVMs. */
void agent_watch_jvms(struct agent *agent);

/*
 * Begins to read the functions in the stack of the sample. 1: some are being read; 0: none is; or
 * negative errno.
 */
int agent_needs_code(struct agent *agent, const struct abi_sample *sample,
		     const struct process *process);

/* Hands requests to helpers. */
void agent_serve_code(struct agent *agent, uint64_t now_ns);
void agent_update_code_metrics(struct agent *agent);

/*
 * Parks the record that begins with @sample if files of its process are being looked up. 1: it is
 * parked; 0: it is not, and must be processed now; or negative errno.
 */
int agent_park(struct agent *agent, const struct abi_sample *sample);

/* Parks the copy until the unwind table of @executable is made. 0, or -ENOSPC: there is no room. */
int agent_park_for_table(struct agent *agent, const struct abi_stack_copy *copy,
			 uint32_t executable);

/*
 * Adds parked records to the open window that need not wait any longer at @now_ns; with UINT64_MAX
 * all. 0; 1: the window became full before all were tried; or negative errno.
 */
int agent_fold_parked(struct agent *agent, uint64_t now_ns);

/*
 * To be called before an event is applied. Parks a mapping event that would replace code in which
 * parked records of its process were sampled. Before a fork or an exec, processes all records of a
 * process that has parked events. 1: the event is parked; 0: the caller applies it; or negative
 * errno.
 */
int agent_park_event(struct agent *agent, const struct process_event *event);

/* Hands requests to helpers, and handles their answers. */
void agent_serve_helpers(struct agent *agent, uint64_t now_ns);

/* Publishes mappings of processes. To be called after all events so far were applied. */
void agent_publish(struct agent *agent, uint64_t now_ns);

/* When the main loop must call agent_run_helpers() (monotonic). */
uint64_t agent_helpers_wakeup_ns(const struct agent *agent);
void agent_update_helper_metrics(struct agent *agent);

/* agent_fold.c */

/*
 * When the open window closes. While records are parked (agent_helpers.c) it stays open up to
 * AGENT_PARKED_MAX_NS longer; then the records that are still parked are added to it. They must not
 * be added to a later window: once the server has a later sample, time without samples means that
 * nothing ran. Also, the agent keeps the stacks that hashes refer to for two windows only.
 */
uint64_t agent_window_closes_ns(const struct agent *agent);

/*
 * Add a record to the open window: its files are identified, or it does not wait for them any
 * longer. Set window_is_full if the window should then be closed.
 */
int agent_fold_sample(struct agent *agent, const struct abi_sample *sample,
		      const struct abi_frame *frames);

/*
 * If @ret_waits_for is not NULL, may return -EINPROGRESS: the stack needs the unwind table of
 * executable *@ret_waits_for, which is being made.
 */
int agent_fold_stack_copy(struct agent *agent, const struct abi_stack_copy *copy,
			  uint32_t *ret_waits_for);

/* Bytes of the record that begins with @sample, up to the end of its frames or copied stack. */
size_t agent_record_size(const struct abi_sample *sample);
