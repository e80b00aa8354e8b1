/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads facts of this host from /proc, /sys and system calls. It changes nothing: it closes the BPF
 * map and the perf event that it creates at once.
 */

#include <ctype.h>
#include <dirent.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "common/capabilities.h"
#include "common/file.h"
#include "common/privilege_table.h"
#include "symbolizer/cli/doctor/doctor.h"

/* Maximum size of a file that is read; /proc/PID/status and /proc/PID/cgroup are the largest. */
#define MAX_PROC_BYTES (64 * KIB)

/* In cgroup v1, this value or a larger one means no limit. */
#define NO_LIMIT_V1 (UINT64_C(1) << 60)

#define AGENT_NAME "hearth-agent"

/* Appends the text of a file and a NUL; "" if the file cannot be read. */
static void read_file(const char *path, struct bytes *text)
{
	if (file_read(path, text) < 0)
		text->size = 0;
	(void)bytes_append_byte(text, '\0');
}

static void read_line(const char *path, char ret_line[DOCTOR_TEXT_SIZE])
{
	scoped_bytes struct bytes text = BYTES_INIT(MAX_PROC_BYTES);

	ret_line[0] = '\0';
	read_file(path, &text);
	if (bytes_error(&text) == 0)
		(void)snprintf(ret_line, DOCTOR_TEXT_SIZE, "%.*s",
			       (int)strcspn((const char *)text.data, "\n"),
			       (const char *)text.data);
}

static int read_number(const char *path)
{
	char line[DOCTOR_TEXT_SIZE];

	read_line(path, line);
	return line[0] ? (int)strtol(line, NULL, 10) : -1;
}

/* Checks the namespace of @agent; 0: of this process. Returns false if it cannot be read. */
static bool is_foreign(pid_t agent, const char *namespace, ino_t initial)
{
	struct stat status;
	char path[64];

	if (agent)
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)agent, namespace);
	else
		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", namespace);
	return stat(path, &status) == 0 && status.st_ino != initial;
}

/*
 * Raises RLIMIT_MEMLOCK if permitted, as the agent does, because kernels before 5.11 charge maps to
 * it.
 */
static int try_bpf(bool *ret_is_raised)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit before = {};
	bool is_raised = getrlimit(RLIMIT_MEMLOCK, &before) == 0 &&
			 setrlimit(RLIMIT_MEMLOCK, &unlimited) == 0;
	union bpf_attr attributes = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = 4,
		.max_entries = 1,
	};
	scoped_fd int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes));
	int r = fd < 0 ? -errno : 0;

	if (is_raised)
		(void)setrlimit(RLIMIT_MEMLOCK, &before);
	*ret_is_raised = is_raised;
	return r;
}

/* Tries to open a CPU clock. Returns 0 or a negative errno. */
static int try_perf(void)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = NSEC_PER_SEC,
		.disabled = 1,
	};
	scoped_fd int fd = (int)syscall(SYS_perf_event_open, &attributes, -1, 0, -1, 0);

	return fd < 0 ? -errno : 0;
}

/* Reads the value of the line "NAME:<tab>VALUE" of /proc/PID/status; "" if there is none. */
static void status_value(pid_t pid, const char *name, char ret_value[DOCTOR_TEXT_SIZE])
{
	scoped_bytes struct bytes text = BYTES_INIT(MAX_PROC_BYTES);
	char path[64];

	ret_value[0] = '\0';
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	read_file(path, &text);
	if (bytes_error(&text) < 0)
		return;
	for (const char *line = (const char *)text.data; *line;) {
		size_t length = strcspn(line, "\n");
		size_t name_length = strlen(name);

		if (length > name_length && strncmp(line, name, name_length) == 0 &&
		    line[name_length] == ':') {
			const char *value = line + name_length + 1;

			value += strspn(value, "\t ");
			(void)snprintf(ret_value, DOCTOR_TEXT_SIZE, "%.*s",
				       (int)strcspn(value, "\n"), value);
			return;
		}
		line += length + (line[length] == '\n');
	}
}

/* The helpers of an agent have the same name; they differ in that their parent is the agent. */
static bool is_agent(pid_t pid)
{
	char name[DOCTOR_TEXT_SIZE], parent[DOCTOR_TEXT_SIZE], parent_name[DOCTOR_TEXT_SIZE];

	status_value(pid, "Name", name);
	if (strcmp(name, AGENT_NAME) != 0)
		return false;
	status_value(pid, "PPid", parent);
	status_value((pid_t)strtol(parent, NULL, 10), "Name", parent_name);
	return strcmp(parent_name, AGENT_NAME) != 0;
}

static void find_agents(struct host_facts *facts)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (!isdigit((unsigned char)entry->d_name[0]) || !is_agent(pid))
			continue;
		facts->n_agents++;
		if (facts->agent == 0 || pid < facts->agent)
			facts->agent = pid;
	}
	if (folder)
		(void)closedir(folder);
}

/* Finds the path of the cgroup in the hierarchy of @controllers ("": version 2). */
static bool cgroup_of(const char *text, const char *controllers, char ret_path[DOCTOR_TEXT_SIZE])
{
	for (const char *line = text; *line;) {
		size_t length = strcspn(line, "\n");
		const char *list = memchr(line, ':', length);
		const char *path =
			list ? memchr(list + 1, ':', length - (size_t)(list + 1 - line)) : NULL;

		if (path && (size_t)(path - list - 1) == strlen(controllers) &&
		    strncmp(list + 1, controllers, strlen(controllers)) == 0) {
			(void)snprintf(ret_path, DOCTOR_TEXT_SIZE, "%.*s",
				       (int)(line + length - path - 1), path + 1);
			return true;
		}
		line += length + (line[length] == '\n');
	}
	return false;
}

static uint64_t read_limit(const char *folder, const char *cgroup, const char *file)
{
	char path[2 * DOCTOR_TEXT_SIZE], line[DOCTOR_TEXT_SIZE];
	uint64_t limit;

	(void)snprintf(path, sizeof(path), "%s%s/%s", folder, cgroup, file);
	read_line(path, line);
	if (!isdigit((unsigned char)line[0]))
		return DOCTOR_UNLIMITED;
	limit = strtoull(line, NULL, 10);
	return limit >= NO_LIMIT_V1 ? DOCTOR_UNLIMITED : limit;
}

/*
 * Returns the smallest limit from the cgroup up to the root. In a cgroup namespace, the visible
 * root can have a limit too.
 */
static uint64_t least_limit(const char *folder, char cgroup[DOCTOR_TEXT_SIZE], const char *file)
{
	uint64_t least = DOCTOR_UNLIMITED;

	while (strlen(cgroup) > 1) {
		least = MIN(least, read_limit(folder, cgroup, file));
		*strrchr(cgroup, '/') = '\0';
	}
	return MIN(least, read_limit(folder, "", file));
}

uint64_t host_facts_memory_limit(const char *folder, const char *cgroups)
{
	char cgroup[DOCTOR_TEXT_SIZE], memory_folder[DOCTOR_TEXT_SIZE];
	uint64_t limit = DOCTOR_UNLIMITED;

	if (cgroup_of(cgroups, "", cgroup))
		limit = least_limit(folder, cgroup, "memory.max");
	(void)snprintf(memory_folder, sizeof(memory_folder), "%s/memory", folder);
	if (cgroup_of(cgroups, "memory", cgroup))
		limit = MIN(limit, least_limit(memory_folder, cgroup, "memory.limit_in_bytes"));
	return limit;
}

static uint64_t memory_limit_of(pid_t pid)
{
	scoped_bytes struct bytes text = BYTES_INIT(MAX_PROC_BYTES);
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	read_file(path, &text);
	if (bytes_error(&text) < 0)
		return DOCTOR_UNLIMITED;
	return host_facts_memory_limit("/sys/fs/cgroup", (const char *)text.data);
}

/* Reads the soft limit in "Max locked memory  SOFT  HARD  bytes". Not readable: no limit. */
static uint64_t memlock_of(pid_t pid)
{
	static const char name[] = "Max locked memory";
	scoped_bytes struct bytes text = BYTES_INIT(MAX_PROC_BYTES);
	char path[64];
	const char *line;

	(void)snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	read_file(path, &text);
	line = bytes_error(&text) == 0 ? strstr((const char *)text.data, name) : NULL;
	if (!line)
		return DOCTOR_UNLIMITED;
	line += strlen(name);
	line += strspn(line, " ");
	return isdigit((unsigned char)*line) ? strtoull(line, NULL, 10) : DOCTOR_UNLIMITED;
}

/*
 * Computes seconds since the start of the process from field 22 of /proc/PID/stat. Field 2, its
 * name, may contain blanks and parentheses.
 */
static uint64_t age_of_process(pid_t pid)
{
	char path[64], line[2 * DOCTOR_TEXT_SIZE];
	unsigned long long started_ticks;
	struct timespec now;
	const char *rest;
	uint64_t started_s;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	read_line(path, line);
	rest = strrchr(line, ')');
	if (!rest || clock_gettime(CLOCK_BOOTTIME, &now) < 0 ||
	    sscanf(rest + 1,
		   " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%llu",
		   &started_ticks) != 1)
		return DOCTOR_UNLIMITED;
	started_s = started_ticks / (uint64_t)sysconf(_SC_CLK_TCK);
	return (uint64_t)now.tv_sec > started_s ? (uint64_t)now.tv_sec - started_s : 0;
}

static void read_process(struct host_facts *facts)
{
	char permitted[DOCTOR_TEXT_SIZE];

	facts->memory_limit_bytes = memory_limit_of(facts->agent ? facts->agent : getpid());
	facts->memlock_bytes = memlock_of(facts->agent ? facts->agent : getpid());
	if (facts->agent == 0) {
		(void)capabilities_permitted(&facts->capabilities);
		return;
	}
	facts->agent_age_s = age_of_process(facts->agent);
	status_value(facts->agent, "CapPrm", permitted);
	facts->capabilities = strtoull(permitted, NULL, 16);
}

void host_facts_read(struct host_facts *ret_facts)
{
	struct host_facts facts = {};
	struct utsname system = {};

	(void)uname(&system);
	(void)snprintf(facts.release, sizeof(facts.release), "%s", system.release);
	(void)snprintf(facts.version, sizeof(facts.version), "%s", system.version);
	(void)snprintf(facts.machine, sizeof(facts.machine), "%s", system.machine);
	read_line("/proc/version_signature", facts.signature);
	read_line("/proc/sys/kernel/random/boot_id", facts.boot_id);
	read_line("/sys/kernel/security/lockdown", facts.lockdown);
	/*
	 * In a container the folder is often empty, so that nothing is known. If it contains other
	 * files but not this one, the kernel has no lockdown.
	 */
	facts.lockdown_is_known =
		facts.lockdown[0] || (access("/sys/kernel/security/lsm", F_OK) == 0 &&
				      access("/sys/kernel/security/lockdown", F_OK) < 0);
	facts.has_btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
	facts.is_root = geteuid() == 0;
	facts.perf_event_paranoid = read_number("/proc/sys/kernel/perf_event_paranoid");
	facts.kptr_restrict = read_number("/proc/sys/kernel/kptr_restrict");
	facts.bpf_result = try_bpf(&facts.memlock_was_raised);
	facts.perf_result = try_perf();
	find_agents(&facts);
	facts.foreign_pid_namespace = is_foreign(facts.agent, "pid", INITIAL_PID_NAMESPACE);
	facts.foreign_user_namespace = is_foreign(facts.agent, "user", INITIAL_USER_NAMESPACE);
	read_process(&facts);
	*ret_facts = facts;
}
