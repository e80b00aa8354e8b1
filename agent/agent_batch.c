/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands windows to the sender, and handles the server's answers: acknowledgements, requests to
 * define stacks and series again, and requests for executables.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_internal.h"
#include "agent/executable/kernel_layout.h"
#include "agent/wire/batch_encoder.h"
#include "common/limits.h"
#include "common/log.h"

/* A value of Wanted.what (proto/batch.proto). */
#define WANTED_KERNEL_SYMBOLS 3

/* Most executables that may wait for their upload: more than any host runs. */
#define MAX_WANTED 4096

/* Size of the ELF file with the kernel's symbols. 200 thousand symbols take 12 MB. */
#define KERNEL_ELF_MAX_BYTES (64 * MIB)

/*
 * Number of attempts of an upload when helpers die or hang. The server repeats its request only
 * after ten minutes, and until then the functions of the executable have no names.
 */
#define UPLOAD_ATTEMPTS 4

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
	r = event_sources_before_close(&agent->sources);
	if (r < 0)
		return r;
	/* Before the window closes: the kernel then sends stacks in full for the next one. */
	bpf_programs_set_window(agent->programs, collector_window(agent->collector) + 1);
	unwind_publisher_tidy(&agent->tables);
	agent_update_metrics(agent);
	agent->is_measured = true;
	r = process_table_compact_strings(agent->processes, MAX_STRING_BYTES / 2, MAX_STRING_BYTES);
	if (r < 0)
		return r;
	begin_window(agent, &window);
	r = collector_close(agent->collector, &window);
	agent->window_opened_ns = window.closed_monotonic_ns;
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

static int upload_kernel(struct agent *agent, const struct executable *executable, uint32_t what)
{
	struct bytes content = BYTES_INIT(KERNEL_ELF_MAX_BYTES);
	int r = -ENOENT;

	if (executable->role == EXECUTABLE_KERNEL) {
		r = kernel_symbols_elf(&agent->kernel, &content);
	} else {
		for (size_t i = 0; i < agent->kernel.n_modules; i++) {
			if (executable_id_equal(&agent->kernel.modules[i].id, &executable->id))
				r = kernel_module_symbols_elf(&agent->kernel.modules[i], &content);
		}
	}
	if (r == 0)
		r = sender_upload_take(agent->sender, &(struct sender_upload){
							      .id = executable->id,
							      .name = executable->name,
							      .what = what,
							      .is_trusted = true,
							      .fd = -1,
							      .content = &content,
						      });
	bytes_release(&content);
	return r;
}

/* An upload while a helper opens its file. */
struct opened_upload {
	struct agent *agent;
	uint32_t number; /* of the executable */
	struct wanted wanted;
	bool is_trusted; /* only root can write the file */
};

/* Queues the upload again if its helper died or hung, unless that happened too often. */
static void retry_later(struct agent *agent, const struct wanted *wanted,
			const struct executable *executable, int error)
{
	struct wanted again = *wanted;

	if ((error != -ECONNRESET && error != -ETIMEDOUT) || ++again.n_failed >= UPLOAD_ATTEMPTS)
		return;
	again.not_before_ns =
		upload_opener_retry_at_ns(agent->upload_opener, executable, wanted->what);
	if (vec_push(&agent->wanted, again) < 0)
		log_debug("no memory to upload '%s' again, the server will ask for it later",
			  executable->name);
}

static void on_opened(void *arg, int result, int fd, int pieces_fd)
{
	scoped_free struct opened_upload *upload = arg;
	const struct executable *executable =
		executable_cache_by_number(upload->agent->executables, upload->number);

	upload->agent->n_opening_uploads--;
	if (result < 0 && executable) {
		log_debug_errno(
			result,
			"'%s' is not uploaded, helpers cannot open it or choose its parts: %m",
			executable->name);
		retry_later(upload->agent, &upload->wanted, executable, result);
	}
	if (result < 0 || !executable) {
		scoped_close(&fd);
		scoped_close(&pieces_fd);
		return;
	}
	(void)sender_upload_take(upload->agent->sender, &(struct sender_upload){
								.id = executable->id,
								.name = executable->name,
								.what = upload->wanted.what,
								.is_trusted = upload->is_trusted,
								.fd = fd,
								.pieces_fd = pieces_fd,
							});
}

/*
 * Has helpers open the file, because its file system may not answer. They check that it is the
 * executable, and parse it for the parts to send.
 */
static int upload(struct agent *agent, const struct executable *executable,
		  const struct wanted *wanted)
{
	struct opened_upload *upload;
	int r;

	if (executable->role == EXECUTABLE_KERNEL || executable->role == EXECUTABLE_KERNEL_MODULE)
		return upload_kernel(agent, executable, WANTED_KERNEL_SYMBOLS);
	upload = malloc(sizeof(*upload));
	if (!upload)
		return -ENOMEM;
	*upload = (struct opened_upload){
		.agent = agent,
		.number = executable->number,
		.wanted = *wanted,
		.is_trusted = executable->source_is_trusted || executable->role == EXECUTABLE_VDSO,
	};
	r = upload_opener_open(
		agent->upload_opener, executable,
		&(struct upload_request){
			.what = wanted->what, .opened = on_opened, .forget = free, .arg = upload });
	if (r < 0)
		free(upload);
	else
		agent->n_opening_uploads++;
	return r;
}

/*
 * If the upload fails for another reason, the server requests it again, perhaps from another agent.
 */
static void try_upload(struct agent *agent, const struct wanted *wanted,
		       const struct executable *executable)
{
	char id[EXECUTABLE_ID_TEXT_SIZE];
	int r;

	executable_id_format(&wanted->id, id);
	if (!executable) {
		log_debug("the server requests '%s', which the agent has forgotten", id);
		return;
	}
	r = upload(agent, executable, wanted);
	if (r < 0)
		log_debug_errno(r, "cannot upload '%s' (build ID %s): %m", executable->name, id);
}

/*
 * Whether the server already has a file with this ID that a user can write, and the agent has seen
 * no other one.
 */
static bool lacks_trusted_file(const struct wanted *wanted, const struct executable *executable)
{
	return executable && wanted->trusted_only && executable->role == EXECUTABLE_USER &&
	       !executable->source_is_trusted;
}

void agent_feed_uploads(struct agent *agent)
{
	uint64_t now_ns = clock_monotonic_ns(agent->clock);
	size_t kept = 0;
	size_t next = 0;

	while (next < agent->wanted.count && agent->n_opening_uploads == 0 &&
	       sender_has_upload_room(agent->sender)) {
		const struct wanted wanted = agent->wanted.items[next++];
		const struct executable *executable =
			executable_cache_by_id(agent->executables, &wanted.id);

		if (lacks_trusted_file(&wanted, executable) || wanted.not_before_ns > now_ns)
			agent->wanted.items[kept++] = wanted;
		else
			try_upload(agent, &wanted, executable);
	}
	if (kept == next)
		return;
	memmove(agent->wanted.items + kept, agent->wanted.items + next,
		(agent->wanted.count - next) * sizeof(*agent->wanted.items));
	agent->wanted.count -= next - kept;
}

/*
 * The kernel is first in the queue: it is in nearly every stack, and one agent of a fleet sends it.
 */
static int enqueue(struct agent *agent, const struct wanted *wanted)
{
	const struct executable *executable =
		executable_cache_by_id(agent->executables, &wanted->id);
	struct wanted_vec *queue = &agent->wanted;
	int r;

	r = vec_push(queue, *wanted);
	if (r < 0 || !executable || executable->role != EXECUTABLE_KERNEL)
		return r;
	memmove(queue->items + 1, queue->items, (queue->count - 1) * sizeof(*queue->items));
	queue->items[0] = *wanted;
	return 0;
}

static int want(struct agent *agent, const struct sender_event *event)
{
	struct wanted wanted = {
		.id = event->wanted_id,
		.what = event->wanted_what,
		.trusted_only = event->wanted_trusted_only,
	};

	if (agent->config->upload_bytes_per_s == 0 || agent->wanted.count >= MAX_WANTED)
		return 0;
	for (size_t i = 0; i < agent->wanted.count; i++) {
		if (executable_id_equal(&agent->wanted.items[i].id, &wanted.id)) {
			agent->wanted.items[i].trusted_only &= wanted.trusted_only;
			return 0;
		}
	}
	return enqueue(agent, &wanted);
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
		return want(agent, event);
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
