/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats are described in proc(5). The kernel writes the files, but processes choose names,
 * paths and arguments in them, which may contain any byte.
 */
#include "agent/process/proc_files.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/executable/file_finder.h"
#include "common/file.h"
#include "common/scoped.h"

#define SMALL_FILE_MAX_BYTES (64 * KIB)

static void scoped_bytes_release(struct bytes *bytes)
{
	bytes_release(bytes);
}

#define scoped_bytes scoped(scoped_bytes_release) struct bytes

/* Reads /proc/PID/NAME and ends it with NUL. */
static int read_proc_file(uint32_t pid, const char *name, struct bytes *bytes)
{
	char path[64];
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	r = file_read(path, bytes);
	if (r == -ENOENT)
		return -ESRCH;
	if (r < 0)
		return r;
	return bytes_append_byte(bytes, 0);
}

int proc_stat_read(uint32_t pid, struct proc_stat *ret_stat)
{
	scoped_bytes bytes = BYTES_INIT(SMALL_FILE_MAX_BYTES);
	struct proc_stat stat = {};
	unsigned long long start_ticks;
	const char *open_bracket;
	const char *close_bracket;
	int r;

	r = read_proc_file(pid, "stat", &bytes);
	if (r < 0)
		return r;
	open_bracket = strchr((const char *)bytes.data, '(');
	close_bracket = strrchr((const char *)bytes.data, ')');
	if (!open_bracket || !close_bracket || close_bracket < open_bracket)
		return -EBADMSG;
	memcpy(stat.comm, open_bracket + 1,
	       MIN((size_t)(close_bracket - open_bracket - 1), sizeof(stat.comm) - 1));

	/* Fields 3 (state), 4 (ppid), 9 (flags), 22 (starttime, in USER_HZ of 100). */
	if (sscanf(close_bracket + 1,
		   " %*c %" SCNu32 " %*s %*s %*s %*s %" SCNu32
		   " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
		   &stat.parent_pid, &stat.flags, &start_ticks) != 3)
		return -EBADMSG;
	stat.start_time_ns = start_ticks * (NSEC_PER_SEC / 100);
	*ret_stat = stat;
	return 0;
}

/* Parses "start-end perms offset dev inode    path". False: the line is different. */
static bool parse_maps_line(char *line, struct proc_mapping *ret_mapping)
{
	struct proc_mapping mapping = {};
	char permissions[5];
	int path_at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n",
		   &mapping.start, &mapping.end, permissions, &mapping.file_offset, &mapping.inode,
		   &path_at) != 5)
		return false;
	mapping.executable = permissions[2] == 'x';
	mapping.path = path_at > 0 ? line + path_at : "";
	*ret_mapping = mapping;
	return true;
}

int proc_maps_parse(struct bytes *text,
		    int (*function)(void *arg, const struct proc_mapping *mapping), void *arg)
{
	char *line = (char *)text->data;
	int r;

	while (*line) {
		char *end = strchrnul(line, '\n');
		struct proc_mapping mapping;
		bool last = *end == '\0';

		*end = '\0';
		if (parse_maps_line(line, &mapping)) {
			r = function(arg, &mapping);
			if (r < 0)
				return r;
		}
		if (last)
			break;
		line = end + 1;
	}
	return 0;
}

int proc_maps_read(uint32_t pid, int (*function)(void *arg, const struct proc_mapping *mapping),
		   void *arg)
{
	scoped_bytes bytes = BYTES_INIT(PROC_MAPS_MAX_BYTES);
	int r = read_proc_file(pid, "maps", &bytes);

	return r < 0 ? r : proc_maps_parse(&bytes, function, arg);
}

int proc_exe_read(uint32_t pid, char *ret_path, size_t size)
{
	char link[64];
	char target[PATH_MAX];
	ssize_t length;
	bool deleted;

	(void)snprintf(link, sizeof(link), "/proc/%u/exe", pid);
	length = readlink(link, target, sizeof(target) - 1);
	if (length < 0)
		return -errno;
	target[length] = '\0';
	(void)snprintf(ret_path, size, "%.*s", (int)mapped_path_length(target, &deleted), target);
	return 0;
}

static void copy_base_name(const char *path, char *ret_name, size_t size)
{
	const char *slash = strrchr(path, '/');

	(void)snprintf(ret_name, size, "%s", slash ? slash + 1 : path);
}

void proc_argument_names_parse(const struct bytes *text, char *ret_first, char *ret_second,
			       size_t size)
{
	const char *first = (const char *)text->data;
	size_t first_length = strlen(first);

	copy_base_name(first, ret_first, size);
	ret_second[0] = '\0';
	/* A second argument begins after the NUL of the first, before the NUL of the text. */
	if (first_length + 2 < text->size)
		copy_base_name(first + first_length + 1, ret_second, size);
}

int proc_argument_names_read(uint32_t pid, char *ret_first, char *ret_second, size_t size)
{
	char buffer[4096];
	struct bytes text = { .data = (uint8_t *)buffer };
	char path[64];
	scoped_fd int fd = -1;
	ssize_t length;

	(void)snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	length = read(fd, buffer, sizeof(buffer) - 1);
	if (length < 0)
		return -errno;
	buffer[length] = '\0';
	text.size = (size_t)length + 1;
	proc_argument_names_parse(&text, ret_first, ret_second, size);
	return 0;
}

/* Container runtimes name the innermost group of a container by its ID: 64 hex digits. */
static bool names_container(const char *path, size_t length)
{
	size_t digits = 0;

	for (size_t i = 0; i < length; i++) {
		digits = isxdigit((unsigned char)path[i]) ? digits + 1 : 0;
		if (digits == 64)
			return true;
	}
	return false;
}

/*
 * Rank of the path of one hierarchy; the highest is chosen. If both versions of cgroups are mounted
 * (hybrid), a container may have groups in the old hierarchies only. "0::" then has the unit of the
 * runtime's daemon, or only "/".
 */
static int cgroup_rank(const char *line, const char *path, size_t path_length)
{
	static const char by_systemd[] = ":name=systemd:";
	const size_t head = sizeof(by_systemd) - 1;

	if (path_length <= 1)
		return 0; /* the root, which has no information */
	if (names_container(path, path_length))
		return 4;
	if (strncmp(line, "0::", 3) == 0)
		return 3;
	return (size_t)(path - line) > head && memcmp(path - head, by_systemd, head) == 0 ? 2 : 1;
}

void proc_cgroup_parse(const char *text, char *ret_path, size_t size)
{
	int best = -1;

	ret_path[0] = '\0';
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t length = strcspn(line, "\n");
		const char *path = memchr(line, '/', length);
		size_t path_length;
		int rank;

		if (!path)
			continue;
		path_length = length - (size_t)(path - line);
		rank = cgroup_rank(line, path, path_length);
		if (rank <= best)
			continue;
		best = rank;
		(void)snprintf(ret_path, size, "%.*s", (int)path_length, path);
	}
}

int proc_cgroup_read(uint32_t pid, char *ret_path, size_t size)
{
	scoped_bytes bytes = BYTES_INIT(SMALL_FILE_MAX_BYTES);
	int r;

	r = read_proc_file(pid, "cgroup", &bytes);
	if (r < 0)
		return r;
	proc_cgroup_parse((const char *)bytes.data, ret_path, size);
	return 0;
}

static void scoped_closedir(DIR **folder)
{
	if (*folder)
		(void)closedir(*folder);
}

/* Field 20 is the number of threads. It counts a leader that has exited and is a zombie. */
bool proc_has_live_threads(uint32_t pid)
{
	scoped_bytes bytes = BYTES_INIT(SMALL_FILE_MAX_BYTES);
	const char *close_bracket;
	unsigned int n_threads;
	char state;

	if (read_proc_file(pid, "stat", &bytes) < 0)
		return false;
	close_bracket = strrchr((const char *)bytes.data, ')');
	if (!close_bracket ||
	    sscanf(close_bracket + 1,
		   " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %u", &state,
		   &n_threads) != 2)
		return false;
	return n_threads > 1 || (state != 'Z' && state != 'X');
}

int proc_list(int (*function)(void *arg, uint32_t pid), void *arg)
{
	scoped(scoped_closedir) DIR *folder = opendir("/proc");
	const struct dirent *entry;

	if (!folder)
		return -errno;
	while ((entry = readdir(folder))) {
		char *end;
		unsigned long pid = strtoul(entry->d_name, &end, 10);
		int r;

		if (*end != '\0' || pid == 0 || pid > INT32_MAX)
			continue;
		r = function(arg, (uint32_t)pid);
		if (r < 0)
			return r;
	}
	return 0;
}
