/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes an agent: its tables, the BPF programs, helpers, timers and the sender, and frees them.
 * Each function here logs its failure once, so agent_new() only returns it.
 */
#include "agent/agent.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>

#include "agent/agent_internal.h"
#include "agent/privileges.h"
#include "agent/bpf_programs/map_sizes.h"
#include "agent/bpf_programs/user_pc_mask.h"
#include "common/log.h"

/* Number of executables kept after their last process has exited. Each takes some 300 bytes. */
#define MAX_IDLE_EXECUTABLES 4096

/* The main loop wakes when the ring buffer is filled to this fraction. */
#define RING_WAKEUP_FRACTION 4

/* Adds a label to all profiles of this host that lists the features its kernel lacks. */
static int label_host(struct agent *agent)
{
	scoped(bytes_release) struct bytes lacks = BYTES_INIT(4096);
	int r = kernel_features_append_lacks(bpf_programs_features(agent->programs), &lacks);

	if (r == 0 && lacks.size > 0)
		r = bytes_append_byte(&lacks, 0);
	if (r == 0 && lacks.size > 0)
		r = host_info_add_label(&agent->host, "kernel.lacks", (char *)lacks.data);
	return r < 0 ? agent_log_not_made(r, "the label 'kernel.lacks'") : 0;
}

static int load_programs(struct agent *agent)
{
	const struct map_sizes_wish wish = {
		.n_cpus = (size_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1),
		.host_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE),
		.budget_bytes = agent->config->budget_memory_bytes,
		.ring_bytes = agent->config->ring_bytes,
		.max_processes = (uint32_t)agent->config->max_processes,
	};
	struct map_sizes sizes;
	struct bpf_programs_options options = {
		.unwind_bytes = agent->config->unwind_bytes,
		.choices = agent->sources.choices,
		.n_choices = EVENT_SOURCE_COUNT,
		.trust_kernel = agent->config->trust_kernel,
		.kernel_without = agent->config->kernel_without,
	};
	int r;

	map_sizes_choose(&wish, &sizes);
	options.ring_bytes = sizes.ring_bytes;
	options.max_processes = sizes.max_processes;
	agent->bpf_config = (struct abi_config){
		.kernel_text_start = agent->kernel.text_start,
		.kernel_text_end = agent->kernel.text_end,
		.user_pc_mask = user_pc_mask(),
		.kernel_executable = KERNEL_EXECUTABLE_NUMBER,
		.ring_wakeup_bytes = (uint32_t)(sizes.ring_bytes / RING_WAKEUP_FRACTION),
		.absent_pages = (uint32_t)agent_config_absent_pages(agent->config),
	};
	event_sources_configure(&agent->sources, agent->config, &agent->kernel, &agent->bpf_config);
	options.config = agent->bpf_config;

	r = bpf_programs_load(&options, &agent->programs);
	if (r < 0)
		return r;
	r = label_host(agent);
	if (r < 0)
		return r;
	r = agent_watch_fd(agent, bpf_programs_ring_fd(agent->programs));
	return r < 0 ? agent_log_not_made(r, "the watch of the ring buffer") : 0;
}

static int read_kernel(struct agent *agent)
{
	int r = kernel_layout_read(&agent->kernel);

	if (r == -EPERM && !privileges_log_if_missing(PRIVILEGE_SYSLOG))
		log_warn("the kernel hides its addresses, kernel frames have no names: "
			 "kernel.kptr_restrict is 2, set it to 1");
	if (r == -ENOENT)
		log_warn("/proc/kallsyms is absent or empty, kernel frames have no names: a "
			 "container, or a unit with ProtectKernelTunables=yes, may hide it");
	if (r == -EPERM || r == -ENOENT)
		r = 0;
	if (r < 0)
		return log_error_errno(
			r, "cannot read the kernel's layout from '/proc/kallsyms': %m, not "
			   "starting; check that it can be read");
	r = executable_cache_add_kernel(agent->executables, &agent->kernel);
	return r < 0 ? agent_log_not_made(r, "the table of kernel modules") : 0;
}

static int make_collector(struct agent *agent)
{
	const struct collector_options options = {
		.processes = agent->processes,
		.executables = agent->executables,
		.strings = agent->strings,
		.frames = agent->frames,
	};
	int r = collector_new(&options, &agent->collector);

	return r < 0 ? agent_log_not_made(r, "the collector of samples") : 0;
}

static int make_tables(struct agent *agent)
{
	const struct process_observer observer = {
		.arg = &agent->publisher,
		.mappings_gone = mapping_publisher_mappings_gone,
		.process_gone = mapping_publisher_process_gone,
	};
	int r;

	r = string_table_new(MAX_STRING_BYTES, &agent->strings);
	if (r < 0)
		return agent_log_not_made(r, "the table of strings");
	r = executable_cache_new(MAX_IDLE_EXECUTABLES, &agent->executables);
	if (r < 0)
		return agent_log_not_made(r, "the table of executables");
	r = read_kernel(agent);
	if (r < 0)
		return r;
	r = process_table_new(agent->executables, agent->strings, &agent->rules.view, &observer,
			      &agent->processes);
	if (r < 0)
		return agent_log_not_made(r, "the table of processes");
	r = frame_resolver_new(agent->processes, agent->executables, &agent->kernel,
			       &agent->frames);
	if (r < 0)
		return agent_log_not_made(r, "the frame resolver");
	return make_collector(agent);
}

static int start_sender(struct agent *agent)
{
	const struct agent_config *config = agent->config;
	const struct sender_options options = {
		.server = config->server,
		.token = config->token[0] ? config->token : NULL,
		.ca_file = config->ca_file[0] ? config->ca_file : NULL,
		.insecure_tls = config->insecure_tls,
		.boot_id = agent->host.boot_id,
		.spool_folder = config->spool_folder[0] ? config->spool_folder : NULL,
		.spool_max_bytes = config->spool_max_bytes,
		.memory_max_bytes = 2 * MIB,
		.upload_bytes_per_s = config->upload_bytes_per_s,
		.retry_max_ns = 15 * NSEC_PER_SEC,
		.keep_capabilities = config->privileges_keep,
	};
	int r;

	r = sender_new(&options, &agent->sender);
	if (r < 0)
		return log_error_errno(
			r,
			"cannot make the sender of batches to '%s': %m, not starting; raise the "
			"limits of the service or container for memory, open files and tasks",
			config->server);
	r = agent_watch_fd(agent, sender_event_fd(agent->sender));
	return r < 0 ? agent_log_not_made(r, "the watch of the sender") : 0;
}

static int make_event_loop(struct agent *agent)
{
	sigset_t signals;
	int r;

	agent->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (agent->epoll_fd < 0)
		return agent_log_not_made(-errno, "the event loop");
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	agent->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (agent->signal_fd < 0)
		return agent_log_not_made(-errno, "the descriptor of signals");
	r = agent_watch_fd(agent, agent->signal_fd);
	return r < 0 ? agent_log_not_made(r, "the watch of signals") : 0;
}

static void on_absent_page(void *arg, uint32_t pid, uint64_t address)
{
	struct agent *agent = arg;

	page_toucher_add(agent->toucher, (pid_t)pid, address);
}

static int start_toucher(struct agent *agent)
{
	int r;

	if (agent_config_absent_pages(agent->config) == ABI_ABSENT_PAGES_LEAVE)
		return 0;
	r = page_toucher_new(agent->helpers, &agent->toucher);
	if (r < 0)
		return log_error_errno(r,
				       "cannot make the reader of absent pages: %m, not starting; "
				       "--unwind.absent_pages=leave starts without it");
	bpf_programs_on_absent_page(agent->programs, on_absent_page, agent);
	return 0;
}

/* For struct interpreter_publisher. */
static uint32_t unwanted_interpreters(const struct agent_config *config)
{
	return (uint32_t)config->python_disabled << INTERPRETER_PYTHON |
	       (uint32_t)config->javascript_disabled << INTERPRETER_V8 |
	       (uint32_t)config->php_disabled << INTERPRETER_PHP |
	       (uint32_t)config->ruby_disabled << INTERPRETER_RUBY |
	       (uint32_t)config->perl_disabled << INTERPRETER_PERL |
	       (uint32_t)config->lua_disabled << INTERPRETER_LUA;
}

static int make_publishers(struct agent *agent)
{
	const struct unwind_publisher_options options = {
		.programs = agent->programs,
		.executables = agent->executables,
		.helpers = agent->helpers,
		.clock = agent->clock,
		.unwind_bytes = agent->config->unwind_bytes,
		.cache_folder = agent->config->unwind_cache_folder,
		.cache_bytes = agent->config->unwind_cache_bytes,
		.unwind.skip_x86_code = !agent->config->unwind_x86_code,
	};
	int r;

	r = unwind_publisher_init(&agent->tables, &options);
	if (r < 0)
		return log_error_errno(r,
				       "cannot make the maps of unwind rows: %m, not starting; a "
				       "smaller unwind.table_size needs less memory");
	agent->publisher = (struct mapping_publisher){
		.programs = agent->programs,
		.processes = agent->processes,
		.interpreters = { .programs = agent->programs,
				  .unwanted = unwanted_interpreters(agent->config) },
	};
	agent_watch_jvms(agent);
	r = copy_unwinder_new(
		&(struct copy_unwinder_options){
			.config = &agent->bpf_config,
			.publisher = &agent->publisher,
			.tables = &agent->tables,
			.collector = agent->collector,
		},
		&agent->copy_unwinder);
	return r < 0 ? agent_log_not_made(r, "the unwinder of copied stacks") : 0;
}

static int scan_processes(struct agent *agent)
{
	int r = process_table_scan(agent->processes);

	if (r < 0)
		return log_error_errno(
			r, "cannot read which processes run from '/proc': %m, not starting; mount "
			   "the host's /proc, without hidepid= and subset=pid");
	return 0;
}

/* Adds all samples that a paused source has taken so far. */
static int settle(void *arg)
{
	int r = agent_drain_deferred(arg);

	return r < 0 ? r : agent_finish_helpers(arg);
}

static int start_sources(struct agent *agent)
{
	const struct event_host host = {
		.config = agent->config,
		.clock = agent->clock,
		.programs = agent->programs,
		.collector = agent->collector,
		.metrics = agent->metrics,
		.arg = agent,
		.add = { .arg = agent,
			 .sample = agent_on_sample,
			 .stack_copy = agent_on_stack_copy },
		.read_records = agent_read_all_samples,
		.settle = settle,
	};

	return event_sources_start(&agent->sources, &host);
}

static int start_sampling(struct agent *agent)
{
	int r;

	/* Events first: none that happens while /proc is read is then missed. */
	r = agent_open_events(agent);
	if (r < 0)
		return r;
	r = load_programs(agent);
	if (r < 0)
		return r;
	r = start_toucher(agent);
	if (r < 0)
		return r;
	r = make_publishers(agent);
	if (r < 0)
		return r;
	r = scan_processes(agent);
	if (r < 0)
		return r;
	bpf_programs_set_window(agent->programs, collector_window(agent->collector));
	return start_sources(agent);
}

static int start(struct agent *agent, struct nursery *nursery)
{
	int r;

	r = agent_check_host(agent);
	if (r < 0)
		return r;
	r = rules_init(&agent->rules, agent->config);
	if (r < 0)
		return r;
	r = make_tables(agent);
	if (r < 0)
		return r;
	r = make_event_loop(agent);
	if (r < 0)
		return r;
	r = agent_start_helpers(agent, nursery);
	if (r < 0)
		return r;
	r = agent_start_pods(agent);
	if (r < 0)
		return r;
	r = start_sampling(agent);
	if (r < 0)
		return r;
	return start_sender(agent);
}

int agent_new(const struct agent_config *config, struct nursery *nursery, struct agent **ret_agent)
{
	scoped(agent_freep) struct agent *agent = calloc(1, sizeof(*agent));
	int r;

	if (!agent)
		return agent_log_not_made(-ENOMEM, "the agent");
	agent->epoll_fd = agent->signal_fd = agent->instance_fd = -1;
	agent->config = config;
	agent->clock = &system_clock;
	agent->epoch = clock_wall_ns(agent->clock);
	agent->window_opened_ns = clock_monotonic_ns(agent->clock);
	r = start(agent, nursery);
	if (r < 0)
		return r;
	agent_budget_begin(agent);
	log_info("sampling %zu CPUs at %" PRIu64
		 " Hz, %zu processes known, sending to '%s' as host '%s'",
		 event_sources_n_cpus(&agent->sources), config->on_cpu_frequency,
		 process_table_count(agent->processes), config->server, agent->host.host.name);
	*ret_agent = take_ptr(agent);
	return 0;
}

struct agent *agent_free(struct agent *agent)
{
	if (!agent)
		return NULL;
	/* Sampling ends first. The process table calls the publisher, which uses the programs. */
	event_sources_free(&agent->sources);
	sender_free(agent->sender);
	collector_free(agent->collector);
	frame_resolver_free(agent->frames);
	if (agent->programs)
		process_table_free(agent->processes);
	agent_free_helpers(agent);
	pod_watch_free(agent->pods);
	copy_unwinder_free(agent->copy_unwinder);
	mapping_publisher_release(&agent->publisher);
	unwind_publisher_release(&agent->tables);
	bpf_programs_free(agent->programs);
	process_events_free(agent->events);
	cpu_watch_free(agent->cpu_watch);
	executable_cache_free(agent->executables);
	string_table_free(agent->strings);
	kernel_layout_release(&agent->kernel);
	rules_release(&agent->rules);
	host_info_release(&agent->host);
	vec_release(&agent->wanted);
	scoped_close(&agent->epoll_fd);
	scoped_close(&agent->signal_fd);
	scoped_close(&agent->instance_fd);
	free(agent);
	return NULL;
}
