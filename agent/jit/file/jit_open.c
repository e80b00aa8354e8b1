/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/jit/file/jit_open.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/executable/executable_file.h"
#include "common/file.h"

#define MAP_PATH_BYTES 64

/*
 * How much older than its process a file may seem to be: the wall clock may have been set since the
 * start. Files of an earlier process with the same number are usually much older.
 */
#define AGE_SLACK_NS (60 * NSEC_PER_SEC)

struct owner {
	uint32_t pid;  /* of the process whose root is used; 0: the agent's root */
	uint32_t user; /* effective user */
	uint32_t own_pid;
	bool has_own_pid; /* own_pid is the number of the process in its own namespace */
};

/* Reads the numbers of a line "@key NUMBER NUMBER...". Returns how many there are, at most @max. */
static size_t read_numbers(const char *status, const char *key, uint32_t *numbers, size_t max)
{
	const char *line = strstr(status, key);
	size_t count = 0;

	if (!line)
		return 0;
	line += strlen(key);
	while (count < max && *line != '\n' && *line != '\0') {
		char *end;
		unsigned long number = strtoul(line, &end, 10);

		if (end == line)
			break;
		numbers[count++] = (uint32_t)number;
		line = end;
		while (*line == ' ' || *line == '\t')
			line++;
	}
	return count;
}

/* PID namespaces are nested at most 32 deep. */
#define MAX_NAMESPACES 33

/* 0; -ESRCH: the process has ended. */
static int read_owner(uint32_t pid, struct owner *ret_owner)
{
	struct bytes status = BYTES_INIT(64 * KIB);
	uint32_t users[2], pids[MAX_NAMESPACES];
	size_t n_users = 0, n_pids = 0;
	char path[MAP_PATH_BYTES];
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	r = file_read(path, &status);
	if (r == 0)
		r = bytes_append_byte(&status, 0);
	if (r == 0) {
		n_users = read_numbers((const char *)status.data, "\nUid:", users, 2);
		n_pids = read_numbers((const char *)status.data, "\nNSpid:", pids, MAX_NAMESPACES);
	}
	bytes_release(&status);
	if (n_users < 2 || n_pids < 1)
		return -ESRCH;
	*ret_owner = (struct owner){
		.pid = pid,
		.user = users[1],
		.own_pid = pids[n_pids - 1],
		.has_own_pid = true,
	};
	return 0;
}

/* Describes a process that has ended by its parent, or else by nothing. */
static struct owner owner_of_ended(const struct jit_source *source)
{
	struct owner owner;

	if (source->parent_pid > 1 && read_owner(source->parent_pid, &owner) == 0) {
		/* In a namespace of its own, the number of the process is not known any longer. */
		owner.has_own_pid = owner.own_pid == source->parent_pid;
		owner.own_pid = source->pid;
		return owner;
	}
	return (struct owner){ .own_pid = source->pid, .has_own_pid = true };
}

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * NSEC_PER_SEC + (uint64_t)time->tv_nsec;
}

/* Whether the file was written after the process had started. */
static bool is_new_enough(const struct stat *status, uint64_t start_time_ns)
{
	struct timespec wall, boot;
	uint64_t age_ns;

	(void)clock_gettime(CLOCK_REALTIME, &wall);
	(void)clock_gettime(CLOCK_BOOTTIME, &boot);
	age_ns = ns_of(&boot) > start_time_ns ? ns_of(&boot) - start_time_ns : 0;
	return ns_of(&status->st_mtim) + age_ns + AGE_SLACK_NS >= ns_of(&wall);
}

int jit_open_map(const struct jit_source *source)
{
	char path[MAP_PATH_BYTES];
	struct owner owner;
	struct stat status;
	int fd;

	if (read_owner(source->pid, &owner) < 0)
		owner = owner_of_ended(source);
	if (!owner.has_own_pid)
		return -ENOENT;
	(void)snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", owner.own_pid);
	fd = open_plain_in_root_of(owner.pid ? owner.pid : (uint32_t)getpid(), path, &status);
	if (fd < 0)
		return fd == -ENOENT ? fd : -EPERM;
	if ((status.st_uid == 0 || status.st_uid == owner.user) &&
	    is_new_enough(&status, source->start_time_ns))
		return fd;
	(void)close(fd);
	return -EPERM;
}

bool jit_is_dump_path(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n_digits;

	if (!slash || strncmp(slash, "/jit-", 5) != 0)
		return false;
	n_digits = strspn(slash + 5, "0123456789");
	return n_digits > 0 && strncmp(slash + 5 + n_digits, ".dump", 5) == 0;
}

/* Whether a file that was found by its path is the one that was mapped. */
static bool is_mapped(const struct jit_source *source, int fd, const struct stat *status)
{
	uint64_t generation = file_generation(fd);

	return source->reported.inode != 0 && status->st_ino == source->reported.inode &&
	       (generation == 0 || source->reported.generation == 0 ||
		generation == source->reported.generation);
}

int jit_open_dump(const struct jit_source *source)
{
	struct stat status;
	int fd = open_mapped_file(source->pid, source->start, source->end, &status);

	if (fd >= 0 && source->reported.inode != 0 && status.st_ino != source->reported.inode) {
		(void)close(fd);
		fd = -ENOENT;
	}
	if (fd >= 0)
		return fd;
	if (source->parent_pid > 1)
		fd = open_plain_in_root_of(source->parent_pid, source->path, &status);
	if (fd < 0)
		fd = open_plain_in_root_of((uint32_t)getpid(), source->path, &status);
	if (fd < 0 || is_mapped(source, fd, &status))
		return fd;
	(void)close(fd);
	return -ENOENT;
}
