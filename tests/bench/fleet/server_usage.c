/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/server_usage.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/file.h"
#include "common/scoped.h"
#include "tests/bench/fleet/sync_count.h"

static int read_proc(pid_t pid, const char *name, char text[4096])
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(4095);
	char path[64];
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	r = file_read(path, &content);
	if (r < 0)
		return r;
	memcpy(text, content.data, content.size);
	text[content.size] = '\0';
	return 0;
}

static int read_cpu_ns(pid_t pid, uint64_t *ret_ns)
{
	uint64_t user, system, child_user, child_system;
	char text[4096];
	const char *after_name;
	int r;

	r = read_proc(pid, "stat", text);
	if (r < 0)
		return r;
	after_name = strrchr(text, ')');
	/* Fields 14 to 17; the state is field 3. */
	if (!after_name || sscanf(after_name + 1,
				  " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64
				  " %" SCNu64 " %" SCNu64 " %" SCNu64,
				  &user, &system, &child_user, &child_system) != 4)
		return -EBADMSG;
	*ret_ns = (user + system + child_user + child_system) *
		  (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	return 0;
}

static int read_rss_peak(pid_t pid, uint64_t *ret_bytes)
{
	const char *line;
	char text[4096];
	uint64_t kib;
	int r;

	r = read_proc(pid, "status", text);
	if (r < 0)
		return r;
	line = strstr(text, "VmHWM:");
	if (!line || sscanf(line, "VmHWM: %" SCNu64, &kib) != 1)
		return -EBADMSG;
	*ret_bytes = kib * KIB;
	return 0;
}

static int read_syncs(const char *path, struct server_usage *usage)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct sync_count count;
	int r;

	if (fd < 0)
		return -errno;
	r = pread_all(fd, &count, sizeof(count), 0);
	if (r < 0)
		return r;
	usage->n_syncs = atomic_load(&count.n_calls);
	usage->sync_ns = atomic_load(&count.time_ns);
	return 0;
}

int server_usage_read(pid_t server, const char *syncs, struct server_usage *ret_usage)
{
	struct server_usage usage = {};
	struct timespec own;
	int r;

	r = read_cpu_ns(server, &usage.cpu_ns);
	if (r == 0)
		r = read_rss_peak(server, &usage.rss_peak_bytes);
	if (r == 0 && syncs)
		r = read_syncs(syncs, &usage);
	if (r < 0)
		return r;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
	usage.own_cpu_ns = (uint64_t)own.tv_sec * NSEC_PER_SEC + (uint64_t)own.tv_nsec;
	*ret_usage = usage;
	return 0;
}
