/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads /proc/PID/maps and /proc/PID/cmdline through a helper (reader_process.h) and waits for the
 * answer: usually 0.1 ms, at most one second. After that the helper is killed, and the process is
 * avoided for a while: some thread holds the lock of its mappings and waits for a file system that
 * does not answer. While this has recently happened with several processes, the reader waits only
 * 50 ms for other processes.
 *
 * Used by one thread.
 */

#include "agent/helper/nursery.h"
#include "common/bytes.h"

struct process_reader;

struct process_reader_options {
	struct nursery *nursery; /* borrowed */
	uint64_t timeout_ns;     /* 0: one second */
};

int process_reader_new(const struct process_reader_options *options,
		       struct process_reader **ret_reader);
struct process_reader *process_reader_free(struct process_reader *reader);

/*
 * Appends the content of /proc/@pid/@name and a NUL to @text. @arg is the reader. @name is "maps"
 * (only the lines of executable mappings) or "cmdline" (the first 4 KiB). 0; -ESRCH: the process
 * has ended; -ETIMEDOUT: the helper did not answer; -EBUSY: the process is avoided; -ECONNRESET:
 * the helper died; another negative errno from reading the file.
 */
int process_reader_read(void *arg, uint32_t pid, const char *name, struct bytes *text);

/* Ends a helper that was not used for a while. Call it regularly. @now_ns: monotonic. */
void process_reader_close_idle(struct process_reader *reader, uint64_t now_ns);

struct process_reader_stats {
	uint64_t timeouts;
	uint64_t deaths;
	/* files not read, because the process is avoided */
	uint64_t avoided;
};

void process_reader_stats(const struct process_reader *reader,
			  struct process_reader_stats *ret_stats);

DEFINE_SCOPED(struct process_reader *, process_reader_free);
