/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands windows to the sender, and handles the server's answers: acknowledgements, and requests to
 * define stacks and series again.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_internal.h"
#include "agent/executable/kernel_layout.h"
#include "agent/wire/batch_encoder.h"
#include "common/limits.h"
#include "common/log.h"

/* Shortest time between two readings of the list of kernel modules. */
#define MODULES_EVERY_NS (10 * NSEC_PER_SEC)

static void begin_window(struct agent *agent, struct window *window)
{
	*window = (struct window){
		.epoch = agent->epoch,
		.sequence = ++agent->sequence,
		.opened_monotonic_ns = agent->window_opened_ns,
		.closed_monotonic_ns = clock_monotonic_ns(agent->clock),
		.closed_wall_ns = clock_wall_ns(agent->clock),
		.host = agent->host.host,
	};
	memcpy(window->agent_id, agent->host.agent_id, sizeof(window->agent_id));
}

static int encode(struct agent *agent, struct window *window, struct bytes *batch)
{
	size_t plain_bytes = 0;
	int r;

	*batch = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES);
	r = batch_encode(window, batch, &plain_bytes);
	if (r < 0) {
		bytes_release(batch);
		return log_error_errno(r,
				       "cannot encode batch %" PRIu64
				       " with %zu rows, its samples are lost: %m",
				       window->sequence, window->n_rows);
	}
	metric_add(agent->metrics, AGENT_METRIC_BATCH_BYTES, batch->size);
	metric_add(agent->metrics, AGENT_METRIC_BATCH_PLAIN_BYTES, plain_bytes);
	return 0;
}

/* Looks at all mappings when a forged build-ID was detected, which is rare. */
static int forget_superseded(struct agent *agent)
{
	uint64_t n_superseded = executable_cache_n_superseded(agent->executables);

	if (n_superseded == agent->n_superseded)
		return 0;
	agent->n_superseded = n_superseded;
	return process_table_forget_superseded(agent->processes);
}

/*
 * Reads the list of kernel modules again, in case one was loaded, unloaded or replaced. Until then,
 * samples in the addresses of that module have wrong names.
 */
static int follow_modules(struct agent *agent)
{
	uint64_t now_ns = clock_monotonic_ns(agent->clock);
	int r;

	if (agent->kernel.text_start == 0 || now_ns < agent->modules_read_ns + MODULES_EVERY_NS)
		return 0;
	agent->modules_read_ns = now_ns;
	r = kernel_layout_update_modules(&agent->kernel);
	if (r == 1) {
		log_info("the kernel's modules have changed: there are %zu",
			 agent->kernel.n_modules);
		frame_resolver_forget_code(agent->frames);
		r = executable_cache_add_kernel(agent->executables, &agent->kernel);
	}
	if (r < 0 && r != -ENOMEM)
		log_debug("cannot read the kernel's modules: %s", strerror(-r));
	return r == -ENOMEM ? r : 0;
}

int agent_close_window(struct agent *agent)
{
	struct window_counter counters[AGENT_METRIC_COUNT];
	struct window window;
	struct bytes batch;
	int r;

	r = follow_modules(agent);
	if (r < 0)
		return r;
	r = agent_follow_pods(agent);
	if (r < 0)
		return r;
	r = event_sources_before_close(&agent->sources);
	if (r < 0)
		return r;
	/* Before the window closes: the kernel then sends stacks in full for the next one. */
	bpf_programs_set_window(agent->programs, collector_window(agent->collector) + 1);
	code_reader_begin_window(agent->code_reader, collector_window(agent->collector) + 1);
	compiled_frames_begin_window(agent->compiled_frames,
				     collector_window(agent->collector) + 1);
	unwind_publisher_tidy(&agent->tables);
	agent_update_metrics(agent);
	agent->is_measured = true;
	r = process_table_compact_strings(agent->processes, MAX_STRING_BYTES / 2, MAX_STRING_BYTES);
	if (r < 0)
		return r;
	begin_window(agent, &window);
	r = collector_close(agent->collector, &window);
	agent->window_opened_ns = window.closed_monotonic_ns;
	agent->names_begun_ns = 0;
	if (agent->jit_names)
		jit_names_begin_window(agent->jit_names, collector_window(agent->collector));
	if (r < 0)
		return log_error_errno(r, "cannot close a window, its samples are lost: %m");
	agent->window_is_full = false;
	window.counters = counters;
	window.n_counters = agent_counters_since_last_batch(agent, counters);
	r = encode(agent, &window, &batch);
	if (r < 0) {
		collector_forget(agent->collector, false);
		return r == -ENOMEM ? r : 0;
	}
	metric_add(agent->metrics, AGENT_METRIC_BATCHES_CLOSED, 1);
	r = sender_submit(agent->sender, window.epoch, window.sequence, &batch);
	bytes_release(&batch);
	(void)agent_write_metrics_file(agent);
	return r < 0 ? r : forget_superseded(agent);
}

/*
 * Defines stacks and series again that the server does not know, because its data folder is new.
 * Those that the agent has forgotten are left out.
 */
static int supplement(struct agent *agent, const struct sender_event *event)
{
	struct window window;
	struct bytes batch;
	int r;

	log_info("the server does not know %zu stacks and %zu series of batch %" PRIu64
		 ", defining them again",
		 event->n_unknown_stacks, event->n_unknown_series, event->sequence);
	begin_window(agent, &window);
	window.opened_monotonic_ns = window.closed_monotonic_ns;
	r = collector_supplement(agent->collector,
				 &(struct missing_numbers){
					 .stacks = event->unknown_stacks,
					 .executables = event->unknown_executables,
					 .code_objects = event->unknown_code_objects,
					 .n_stacks = event->n_unknown_stacks,
					 .n_executables = event->n_unknown_executables,
					 .n_code_objects = event->n_unknown_code_objects,
				 },
				 &window);
	if (r < 0)
		return r;
	r = encode(agent, &window, &batch);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = sender_supplement(agent->sender, window.epoch, window.sequence, &batch);
	bytes_release(&batch);
	return r;
}

static int handle(struct agent *agent, const struct sender_event *event)
{
	switch (event->type) {
	case SENDER_ACKNOWLEDGED:
		if (event->epoch == agent->epoch)
			definitions_acknowledge(collector_definitions(agent->collector),
						event->sequence);
		return 0;
	case SENDER_DROPPED:
		if (event->epoch == agent->epoch)
			collector_forget(agent->collector, false);
		return 0;
	case SENDER_UNKNOWN:
		return event->epoch == agent->epoch ? supplement(agent, event) : 0;
	case SENDER_WANTED:
		return agent_want_upload(agent, event);
	case SENDER_INTERVAL:
		agent->server_interval_ns = (uint64_t)event->batch_interval_ms * NSEC_PER_MSEC;
		return 0;
	}
	return 0;
}

int agent_handle_answers(struct agent *agent)
{
	struct sender_event event;
	int r = 0;

	while (r == 0 && sender_poll(agent->sender, &event) == 1) {
		r = handle(agent, &event);
		sender_event_release(&event);
	}
	return r;
}
