/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers find and parse files of other processes (agent/helper/identifier.h). Records that need
 * such a file are parked until it is identified (agent/parked_records.h); the agent processes all
 * others meanwhile.
 */
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>

#include "agent/agent_internal.h"
#include "common/log.h"

/*
 * A stack copy has up to 36 KiB: enough for 200 ms of a machine with 10 CPUs on which all samples
 * are of files that are not identified yet.
 */
#define PARKED_MAX_BYTES (8 * MIB)

/* How long an agent that stops waits for look-ups in progress. */
#define STOP_WAIT_NS (300 * NSEC_PER_MSEC)
#define STOP_POLL_MS 10

/* Two of a kind, so that one goes on while the other hangs. */
#define N_FINDERS        2
#define N_PARSERS        2
#define N_COMPILERS      2
#define N_SLOW_COMPILERS 1
#define N_TOUCHERS       2

static void on_looked_up(void *arg, uint32_t pid)
{
	struct agent *agent = arg;

	(void)process_table_looked_up(agent->processes, pid);
}

int agent_start_helpers(struct agent *agent, struct nursery *nursery)
{
	const struct helper_pool_options options = {
		.nursery = nursery,
		.width = {
			[HELPER_FINDER] = N_FINDERS,
			[HELPER_PARSER] = N_PARSERS,
			[HELPER_COMPILER] = N_COMPILERS,
			[HELPER_SLOW_COMPILER] = N_SLOW_COMPILERS,
			[HELPER_TOUCHER] = N_TOUCHERS,
		},
		.single_use = { [HELPER_COMPILER] = true, [HELPER_SLOW_COMPILER] = true },
	};
	int r;

	agent->nursery = nursery;
	r = parked_records_new(PARKED_MAX_BYTES, &agent->parked);
	if (r == 0)
		r = helper_pool_new(&options, &agent->helpers);
	if (r == 0)
		r = identifier_new(agent->executables, agent->helpers, &agent->identifier);
	if (r == 0)
		r = process_reader_new(&(struct process_reader_options){ .nursery = nursery },
				       &agent->reader);
	if (r == 0)
		r = upload_opener_new(agent->helpers, agent->clock, &agent->upload_opener);
	if (r < 0)
		return r;
	process_table_set_files(
		agent->processes,
		&(struct process_files){ .arg = agent->reader, .read = process_reader_read });
	identifier_on_end(agent->identifier, on_looked_up, agent);
	process_table_set_identifier(
		agent->processes,
		&(struct process_identifier){ .arg = agent->identifier, .ask = identifier_find });
	return agent_watch_fd(agent, helper_pool_fd(agent->helpers));
}

void agent_free_helpers(struct agent *agent)
{
	helper_pool_free(agent->helpers);
	page_toucher_free(agent->toucher);
	identifier_free(agent->identifier);
	process_reader_free(agent->reader);
	upload_opener_free(agent->upload_opener);
	parked_records_free(agent->parked);
}

/*
 * Begins look-ups of files that the sample needs. 1: some are in progress, 0: none is, or negative
 * errno.
 */
static int needs_look_ups(struct agent *agent, const struct abi_sample *sample)
{
	struct process *process;
	int r;

	if (!(sample->flags & (ABI_SAMPLE_COPIED | ABI_SAMPLE_UNRESOLVED)))
		return 0;
	r = collector_image(agent->collector, sample, &process);
	if (r < 0 || process->kernel_thread)
		return r;
	return !process_table_identify_mappings(agent->processes, process);
}

static size_t size_of(const struct abi_sample *sample)
{
	size_t n_frames = (size_t)sample->n_kernel_frames + sample->n_user_frames;

	if (sample->flags & ABI_SAMPLE_COPIED)
		return offsetof(struct abi_stack_copy, stack) +
		       ((const struct abi_stack_copy *)(const void *)sample)->stack_bytes;
	if (sample->flags & ABI_SAMPLE_STANDS)
		return sizeof(*sample) + sizeof(struct abi_wait);
	return sizeof(*sample) +
	       (sample->flags & ABI_SAMPLE_FULL ? n_frames * sizeof(struct abi_frame) : 0);
}

bool agent_has_parked(const struct agent *agent)
{
	return parked_records_count(agent->parked) > 0;
}

/*
 * Adds the sample's stack alone, because samples of other processes may refer to it by its hash
 * before the sample itself is processed: only records of the same process keep their order.
 */
static int define_stack(struct agent *agent, const struct abi_sample *sample)
{
	struct abi_sample definition = *sample;

	definition.flags |= ABI_SAMPLE_DEFINITION;
	return collector_add(agent->collector, &definition, (const struct abi_frame *)(sample + 1));
}

/* 0, or -ENOSPC: there is no room to wait. */
static int park(struct agent *agent, const struct abi_sample *sample, uint32_t waits_for)
{
	const struct parked_record record = {
		.pid = sample->pid,
		.kind = sample->flags & ABI_SAMPLE_COPIED ? PARKED_COPY : PARKED_SAMPLE,
		.bytes = sample,
		.size = size_of(sample),
		.waits_for = waits_for,
	};
	int r;

	r = parked_records_add(agent->parked, &record,
			       clock_monotonic_ns(agent->clock) + AGENT_PARKED_MAX_NS);
	if (r == -ENOSPC)
		metric_add(agent->metrics, AGENT_METRIC_PARKED_FULL, 1);
	return r;
}

int agent_park_for_table(struct agent *agent, const struct abi_stack_copy *copy,
			 uint32_t executable)
{
	return park(agent, &copy->header, executable);
}

static int apply_parked_event(struct agent *agent, const struct parked_record *record)
{
	const char *path = (const char *)record->bytes + sizeof(struct process_event);
	struct process_event event;
	int r;

	memcpy(&event, record->bytes, sizeof(event));
	event.path = (char *)path;
	process_table_hold(agent->processes, event.pid, -1);
	r = process_table_apply(agent->processes, &event);
	return r < 0 ? r : 1;
}

static int try_record(void *arg, struct parked_record *record, bool is_late)
{
	const struct abi_sample *sample = record->bytes;
	struct agent *agent = arg;
	int r;

	if (record->kind == PARKED_EVENT)
		return apply_parked_event(agent, record);
	if (!is_late) {
		if (record->waits_for &&
		    unwind_publisher_is_making(&agent->tables, record->waits_for))
			return 0;
		r = needs_look_ups(agent, sample);
		if (r != 0)
			return r < 0 ? r : 0;
	}
	r = record->kind == PARKED_COPY
		    ? agent_fold_stack_copy(agent, record->bytes,
					    is_late ? NULL : &record->waits_for)
		    : agent_fold_sample(agent, sample, (const struct abi_frame *)(sample + 1));
	if (r == -EINPROGRESS)
		return 0;
	return r < 0 ? r : 1;
}

/*
 * There is no room for a record of @pid: its earlier records do not wait any longer, so that the
 * order is kept.
 */
static int end_parked(struct agent *agent, uint32_t pid)
{
	return parked_records_has(agent->parked, pid)
		       ? parked_records_end(agent->parked, pid, try_record, agent)
		       : 0;
}

int agent_park(struct agent *agent, const struct abi_sample *sample)
{
	int r = needs_look_ups(agent, sample);

	if (r < 0 || (r == 0 && !parked_records_has(agent->parked, sample->pid)))
		return r;
	if (r == 0 && sample->flags & ABI_SAMPLE_FULL && !(sample->flags & ABI_SAMPLE_COPIED))
		r = define_stack(agent, sample);
	if (r >= 0)
		r = park(agent, sample, 0);
	if (r == -ENOSPC)
		return end_parked(agent, sample->pid);
	return r < 0 ? r : 1;
}

/* 1 parked, 0, or negative errno. */
static int park_mapping(struct agent *agent, const struct process_event *event)
{
	const size_t path_size = strlen(event->path) + 1;
	uint8_t bytes[sizeof(*event) + PATH_MAX];
	const struct parked_record record = {
		.pid = event->pid,
		.kind = PARKED_EVENT,
		.bytes = bytes,
		.size = sizeof(*event) + path_size,
	};
	int r = -ENOSPC;

	if (record.size <= sizeof(bytes)) {
		memcpy(bytes, event, sizeof(*event));
		memcpy(bytes + sizeof(*event), event->path, path_size);
		r = parked_records_add(agent->parked, &record, UINT64_MAX);
	}
	if (r == 0)
		process_table_hold(agent->processes, event->pid, 1);
	return r < 0 ? r : 1;
}

/* Processes all records of @pid, if mapping events of it are held back. */
static int end_held(struct agent *agent, uint32_t pid)
{
	return process_table_is_held(agent->processes, pid)
		       ? parked_records_end(agent->parked, pid, try_record, agent)
		       : 0;
}

int agent_park_event(struct agent *agent, const struct process_event *event)
{
	int r;

	switch (event->type) {
	case PROCESS_MAPPED:
		if (!parked_records_has(agent->parked, event->pid) ||
		    (!process_table_is_held(agent->processes, event->pid) &&
		     !process_table_replaces(agent->processes, event)))
			return 0;
		r = park_mapping(agent, event);
		return r == -ENOSPC
			       ? parked_records_end(agent->parked, event->pid, try_record, agent)
			       : r;
	case PROCESS_FORKED:
		/* The child gets a copy of the parent's mappings, which must be up to date. */
		r = end_held(agent, event->parent);
		return r < 0 ? r : end_held(agent, event->pid);
	case PROCESS_EXECED:
		/* Events that are held back belong to the image that ends here. */
		return end_held(agent, event->pid);
	case PROCESS_EXITED:
	case KERNEL_CODE_MADE:
	case KERNEL_CODE_FREED:
	case PROCESS_THREADED:
		return 0;
	}
	return 0;
}

/* Begins the look-ups that were asked for, and the reading of pages. */
static void hand_out(struct agent *agent, uint64_t now_ns)
{
	identifier_flush(agent->identifier, now_ns);
	if (agent->toucher)
		page_toucher_flush(agent->toucher, now_ns);
	helper_pool_run(agent->helpers, now_ns);
}

static int run_parked(struct agent *agent, uint64_t now_ns)
{
	int r;

	while ((r = parked_records_run(agent->parked, now_ns, try_record, agent)) == -EXFULL) {
		r = agent_close_window(agent);
		if (r < 0)
			return r;
	}
	return r;
}

int agent_run_helpers(struct agent *agent)
{
	uint64_t now_ns = clock_monotonic_ns(agent->clock);
	int r;

	process_reader_tend(agent->reader, now_ns);
	hand_out(agent, now_ns);
	r = run_parked(agent, now_ns);
	if (r < 0)
		return r;
	hand_out(agent, now_ns);
	return 0;
}

int agent_publish(struct agent *agent)
{
	uint64_t now_ns = clock_monotonic_ns(agent->clock);

	mapping_publisher_run(&agent->publisher, now_ns);
	hand_out(agent, now_ns);
	return 0;
}

uint64_t agent_helpers_wakeup_ns(const struct agent *agent)
{
	return helper_pool_wakeup_ns(agent->helpers);
}

int agent_fold_parked(struct agent *agent)
{
	return run_parked(agent, UINT64_MAX);
}

int agent_finish_helpers(struct agent *agent)
{
	uint64_t until_ns = clock_monotonic_ns(agent->clock) + STOP_WAIT_NS;
	struct pollfd polled = { .fd = helper_pool_fd(agent->helpers), .events = POLLIN };
	int r = 0;

	while (r == 0 && parked_records_count(agent->parked) > 0 &&
	       clock_monotonic_ns(agent->clock) < until_ns) {
		(void)poll(&polled, 1, STOP_POLL_MS);
		r = agent_run_helpers(agent);
	}
	return r < 0 ? r : agent_fold_parked(agent);
}

void agent_update_helper_metrics(struct agent *agent)
{
	struct process_reader_stats reader;
	struct identifier_stats stats;
	struct helper_pool_stats finders, parsers, touchers;

	identifier_stats(agent->identifier, &stats);
	process_reader_stats(agent->reader, &reader);
	helper_pool_stats(agent->helpers, HELPER_FINDER, &finders);
	helper_pool_stats(agent->helpers, HELPER_PARSER, &parsers);
	helper_pool_stats(agent->helpers, HELPER_TOUCHER, &touchers);
	metric_set(agent->metrics, AGENT_METRIC_LOOK_UPS, stats.looked_up);
	metric_set(agent->metrics, AGENT_METRIC_FILES_WATCHED, stats.watched);
	metric_set(agent->metrics, AGENT_METRIC_LOOK_UPS_HUNG, stats.hung);
	metric_set(agent->metrics, AGENT_METRIC_LOOK_UPS_LEFT_ALONE, stats.avoided);
	metric_set(agent->metrics, AGENT_METRIC_LOOK_UPS_PARSER, stats.parser_failed);
	metric_set(agent->metrics, AGENT_METRIC_LOOK_UPS_REFUSED, stats.refused);
	metric_set(agent->metrics, AGENT_METRIC_FINDER_TIMEOUTS, finders.timeouts);
	metric_set(agent->metrics, AGENT_METRIC_FINDER_DEATHS, finders.deaths);
	metric_set(agent->metrics, AGENT_METRIC_PARSER_TIMEOUTS, parsers.timeouts);
	metric_set(agent->metrics, AGENT_METRIC_PARSER_DEATHS, parsers.deaths);
	metric_set(agent->metrics, AGENT_METRIC_READER_TIMEOUTS, reader.timeouts);
	metric_set(agent->metrics, AGENT_METRIC_READER_DEATHS, reader.deaths);
	metric_set(agent->metrics, AGENT_METRIC_TOUCHER_TIMEOUTS, touchers.timeouts);
	metric_set(agent->metrics, AGENT_METRIC_TOUCHER_DEATHS, touchers.deaths);
	metric_set(agent->metrics, AGENT_METRIC_READER_LEFT_ALONE, reader.avoided);
	metric_set(agent->metrics, AGENT_METRIC_PARKED_LATE, parked_records_late(agent->parked));
}
