/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is built on the stack and written by one write(2), so that lines of several threads, or of
 * a child with the same stderr, never mix. Control characters are replaced by '?', because messages
 * contain untrusted names, and a name with a line feed could forge a line.
 */

#include "common/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* write() to a pipe is atomic up to PIPE_BUF (4096) bytes. */
#define LOG_LINE_SIZE 4096

#define CUT_MARK "..."

struct log_level_row {
	const char *name;
	int syslog_priority;
};

static const struct log_level_row log_levels[] = {
	[LOG_LEVEL_ERROR] = { "error", 3 },
	[LOG_LEVEL_WARN] = { "warn", 4 },
	[LOG_LEVEL_INFO] = { "info", 6 },
	[LOG_LEVEL_DEBUG] = { "debug", 7 },
};

static _Atomic int max_level = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	atomic_store_explicit(&max_level, (int)level, memory_order_relaxed);
}

bool log_enabled(enum log_level level)
{
	return (int)level <= atomic_load_explicit(&max_level, memory_order_relaxed);
}

bool log_level_from_name(const char *name, enum log_level *ret_level)
{
	for (unsigned int level = 0; level < ARRAY_SIZE(log_levels); level++) {
		if (strcmp(log_levels[level].name, name) != 0)
			continue;
		*ret_level = (enum log_level)level;
		return true;
	}
	return false;
}

/*
 * A child inherits the variable even if its stderr is another file, so the device and inode in the
 * value must match (systemd.exec(5)).
 */
static bool stderr_is_the_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat status;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device &&
	       status.st_ino == inode;
}

static void hide_control_characters(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			text[i] = '?';
}

printf_like(2, 0) static void write_line(enum log_level level, const char *format, va_list args)
{
	char line[LOG_LINE_SIZE];
	const size_t room = sizeof(line) - 1; /* for the line feed */
	const int format_errno = errno;
	size_t length;
	int n;

	if (stderr_is_the_journal())
		n = snprintf(line, room, "<%d>", log_levels[level].syslog_priority);
	else
		n = snprintf(line, room, "%s ", log_levels[level].name);
	length = (size_t)n;

	errno = format_errno;
	n = vsnprintf(line + length, room - length, format, args);
	if (n < 0)
		return;
	if ((size_t)n < room - length) {
		length += (size_t)n;
	} else {
		length = room - 1;
		memcpy(line + length - strlen(CUT_MARK), CUT_MARK, strlen(CUT_MARK));
	}
	hide_control_characters(line, length);
	line[length++] = '\n';
	/* An error of stderr cannot be reported anywhere. */
	if (write(STDERR_FILENO, line, length) < 0)
		return;
}

void log_write(enum log_level level, const char *format, ...)
{
	const int saved_errno = errno;
	va_list args;

	if (!log_enabled(level))
		return;
	va_start(args, format);
	write_line(level, format, args);
	va_end(args);
	errno = saved_errno;
}

int log_write_errno(enum log_level level, int error, const char *format, ...)
{
	const int saved_errno = errno;
	const int positive = error < 0 ? -error : error;
	va_list args;

	if (!log_enabled(level))
		return -positive;
	errno = positive;
	va_start(args, format);
	write_line(level, format, args);
	va_end(args);
	errno = saved_errno;
	return -positive;
}
