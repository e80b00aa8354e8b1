/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that the agent can work on this host, raises its limits, and gives up privileges. Each
 * check logs its failure.
 */
#include <sys/resource.h>

#include "agent/agent_internal.h"
#include "agent/instance.h"
#include "agent/privileges.h"
#include "agent/system_calls.h"
#include "common/log.h"

static void raise_limits(void)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY };

	/*
	 * Kernels before 5.11 charge BPF maps to RLIMIT_MEMLOCK. All kernels charge to it what perf
	 * rings take above kernel.perf_event_mlock_kb.
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

/*
 * Gives up privileges. To be called before a thread is created: each thread has its own set of
 * capabilities, and inherits the filter of system calls.
 */
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
			r, "cannot install the filter of system calls: %m, not starting; "
			   "--privileges.keep starts without it");
	return 0;
}

static int refuse_foreign_namespace(void)
{
	if (host_info_sees_all_processes("/proc/self/ns/pid") != 0)
		return 0;
	return log_error_errno(
		ENOTSUP,
		"the agent is not in the host's PID namespace, where samples have other process "
		"IDs than /proc: not starting; run the container with hostPID: true or --pid=host");
}

static int refuse_no_cpu(const struct agent_config *config)
{
	struct cpu_vec cpus = {};
	int r = cpu_list_to_sample(config->on_cpu_cpus, &cpus);

	if (r < 0)
		(void)log_error_errno(r,
				      "cannot choose the CPUs to sample by on_cpu.cpus '%s': %m, "
				      "not starting; check the option and /sys/devices/system/cpu",
				      config->on_cpu_cpus);
	else if (cpus.count == 0)
		r = log_error_errno(EINVAL,
				    "on_cpu.cpus '%s' names no CPU that is online, not starting; "
				    "name one, or leave it empty for all",
				    config->on_cpu_cpus);
	vec_release(&cpus);
	return r;
}

int agent_check_host(struct agent *agent)
{
	const struct agent_config *config = agent->config;
	int r;

	raise_limits();
	r = refuse_foreign_namespace();
	if (r < 0)
		return r;
	r = host_info_init(&agent->host, config);
	if (r < 0)
		return r;
	r = instance_claim(config->server, agent->host.agent_id, config->allow_second_agent,
			   &agent->instance_fd);
	if (r < 0)
		return r;
	r = confine(config);
	if (r < 0)
		return r;
	return refuse_no_cpu(config);
}
