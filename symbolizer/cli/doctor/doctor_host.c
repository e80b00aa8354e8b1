/* SPDX-License-Identifier: Apache-2.0 */

/* Checks of this host. A finding names what the check saw; its fix says what to type or change. */

#include <linux/capability.h>
#include <stdio.h>

#include "common/capabilities.h"
#include "common/kernel_version.h"
#include "common/privilege_table.h"
#include "symbolizer/cli/doctor/doctor.h"
#include "symbolizer/cli/print/number_format.h"

/* At this level the kernel hides the addresses of its functions from all users. */
#define KPTR_HIDDEN_FROM_ALL 2

/* The minimum that BPF maps need, and the agent's default budget (the key budget.memory). */
#define LEAST_MEMORY_BYTES (16 * MIB)
#define USUAL_MEMORY_BYTES (64 * MIB)

/* The fix for missing privileges. By default sudo removes these variables from the environment. */
#define RUN_AS_ROOT                                                                                \
	"run 'sudo --preserve-env=HEARTH_SERVER,HEARTH_TOKEN_FILE,HEARTH_TOKEN hearth doctor'"

static bool is_before(const struct kernel_version *version, unsigned int major, unsigned int minor)
{
	return version->major < major || (version->major == major && version->minor < minor);
}

static bool read_version(const struct host_facts *host, struct kernel_version *ret_version)
{
	return kernel_version_parse(
		&(struct kernel_texts){ host->release, host->version, host->signature },
		ret_version);
}

static bool may(const struct host_facts *host, int capability)
{
	return host->capabilities & (CAPABILITY_BIT(capability) | CAPABILITY_BIT(CAP_SYS_ADMIN));
}

/* A refusal says nothing about the agent if this program lacks the privileges to try. */
static bool cannot_try(const struct host_facts *host, int result)
{
	return (result == -EPERM || result == -EACCES) && !host->is_root;
}

void doctor_check_kernel(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct host_facts *host = &facts->host;
	struct kernel_version version = {};

	if (!read_version(host, &version))
		doctor_add(report, DOCTOR_WARN, "", "'%s' is not a known form of kernel version",
			   host->release);
	else if (strcmp(host->machine, "x86_64") != 0 && strcmp(host->machine, "aarch64") != 0)
		doctor_add(report, DOCTOR_FAIL, "run the agent on x86-64 or arm64",
			   "%s on %s, for which there is no agent", host->release, host->machine);
	else if (is_before(&version, 5, 10))
		doctor_add(report, DOCTOR_FAIL, "update the kernel to 5.10 or later, best 6.1",
			   "%s is too old for the agent", host->release);
	else if (kernel_version_freezes_on_user_reads(&version))
		doctor_add(report, host->agent ? DOCTOR_WARN : DOCTOR_FAIL,
			   "update the kernel to 6.1.36, 6.3.10 or 6.4, or set 'trust_kernel: "
			   "true' where the distribution repaired it (commit d319f344561d)",
			   "%s (Linux %u.%u.%u) may freeze when a BPF program reads user memory",
			   host->release, version.major, version.minor, version.patch);
	else if (is_before(&version, 6, 1))
		doctor_add(report, DOCTOR_WARN,
			   "update the kernel to 6.1 or later (docs/kernels.md)",
			   "%s works; some profiles miss what later kernels give", host->release);
	else
		doctor_add(report, DOCTOR_OK, "", "%s on %s", host->release, host->machine);
}

void doctor_check_btf(const struct doctor_facts *facts, struct doctor_report *report)
{
	if (facts->host.has_btf)
		doctor_add(report, DOCTOR_OK, "", "/sys/kernel/btf/vmlinux is there");
	else
		doctor_add(report, DOCTOR_FAIL,
			   "boot a kernel with CONFIG_DEBUG_INFO_BTF=y; distributions have it",
			   "/sys/kernel/btf/vmlinux cannot be read: the agent does not start");
}

void doctor_check_lockdown(const struct doctor_facts *facts, struct doctor_report *report)
{
	const char *modes = facts->host.lockdown;

	if (strstr(modes, "[confidentiality]"))
		doctor_add(report, DOCTOR_FAIL,
			   "boot with lockdown=integrity, which is enough for the agent",
			   "the kernel is locked down in the mode confidentiality: BPF programs "
			   "may not read its memory");
	else if (!facts->host.lockdown_is_known && facts->host.agent)
		doctor_add(report, DOCTOR_OK, "", "not known, but an agent runs");
	else if (!facts->host.lockdown_is_known)
		doctor_add(report, DOCTOR_WARN,
			   "mount securityfs, or run 'hearth doctor' outside of the container",
			   "not known: /sys/kernel/security/lockdown cannot be read");
	else
		doctor_add(report, DOCTOR_OK, "", "%s",
			   strstr(modes, "[integrity]") ? "integrity, with which the agent works"
							: "the kernel is not locked down");
}

static bool charges_memlock(const struct host_facts *host)
{
	struct kernel_version version = {};

	return read_version(host, &version) && is_before(&version, 5, 11);
}

/* Above the limit the kernel returns EPERM, also to a process with all capabilities. */
static bool is_short_of_memlock(const struct host_facts *host)
{
	return host->bpf_result == -EPERM && charges_memlock(host) && !host->memlock_was_raised;
}

void doctor_check_bpf(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct host_facts *host = &facts->host;

	if (host->bpf_result == 0)
		doctor_add(report, DOCTOR_OK, "", "a map can be made");
	else if (cannot_try(host, host->bpf_result))
		doctor_add(report, DOCTOR_WARN, RUN_AS_ROOT, "cannot be tried without privileges");
	else if (is_short_of_memlock(host))
		doctor_add(
			report, host->agent ? DOCTOR_WARN : DOCTOR_FAIL,
			"set LimitMEMLOCK=infinity in the systemd unit, or ulimit -l unlimited",
			"a map cannot be made: RLIMIT_MEMLOCK is used up, to which kernels before "
			"5.11 charge maps");
	else if (host->bpf_result == -ENOSYS)
		doctor_add(report, DOCTOR_FAIL, "boot a kernel with CONFIG_BPF_SYSCALL=y",
			   "the kernel has no bpf(2)");
	else
		doctor_add(report, DOCTOR_FAIL,
			   "allow bpf(2) in the container's seccomp profile or the security module",
			   "a map cannot be made: %s", strerror(-host->bpf_result));
}

void doctor_check_perf_events(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct host_facts *host = &facts->host;
	/* Some kernels have such levels but accept CAP_PERFMON: then batches arrive. */
	bool paranoid = host->perf_event_paranoid >= PARANOID_BEYOND_PERFMON &&
			!(host->capabilities & CAPABILITY_BIT(CAP_SYS_ADMIN)) &&
			!doctor_batches_arrive(facts);

	if (host->agent != 0 && paranoid)
		doctor_add(report, DOCTOR_FAIL,
			   "sysctl kernel.perf_event_paranoid=2, or give the agent CAP_SYS_ADMIN",
			   "kernel.perf_event_paranoid is %d, at which some kernels refuse "
			   "CAP_PERFMON, and no batch came lately",
			   host->perf_event_paranoid);
	else if (host->perf_result == 0)
		doctor_add(report, DOCTOR_OK, "",
			   "a CPU clock can be opened (kernel.perf_event_paranoid is %d)",
			   host->perf_event_paranoid);
	else if (cannot_try(host, host->perf_result))
		doctor_add(report, DOCTOR_WARN, RUN_AS_ROOT,
			   "cannot be tried without privileges (kernel.perf_event_paranoid is %d)",
			   host->perf_event_paranoid);
	else
		doctor_add(report, DOCTOR_FAIL,
			   "allow perf_event_open(2) in the container's seccomp profile or the "
			   "security module",
			   "a CPU clock cannot be opened: %s", strerror(-host->perf_result));
}

void doctor_check_kernel_names(const struct doctor_facts *facts, struct doctor_report *report)
{
	int restriction = facts->host.kptr_restrict;

	if (restriction >= KPTR_HIDDEN_FROM_ALL)
		doctor_add(
			report, DOCTOR_WARN, "sysctl kernel.kptr_restrict=1",
			"kernel.kptr_restrict is %d: addresses of the kernel are hidden, and its "
			"functions have no names",
			restriction);
	else
		doctor_add(report, DOCTOR_OK, "", "kernel.kptr_restrict is %d", restriction);
}

void doctor_check_namespaces(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct host_facts *host = &facts->host;
	const char *whose = host->agent ? "the agent's" : "this process's";
	/* Without an agent the namespaces are those of this program, where no agent need run. */
	enum doctor_status status = host->agent ? DOCTOR_FAIL : DOCTOR_WARN;

	if (host->foreign_user_namespace)
		doctor_add(report, status,
			   "run the agent's container with --userns=host (Kubernetes: hostUsers: "
			   "true)",
			   "%s user namespace is not the host's: its capabilities do not allow BPF",
			   whose);
	else if (host->foreign_pid_namespace)
		doctor_add(report, status,
			   "run the agent's container with --pid=host (Kubernetes: hostPID: true)",
			   "%s PID namespace is not the host's: its /proc shows other processes "
			   "than the kernel",
			   whose);
	else
		doctor_add(report, DOCTOR_OK, "", "those of the host");
}

/* ---- privileges and limits of the agent ----------------------------------------------------- */

static bool has_any_privilege(const struct host_facts *host)
{
	for (unsigned int i = 0; i < PRIVILEGE_COUNT; i++) {
		if (privilege_is_in(i, host->capabilities))
			return true;
	}
	return false;
}

static void add_missing(struct doctor_report *report, const struct privilege_row *row,
			const char *whose)
{
	char fix[DOCTOR_TEXT_SIZE];

	(void)snprintf(
		fix, sizeof(fix),
		"add CAP_%s to AmbientCapabilities= of the systemd unit, or --cap-add=%s to the "
		"container's options",
		row->name, row->name);
	doctor_add(report, row->need == PRIVILEGE_IS_REQUIRED ? DOCTOR_FAIL : DOCTOR_WARN, fix,
		   "%s lacks CAP_%s: %s", whose, row->name, row->loss);
}

void doctor_check_capabilities(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct host_facts *host = &facts->host;
	const char *whose = host->agent ? "the agent" : "this process";
	size_t n_missing = 0;

	if (!host->agent && !host->is_root && !has_any_privilege(host)) {
		doctor_add(report, DOCTOR_WARN, RUN_AS_ROOT ", or start the agent first",
			   "no agent is seen, and this process has no capabilities to judge by");
		return;
	}
	for (unsigned int i = 0; i < PRIVILEGE_COUNT; i++) {
		if (privilege_row(i)->time != PRIVILEGE_IS_KEPT ||
		    privilege_is_in(i, host->capabilities))
			continue;
		add_missing(report, privilege_row(i), whose);
		n_missing++;
	}
	if (n_missing == 0)
		doctor_add(report, DOCTOR_OK, "", "%s has all that an agent uses", whose);
}

void doctor_check_memlock(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct host_facts *host = &facts->host;
	char limit[NUMBER_TEXT_SIZE];

	if (!charges_memlock(host)) {
		doctor_add(report, DOCTOR_OK, "",
			   "not used: BPF maps are charged to the cgroup since Linux 5.11");
		return;
	}
	if (host->agent) {
		doctor_add(report, DOCTOR_OK, "", "high enough: the agent's maps are made");
		return;
	}
	if (host->memlock_bytes >= USUAL_MEMORY_BYTES || may(host, CAP_SYS_RESOURCE)) {
		doctor_add(report, DOCTOR_OK, "", "high enough, or the agent can raise it");
		return;
	}
	format_bytes(host->memlock_bytes, limit);
	doctor_add(report, DOCTOR_WARN,
		   "set LimitMEMLOCK=infinity in the systemd unit, or ulimit -l unlimited",
		   "RLIMIT_MEMLOCK is %s here, and BPF maps are charged to that of the agent",
		   limit);
}

void doctor_check_memory(const struct doctor_facts *facts, struct doctor_report *report)
{
	uint64_t limit = facts->host.memory_limit_bytes;
	const char *whose = facts->host.agent ? "the agent's cgroup" : "this cgroup";
	char text[NUMBER_TEXT_SIZE];

	format_bytes(limit, text);
	if (limit == DOCTOR_UNLIMITED)
		doctor_add(report, DOCTOR_OK, "", "%s has no limit", whose);
	else if (limit >= USUAL_MEMORY_BYTES)
		doctor_add(report, DOCTOR_OK, "", "%s may use %s", whose, text);
	else
		doctor_add(
			report, limit < LEAST_MEMORY_BYTES ? DOCTOR_FAIL : DOCTOR_WARN,
			"raise the limit to 64 MiB or more, or lower the agent's key budget.memory",
			"%s may use %s; the agent plans with 64 MiB (budget.memory)", whose, text);
}
