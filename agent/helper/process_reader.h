/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads /proc/PID/maps and /proc/PID/cmdline by a helper (reader_process.h), and waits for the
 * answer: a tenth of a millisecond as a rule, a second at most. Should there be none by then the
 * helper is killed, and the process left alone for a while: somebody holds the lock of its mappings
 * and waits for a file system that does not answer. As long as that has just happened with several
 * processes, others are waited for a twentieth of a second only.
 *
 * Used by one thread.
 */

#include "agent/helper/nursery.h"
#include "common/bytes.h"

struct process_reader;

struct process_reader_options {
	struct nursery *nursery; /* borrowed */
	uint64_t timeout_ns;     /* 0: a second */
};

int process_reader_new(const struct process_reader_options *options,
		       struct process_reader **ret_reader);
struct process_reader *process_reader_free(struct process_reader *reader);

/*
 * Appends the content of /proc/@pid/@name, and a NUL, to @text. @arg is the reader; @name "maps",
 * of which only the lines of executable mappings are given, or "cmdline", of which there are the
 * first 4 KiB. 0; -ESRCH: the process is gone; -ETIMEDOUT, the helper did not answer; -EBUSY, the
 * process is left alone; -ECONNRESET, the helper died; another negative errno of reading the file.
 */
int process_reader_read(void *arg, uint32_t pid, const char *name, struct bytes *text);

/* To be called now and then: a helper that was not needed for a while ends. @now_ns: monotonic. */
void process_reader_tend(struct process_reader *reader, uint64_t now_ns);

struct process_reader_stats {
	uint64_t timeouts;
	uint64_t deaths;
	/* files not read, as the process's had not been readable a moment ago */
	uint64_t left_alone;
};

void process_reader_stats(const struct process_reader *reader,
			  struct process_reader_stats *ret_stats);

DEFINE_SCOPED(struct process_reader *, process_reader_free);
