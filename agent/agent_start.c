/* SPDX-License-Identifier: Apache-2.0 */
/* Makes an agent: its tables, the BPF programs, helpers, timers and the sender, and frees them. */
#include "agent/agent.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "agent/agent_internal.h"
#include "agent/instance.h"
#include "agent/privileges.h"
#include "agent/bpf_programs/map_sizes.h"
#include "agent/bpf_programs/user_pc_mask.h"
#include "agent/system_calls.h"
#include "common/log.h"

/* Executables kept after their last process is gone; each is some 300 bytes. */
#define MAX_IDLE_EXECUTABLES 4096

/* A full ring buffer wakes us long before it is full. */
#define RING_WAKEUP_FRACTION 4

/* Who looks at a profile should see what the host's kernel could not give. */
static int label_host(struct agent *agent)
{
	scoped(bytes_release) struct bytes lacks = BYTES_INIT(4096);
	int r = kernel_features_append_lacks(bpf_programs_features(agent->programs), &lacks);

	if (r == 0 && lacks.size > 0)
		r = bytes_append_byte(&lacks, 0);
	return r < 0 || lacks.size == 0
		       ? r
		       : host_info_add_label(&agent->host, "kernel.lacks", (char *)lacks.data);
}

static bool takes_off_cpu(const struct agent *agent)
{
	return !agent->config->off_cpu_disabled;
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
		.on_cpu = !agent->config->on_cpu_disabled,
		.off_cpu = !agent->config->off_cpu_disabled,
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
		.period_ns = NSEC_PER_SEC / agent->config->on_cpu_frequency,
		.user_pc_mask = user_pc_mask(),
		.kernel_executable = KERNEL_EXECUTABLE_NUMBER,
		.off_cpu_min_ns = agent->config->off_cpu_min_blocking_time_ns,
		.schedule_start = agent->kernel.schedule_start,
		.schedule_end = agent->kernel.schedule_end,
		.ring_wakeup_bytes = (uint32_t)(sizes.ring_bytes / RING_WAKEUP_FRACTION),
		.absent_pages = (uint32_t)agent_config_absent_pages(agent->config),
	};
	options.config = agent->bpf_config;

	r = bpf_programs_load(&options, &agent->programs);
	return r < 0 ? r : label_host(agent);
}

static int read_kernel(struct agent *agent)
{
	int r = kernel_layout_read(&agent->kernel);

	if (r == -EPERM && !privileges_log_if_missing(PRIVILEGE_SYSLOG))
		log_warn(
			"kernel addresses are hidden, kernel frames have no names: kernel.kptr_restrict is 2, 1 lets "
			"the agent see them");
	if (r == -ENOENT)
		log_warn(
			"/proc/kallsyms is absent or empty, kernel frames have no names: a container or a unit may "
			"hide it (ProtectKernelTunables=yes in systemd)");
	if (r == -EPERM || r == -ENOENT)
		r = 0;
	if (r < 0)
		return log_error_errno(r,
				       "cannot read the kernel's layout from /proc/kallsyms: %m");
	return executable_cache_add_kernel(agent->executables, &agent->kernel);
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
	if (r == 0)
		r = executable_cache_new(MAX_IDLE_EXECUTABLES, &agent->executables);
	if (r == 0)
		r = read_kernel(agent);
	if (r == 0)
		r = process_table_new(agent->executables, agent->strings, &agent->rules.view,
				      &observer, &agent->processes);
	if (r == 0)
		r = frame_resolver_new(agent->processes, agent->executables, &agent->kernel,
				       &agent->frames);
	if (r == 0)
		r = collector_new(
			&(struct collector_options){
				.processes = agent->processes,
				.executables = agent->executables,
				.strings = agent->strings,
				.frames = agent->frames,
				.on_cpu_period_ns = NSEC_PER_SEC / agent->config->on_cpu_frequency,
				.keep_cpus_apart = agent->config->on_cpu_cpu == 1,
				.keep_wait_cpus_apart = agent->config->off_cpu_cpu == 1,
			},
			&agent->collector);
	return r;
}

static int start_sender(struct agent *agent)
{
	const struct agent_config *config = agent->config;

	return sender_new(
		&(struct sender_options){
			.server = config->server,
			.token = config->token[0] ? config->token : NULL,
			.ca_file = config->ca_file[0] ? config->ca_file : NULL,
			.insecure_tls = config->insecure_tls,
			.spool_folder = config->spool_folder[0] ? config->spool_folder : NULL,
			.spool_max_bytes = config->spool_max_bytes,
			.memory_max_bytes = 2 * MIB,
			.upload_bytes_per_s = config->upload_bytes_per_s,
			.retry_max_ns = 15 * NSEC_PER_SEC,
			.keep_capabilities = config->privileges_keep,
		},
		&agent->sender);
}

int agent_watch_fd(struct agent *agent, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(agent->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int make_event_loop(struct agent *agent)
{
	sigset_t signals;

	agent->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	agent->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (agent->epoll_fd < 0 || agent->signal_fd < 0)
		return -errno;
	return agent_watch_fd(agent, agent->signal_fd);
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
	if (r == 0)
		bpf_programs_on_absent_page(agent->programs, on_absent_page, agent);
	return r;
}

static int start_sampling(struct agent *agent)
{
	int r;

	/* Events first: what happens while /proc is read is then not missed. */
	r = agent_open_events(agent);
	if (r < 0)
		return r;
	r = load_programs(agent);
	if (r == 0)
		r = agent_watch_fd(agent, bpf_programs_ring_fd(agent->programs));
	if (r < 0)
		return r;
	r = start_toucher(agent);
	if (r < 0)
		return log_error_errno(r, "cannot touch absent pages: %m");
	r = unwind_publisher_init(&agent->tables,
				  &(struct unwind_publisher_options){
					  .programs = agent->programs,
					  .executables = agent->executables,
					  .helpers = agent->helpers,
					  .clock = agent->clock,
					  .unwind_bytes = agent->config->unwind_bytes,
					  .cache_folder = agent->config->unwind_cache_folder,
					  .cache_bytes = agent->config->unwind_cache_bytes,
				  });
	if (r < 0)
		return log_error_errno(r, "cannot make the maps of unwind rows: %m");
	agent->publisher = (struct mapping_publisher){
		.programs = agent->programs,
		.processes = agent->processes,
	};
	r = copy_unwinder_new(&agent->bpf_config, &agent->publisher, &agent->tables,
			      &agent->copy_unwinder);
	if (r < 0)
		return r;
	r = process_table_scan(agent->processes);
	if (r < 0)
		return r;
	bpf_programs_set_window(agent->programs, collector_window(agent->collector));
	if (takes_off_cpu(agent)) {
		r = off_cpu_start(agent->programs, agent->config->privileges_keep, &agent->off_cpu);
		/* The threads that sleep by now wait from here on. */
		if (r == 0)
			r = agent_walk_waits(agent, false);
		if (r < 0)
			return r;
	}
	if (agent->config->on_cpu_disabled)
		return 0;
	return agent_start_timers(agent);
}

static void raise_limits(void)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY };

	/*
	 * Kernels before 5.11 charge BPF maps to RLIMIT_MEMLOCK; perf's rings still are beyond
	 * their allowance.
	 */
	if (setrlimit(RLIMIT_MEMLOCK, &limit) < 0 && getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_MEMLOCK, &limit);
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Before there are threads: each has its own capabilities, and inherits the filter. */
static int confine(const struct agent_config *config)
{
	int r;

	r = privileges_check();
	if (r < 0 || config->privileges_keep)
		return r;
	r = privileges_limit();
	if (r < 0)
		return r;
	r = system_calls_restrict();
	if (r == 0)
		log_warn("this kernel has no seccomp, the agent's system calls are not restricted");
	if (r < 0)
		return log_error_errno(
			r,
			"cannot install the filter of system calls: %m; --privileges.keep starts "
			"without it");
	return 0;
}

static int refuse_foreign_namespace(void)
{
	if (host_info_sees_all_processes("/proc/self/ns/pid") != 0)
		return 0;
	return log_error_errno(
		ENOTSUP,
		"this is not the host's PID namespace, processes could not be told apart: "
		"not starting; run the container with the host's (hostPID: true, --pid=host)");
}

static int refuse_no_cpu(const struct agent_config *config)
{
	struct cpu_vec cpus = {};
	int r = cpu_list_to_sample(config->on_cpu_cpus, &cpus);

	if (r == 0 && cpus.count == 0)
		r = log_error_errno(EINVAL, "on_cpu.cpus '%s' names no CPU that is online",
				    config->on_cpu_cpus);
	vec_release(&cpus);
	return r;
}

int agent_new(const struct agent_config *config, struct nursery *nursery, struct agent **ret_agent)
{
	scoped(agent_freep) struct agent *agent = calloc(1, sizeof(*agent));
	int r;

	if (!agent)
		return -ENOMEM;
	agent->epoll_fd = agent->signal_fd = agent->instance_fd = -1;
	agent->config = config;
	agent->clock = &system_clock;
	agent->base_period_ns = agent->period_ns = NSEC_PER_SEC / config->on_cpu_frequency;
	agent->epoch = clock_wall_ns(agent->clock);
	agent->window_opened_ns = clock_monotonic_ns(agent->clock);
	raise_limits();
	r = refuse_foreign_namespace();
	if (r == 0)
		r = host_info_init(&agent->host, config);
	if (r == 0)
		r = instance_claim(config->server, agent->host.agent_id, config->allow_second_agent,
				   &agent->instance_fd);
	if (r == 0)
		r = confine(config);
	if (r == 0)
		r = rules_init(&agent->rules, config);
	if (r == 0)
		r = refuse_no_cpu(config);
	if (r == 0)
		r = make_tables(agent);
	if (r == 0)
		r = make_event_loop(agent);
	if (r == 0)
		r = agent_start_helpers(agent, nursery);
	if (r == 0)
		r = start_sampling(agent);
	if (r == 0)
		r = start_sender(agent);
	if (r == 0)
		r = agent_watch_fd(agent, sender_event_fd(agent->sender));
	if (r < 0)
		return r;
	agent_budget_begin(agent);
	log_info("sampling %zu CPUs at %" PRIu64
		 " Hz, %zu processes known, sending to '%s' as host '%s'",
		 agent->on_cpu ? on_cpu_count(agent->on_cpu) : 0, config->on_cpu_frequency,
		 process_table_count(agent->processes), config->server, agent->host.host.name);
	*ret_agent = take_ptr(agent);
	return 0;
}

struct agent *agent_free(struct agent *agent)
{
	if (!agent)
		return NULL;
	/*
	 * Sampling ends first; the table tells the publisher of what goes, so the programs outlive
	 * it.
	 */
	on_cpu_free(agent->on_cpu);
	off_cpu_free(agent->off_cpu);
	sender_free(agent->sender);
	collector_free(agent->collector);
	frame_resolver_free(agent->frames);
	if (agent->programs)
		process_table_free(agent->processes);
	agent_free_helpers(agent);
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
	bytes_release(&agent->put_off);
	scoped_close(&agent->epoll_fd);
	scoped_close(&agent->signal_fd);
	scoped_close(&agent->instance_fd);
	free(agent);
	return NULL;
}
