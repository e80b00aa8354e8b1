/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has helpers find and parse files of other processes (agent/helper/identifier.h). Parks records
 * that need such a file until it is identified (agent/parked_records.h).
 */
#include <limits.h>
#include <string.h>

#include "agent/agent_internal.h"

/*
 * Size of all parked records. A stack copy takes up to 36 KiB, so this holds 200 ms of samples of a
 * host with 10 CPUs on which every sample is a copy.
 */
#define PARKED_MAX_BYTES (8 * MIB)

/* Number of helpers of each kind. With two, one can work while the other hangs. */
#define N_FINDERS        2
#define N_PARSERS        2
#define N_COMPILERS      2
#define N_SLOW_COMPILERS 1
#define N_TOUCHERS       2

/*
 * Look-ups of names for one window: one for all that was sampled, and some more for samples that
 * arrived meanwhile. Each takes a shorter time than the one before.
 */
#define MAX_NAME_ROUNDS 3

static void on_looked_up(void *arg, uint32_t pid)
{
	struct agent *agent = arg;

	(void)process_table_looked_up(agent->processes, pid);
}

static int start_jit_names(struct agent *agent)
{
	const struct jit_names_options options = {
		.pool = agent->helpers,
		.strings = agent->strings,
		.objects = frame_resolver_code_objects(agent->frames),
		.clock = agent->clock,
	};
	struct code_namer namer;
	int r;

	if (!agent->config->jit_names)
		return 0;
	r = jit_names_new(&options, &agent->jit_names);
	if (r < 0)
		return r;
	namer = jit_names_namer(agent->jit_names);
	collector_set_code_namer(agent->collector, &namer);
	return 0;
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
	if (r < 0)
		return agent_log_not_made(r, "the queue of parked records");
	r = helper_pool_new(&options, &agent->helpers);
	if (r < 0)
		return agent_log_not_made(r, "the pool of helpers");
	r = identifier_new(agent->executables, agent->helpers, &agent->identifier);
	if (r < 0)
		return agent_log_not_made(r, "the identifier of files");
	r = process_reader_new(&(struct process_reader_options){ .nursery = nursery },
			       &agent->reader);
	if (r < 0)
		return agent_log_not_made(r, "the reader of processes");
	r = upload_opener_new(agent->helpers, agent->clock, &agent->upload_opener);
	if (r < 0)
		return agent_log_not_made(r, "the opener of uploads");
	r = start_jit_names(agent);
	if (r < 0)
		return agent_log_not_made(r, "the table of names of generated code");
	r = agent_start_code(agent);
	if (r < 0)
		return r;
	process_table_set_files(
		agent->processes,
		&(struct process_files){ .arg = agent->reader, .read = process_reader_read });
	identifier_on_end(agent->identifier, on_looked_up, agent);
	process_table_set_identifier(
		agent->processes,
		&(struct process_identifier){ .arg = agent->identifier, .find = identifier_find });
	r = agent_watch_fd(agent, helper_pool_fd(agent->helpers));
	return r < 0 ? agent_log_not_made(r, "the watch of helpers") : 0;
}

void agent_free_helpers(struct agent *agent)
{
	helper_pool_free(agent->helpers);
	jit_names_free(agent->jit_names);
	page_toucher_free(agent->toucher);
	agent_free_code(agent);
	identifier_free(agent->identifier);
	process_reader_free(agent->reader);
	upload_opener_free(agent->upload_opener);
	parked_records_free(agent->parked);
}

/*
 * Begins look-ups of the files, and reading of the functions, that the sample needs. 1: some are in
 * progress; 0: none is; or negative errno.
 */
static int needs_look_ups(struct agent *agent, const struct abi_sample *sample)
{
	const bool has_code =
		sample->more_flags & ABI_SAMPLE_BYTE_CODE && sample->flags & ABI_SAMPLE_FULL;
	struct process *process;
	int r;

	if (!(sample->flags & (ABI_SAMPLE_COPIED | ABI_SAMPLE_UNRESOLVED)) && !has_code)
		return 0;
	r = collector_image(agent->collector, sample, &process);
	if (r < 0 || process->kernel_thread)
		return r;
	if (sample->flags & (ABI_SAMPLE_COPIED | ABI_SAMPLE_UNRESOLVED) &&
	    !process_table_identify_mappings(agent->processes, process))
		return 1;
	return has_code ? agent_needs_code(agent, sample, process) : 0;
}

/*
 * Adds the stack of the sample, but not the sample. Samples of other processes may refer to the
 * stack by its hash before this sample is processed, because only records of the same process keep
 * their order.
 */
static int define_stack(struct agent *agent, const struct abi_sample *sample)
{
	struct abi_sample definition = *sample;

	definition.flags |= ABI_SAMPLE_DEFINITION;
	return collector_add(agent->collector, &definition, (const struct abi_frame *)(sample + 1));
}

/* 0; -ENOSPC: there is no room; or -ENOMEM. */
static int park(struct agent *agent, const struct abi_sample *sample, uint32_t waits_for)
{
	const struct parked_record record = {
		.pid = sample->pid,
		.kind = sample->flags & ABI_SAMPLE_COPIED ? PARKED_COPY : PARKED_SAMPLE,
		.bytes = sample,
		.size = agent_record_size(sample),
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
 * Processes the parked records of @pid, because there is no room for a later one: records of a
 * process keep their order.
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

/* 1: it is parked; -ENOSPC: there is no room; or -ENOMEM. */
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

/* Processes all records of @pid if mapping events of it are parked. */
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
		/* The parked events are of the program that the exec ends. */
		return end_held(agent, event->pid);
	case PROCESS_EXITED:
	case KERNEL_CODE_MADE:
	case KERNEL_CODE_FREED:
	case PROCESS_THREADED:
		return 0;
	}
	return 0;
}

void agent_serve_helpers(struct agent *agent, uint64_t now_ns)
{
	process_reader_close_idle(agent->reader, now_ns);
	identifier_flush(agent->identifier, now_ns);
	agent_serve_code(agent, now_ns);
	if (agent->toucher)
		page_toucher_flush(agent->toucher, now_ns);
	helper_pool_run(agent->helpers, now_ns);
}

/* A record that fills the window ends the run: the window is closed before others are added. */
static int try_until_full(void *arg, struct parked_record *record, bool is_late)
{
	const struct agent *agent = arg;
	int r = try_record(arg, record, is_late);

	return r == 1 && agent->window_is_full ? 2 : r;
}

int agent_fold_parked(struct agent *agent, uint64_t now_ns)
{
	return parked_records_run(agent->parked, now_ns, try_until_full, agent);
}

bool agent_waits_for_names(struct agent *agent, uint64_t now_ns)
{
	if (!agent->jit_names)
		return false;
	if (agent->names_begun_ns == 0) {
		agent->names_begun_ns = now_ns;
		agent->n_name_rounds = 1;
		jit_names_begin(agent->jit_names);
		helper_pool_run(agent->helpers, now_ns);
	} else if (!jit_names_is_busy(agent->jit_names) && agent->n_name_rounds < MAX_NAME_ROUNDS &&
		   jit_names_begin_again(agent->jit_names)) {
		agent->n_name_rounds++;
		helper_pool_run(agent->helpers, now_ns);
	}
	return jit_names_is_busy(agent->jit_names) &&
	       now_ns < agent->names_begun_ns + AGENT_NAMES_MAX_NS;
}

void agent_publish(struct agent *agent, uint64_t now_ns)
{
	mapping_publisher_run(&agent->publisher, now_ns);
	agent_serve_helpers(agent, now_ns);
}

uint64_t agent_helpers_wakeup_ns(const struct agent *agent)
{
	return helper_pool_wakeup_ns(agent->helpers);
}

static void update_jit_metrics(struct agent *agent)
{
	struct jit_names_stats stats;

	if (!agent->jit_names)
		return;
	jit_names_stats(agent->jit_names, &stats);
	metric_set(agent->metrics, AGENT_METRIC_JIT_NAMED, stats.named);
	metric_set(agent->metrics, AGENT_METRIC_JIT_UNNAMED, stats.unnamed);
	metric_set(agent->metrics, AGENT_METRIC_JIT_BYTES, stats.bytes_read);
	metric_set(agent->metrics, AGENT_METRIC_JIT_LIMITED, stats.limited);
	metric_set(agent->metrics, AGENT_METRIC_JIT_REFUSED, stats.refused);
	metric_set(agent->metrics, AGENT_METRIC_JIT_FAILED, stats.failed);
	metric_set(agent->metrics, AGENT_METRIC_JIT_DROPPED, stats.dropped);
	metric_set(agent->metrics, AGENT_METRIC_JIT_PROCESSES, stats.processes);
	metric_set(agent->metrics, AGENT_METRIC_JIT_RANGES, stats.ranges);
}

void agent_update_helper_metrics(struct agent *agent)
{
	struct process_reader_stats reader;
	struct identifier_stats stats;
	struct helper_pool_stats finders, parsers, touchers;

	agent_update_code_metrics(agent);
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
	update_jit_metrics(agent);
}
