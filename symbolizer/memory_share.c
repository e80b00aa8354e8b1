/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/memory_share.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/scoped.h"

/* Returns the limit in memory.max of one cgroup, or UINT64_MAX: "max", or it cannot be read. */
static uint64_t limit_of(const char *root, const char *cgroup)
{
	char path[PATH_MAX];
	scoped_file FILE *file = NULL;
	unsigned long long limit;

	if ((size_t)snprintf(path, sizeof(path), "%s%s/memory.max", root, cgroup) >= sizeof(path))
		return UINT64_MAX;
	file = fopen(path, "re");
	return file && fscanf(file, "%llu", &limit) == 1 ? limit : UINT64_MAX;
}

uint64_t memory_available_bytes(const char *root, const char *cgroup)
{
	uint64_t least = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	char path[PATH_MAX];
	char *slash;

	if ((size_t)snprintf(path, sizeof(path), "%s", cgroup) >= sizeof(path))
		return least;
	do {
		least = MIN(least, limit_of(root, path));
		slash = strrchr(path, '/');
		if (slash)
			*slash = '\0';
	} while (slash);
	return least;
}

uint64_t memory_of_process_bytes(void)
{
	scoped_file FILE *file = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX];
	char cgroup[PATH_MAX] = "";

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		/* The line of cgroup v2. */
		if (strncmp(line, "0::", 3) == 0)
			(void)snprintf(cgroup, sizeof(cgroup), "%s", line + 3);
	}
	return memory_available_bytes("/sys/fs/cgroup", cgroup);
}
