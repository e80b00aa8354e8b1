/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event source off-cpu: waits of threads, and the time that they wait for a CPU afterwards.
 * Each second, and before a window closes, it walks over all threads for waits that have not ended.
 */
#include <stdio.h>
#include <stdlib.h>

#include "agent/bpf_programs/kernel_btf.h"
#include "agent/event/event_source.h"
#include "agent/event/off_cpu/postponed_waits.h"
#include "agent/event/off_cpu/wait_rows.h"
#include "agent/event/off_cpu/wait_walker.h"
#include "bpf/abi/mapping.h"
#include "common/log.h"

/* How often the source walks over open waits for stacks that were not taken when they began. */
#define WALK_EVERY_NS NSEC_PER_SEC

/*
 * CPU time of a context switch in addition to what the BPF programs measure themselves. Measured by
 * kernel.bpf_stats_enabled (Linux 6.18, virtual machine): 0.37 us for a switch at which no stack is
 * taken, 0.45 us where threads are kept in a hash map.
 */
#define SWITCH_ENTRY_NS 400

/*
 * Bytes in front of each value in task storage (struct bpf_local_storage_elem). A hash map has
 * fewer.
 */
#define THREAD_HEADER_BYTES 128

/* Each step halves the CPU time for stacks of waits: down to a sixteenth. */
#define MAX_STEPS 4

struct off_cpu {
	const struct event_host *host;
	struct wait_rows rows;
	struct wait_walker *walker;
	struct postponed_waits postponed;
	uint64_t walked_ns; /* last walk */
};

/*
 * The programs for thread creation are first: a thread that is created before the next program is
 * attached then has its state in the map before it leaves a CPU for the first time.
 */
static const struct bpf_program_row programs[] = {
	{ .name = "hearth_on_thread", .attached = true },
	{ .name = "hearth_on_thread_freed",
	  .without = FEATURE_BIT(TASK_STORAGE),
	  .attached = true },
	{ .name = "hearth_on_thread_renamed",
	  .without = FEATURE_BIT(TASK_STORAGE),
	  .attached = true },
	{ .name = "hearth_on_switch", .attached = true },
	{ .name = "hearth_wait_part", .without = FEATURE_BIT(BPF_LOOP) },
	{ .name = WAIT_WALK_PROGRAM, .with = FEATURE_BIT(COPY_FROM_TASK), .attached = true },
	{ .name = WAIT_WALK_PROGRAM_FAST,
	  .without = FEATURE_BIT(COPY_FROM_TASK),
	  .attached = true },
};

static const struct bpf_map_row maps[] = {
	{ .name = "thread_waits", .with = FEATURE_BIT(TASK_STORAGE) },
	/* Before 6.4 the kernel reports the size that a hash map would have with all elements. */
	{ .name = "hashed_waits", .without = FEATURE_BIT(TASK_STORAGE), .left_out = true },
	{ .name = "blank_waits", .without = FEATURE_BIT(TASK_STORAGE) },
	{ .name = "wait_parts", .without = FEATURE_BIT(BPF_LOOP), .tail_call = "hearth_wait_part" },
	{ .name = "off_cpu_scratch" },
	{ .name = "new_waits" },
	{ .name = "capture_budgets" },
	{ .name = "walk_scratches" },
};

static void fit(const struct kernel_features *features, struct abi_config *config)
{
	config->hash_threads = !features->has[KERNEL_FEATURE_TASK_STORAGE];
	config->has_sched_info = features->has[KERNEL_FEATURE_SCHED_INFO];
	/*
	 * Since 5.18 (9c2136be0878) the tracepoint sched_switch has a fourth argument: the state
	 * that the scheduler used for its decision.
	 */
	config->switch_has_state = kernel_btf_tracepoint_arguments("sched_switch") == 4;
}

static const struct bpf_program_set program_set = {
	.programs = programs,
	.n_programs = ARRAY_SIZE(programs),
	.maps = maps,
	.n_maps = ARRAY_SIZE(maps),
	.fit = fit,
};

static bool is_enabled(const struct agent_config *config)
{
	return !config->off_cpu_disabled;
}

static const char *process_names(const struct agent_config *config)
{
	return config->off_cpu_regex;
}

static void configure(const struct agent_config *config, const struct kernel_layout *kernel,
		      struct abi_config *bpf_config)
{
	bpf_config->off_cpu_min_ns = config->off_cpu_min_blocking_time_ns;
	bpf_config->schedule_start = kernel->schedule_start;
	bpf_config->schedule_end = kernel->schedule_end;
}

/* Records of the walk may refer to stacks that are still in the ring buffer. */
static int before_records(void *arg)
{
	struct off_cpu *off_cpu = arg;
	const struct bpf_record_functions functions =
		postponed_waits_functions(&off_cpu->postponed);

	return off_cpu->host->read_records(off_cpu->host->arg, &functions);
}

static int walk(struct off_cpu *off_cpu, bool reports)
{
	const struct wait_walker_reader reader = {
		.before_records = before_records,
		.arg = off_cpu,
		.functions = postponed_waits_functions(&off_cpu->postponed),
	};
	int r;

	off_cpu->walked_ns = clock_monotonic_ns(off_cpu->host->clock);
	r = wait_walker_walk(off_cpu->walker, reports, &reader);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		log_warn_errno(
			r,
			"cannot walk over the threads that wait, their time is reported later: %m");
	/* Also after a failure: these samples have been taken from the ring buffer. */
	return postponed_waits_add(&off_cpu->postponed);
}

static int run(void *source, uint64_t now_ns)
{
	struct off_cpu *off_cpu = source;

	return now_ns >= off_cpu->walked_ns + WALK_EVERY_NS ? walk(off_cpu, false) : 0;
}

/* Reports the time of open waits up to now, in the window that covers this time. */
static int before_close(void *source)
{
	return walk(source, true);
}

static void free_source(void *source)
{
	struct off_cpu *off_cpu = source;

	wait_walker_free(off_cpu->walker);
	postponed_waits_release(&off_cpu->postponed);
	wait_rows_release(&off_cpu->rows, off_cpu->host->collector);
	free(off_cpu);
}

static int start_waits(struct off_cpu *off_cpu)
{
	const struct event_host *host = off_cpu->host;
	int r;

	r = wait_rows_init(&off_cpu->rows, host->collector, host->config->off_cpu_cpu == 1);
	if (r < 0)
		return log_error_errno(r, "cannot make the table of waits: %m, not starting");
	postponed_waits_init(&off_cpu->postponed, host->collector, &host->add);
	r = wait_walker_new(host->programs, host->config->privileges_keep, &off_cpu->walker);
	if (r < 0)
		return r;
	r = bpf_programs_attach(host->programs, &program_set);
	if (r < 0)
		return log_error_errno(r, "cannot watch context switches: %m");
	/* For threads that sleep already, the wait begins with this walk. */
	r = walk(off_cpu, false);
	return r < 0 ? log_error_errno(r, "cannot make the list of threads that wait: %m, not "
					  "starting; raise the limits of the service or container "
					  "for memory and open files")
		     : 0;
}

static int start(const struct event_host *host, void **ret_source)
{
	struct off_cpu *off_cpu = calloc(1, sizeof(*off_cpu));
	int r;

	if (!off_cpu)
		return log_error_errno(ENOMEM, "cannot make the table of waits: %m, not starting");
	off_cpu->host = host;
	r = start_waits(off_cpu);
	if (r < 0) {
		free_source(off_cpu);
		return r;
	}
	*ret_source = off_cpu;
	return 0;
}

static void update_metrics(void *source)
{
	const struct off_cpu *off_cpu = source;
	_Atomic uint64_t *metrics = off_cpu->host->metrics;
	struct wait_walker_stats stats;

	wait_walker_stats(off_cpu->walker, &stats);
	metric_set(metrics, AGENT_METRIC_OFF_CPU_WALK_NS, stats.walk_cpu_ns);
	metric_set(metrics, AGENT_METRIC_OFF_CPU_LATE, stats.late_walks);
	metric_set(metrics, AGENT_METRIC_OFF_CPU_OPEN, stats.open_waits);
}

static uint64_t bpf_ns(const uint64_t counters[ABI_COUNTER_COUNT])
{
	return counters[ABI_COUNTER_OFF_CPU_CAPTURE_NS] +
	       counters[ABI_COUNTER_OFF_CPU_SWITCHES] * SWITCH_ENTRY_NS;
}

/* The map's value, rounded up as the kernel's allocator does. */
static uint64_t bytes_per_thread(const void *source)
{
	const struct off_cpu *off_cpu = source;
	const struct bpf_programs *loaded = off_cpu->host->programs;
	size_t needed = bpf_programs_map_value_bytes(loaded, "thread_waits");
	uint64_t bytes = 1;

	if (needed == 0)
		needed = bpf_programs_map_value_bytes(loaded, "hashed_waits");
	while (bytes < needed + THREAD_HEADER_BYTES)
		bytes *= 2;
	return bytes;
}

static uint8_t max_step(const void *source)
{
	(void)source;
	return MAX_STEPS;
}

/* Divides the CPU time that may be spent on capturing stacks of waits by 2^@step. */
static int set_step(void *source, unsigned int step)
{
	const struct off_cpu *off_cpu = source;

	__atomic_store_n(&bpf_programs_control(off_cpu->host->programs)->capture_shift, step,
			 __ATOMIC_RELAXED);
	return 0;
}

static void describe(const void *source, unsigned int step,
		     char ret_text[EVENT_REDUCTION_TEXT_SIZE])
{
	(void)source;
	(void)snprintf(ret_text, EVENT_REDUCTION_TEXT_SIZE, "stacks of waits 1/%u", 1u << step);
}

static const char *const restart_keys[] = { "off_cpu.disabled", "off_cpu.min_blocking_time", NULL };

static const struct event_reduction reduction = {
	.what = "stacks of waits",
	.step = AGENT_METRIC_BUDGET_OFF_CPU,
	.reduced_ns = AGENT_METRIC_REDUCED_OFF_CPU_NS,
	.max_step = max_step,
	.set_step = set_step,
	.describe = describe,
};

const struct event_source off_cpu_source = {
	.programs = &program_set,
	.is_enabled = is_enabled,
	.process_names = process_names,
	.process_names_key = "off_cpu.regex",
	.excluded_flag = ABI_PROCESS_WITHOUT_OFF_CPU,
	.restart_keys = restart_keys,
	.configure = configure,
	.start = start,
	.free = free_source,
	.run = run,
	.before_close = before_close,
	.update_metrics = update_metrics,
	.bpf_ns = bpf_ns,
	.bytes_per_thread = bytes_per_thread,
	.reduction = &reduction,
};
