/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper/process_facts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/scoped.h"

/* /proc/PID/stat has 52 numbers, /proc/PID/status some 60 lines. */
#define TEXT_BYTES 8192

/*
 * Number of fields of /proc/PID/stat between the name and the start time: the name is followed by
 * the third field, and the start time is the 22nd.
 */
#define FIELDS_BEFORE_START 19

/* Reads the beginning of a file of /proc/@pid. False: the process has ended. */
static bool read_text(pid_t pid, const char *name, char ret_text[TEXT_BYTES])
{
	scoped_fd int fd = -1;
	char path[64];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, ret_text, TEXT_BYTES - 1) : -1;
	if (n <= 0)
		return false;
	ret_text[n] = '\0';
	return true;
}

struct process_key process_key_of(pid_t pid)
{
	struct process_key key = { .pid = (uint64_t)pid };
	char text[TEXT_BYTES];
	const char *field;

	if (!read_text(pid, "stat", text))
		return key;
	/* The name may contain spaces and parentheses. */
	field = strrchr(text, ')');
	for (int i = 0; field && i <= FIELDS_BEFORE_START; i++)
		field = strchr(field + 1, ' ');
	if (field)
		(void)sscanf(field, " %" SCNu64, &key.start_ticks);
	return key;
}

uint64_t process_cpu_ns(pid_t pid)
{
	struct timespec used = {};
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
		return 0;
	return (uint64_t)used.tv_sec * NSEC_PER_SEC + (uint64_t)used.tv_nsec;
}

uint64_t process_anon_bytes(pid_t pid)
{
	static const char name[] = "\nRssAnon:";
	char text[TEXT_BYTES];
	const char *line;
	uint64_t kib = 0;

	if (!read_text(pid, "status", text))
		return 0;
	line = strstr(text, name);
	if (line)
		(void)sscanf(line + strlen(name), " %" SCNu64, &kib);
	return kib * KIB;
}
