/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Opens the file of an executable for an upload, and lets a helper plan the extract to be sent
 * (agent/executable/elf_extract.h), without blocking. If the helper dies or hangs, the failure is
 * counted, and the file is avoided for a time that doubles with each failure (avoid_list.h).
 *
 * Used by the agent's main thread.
 */

#include "agent/executable/executable.h"
#include "agent/helper/helper_pool.h"
#include "common/clock.h"

struct upload_opener;

/* @pool is borrowed; it must be freed before the opener. */
int upload_opener_new(struct helper_pool *pool, const struct clock *clock,
		      struct upload_opener **ret_opener);
struct upload_opener *upload_opener_free(struct upload_opener *opener);

/*
 * @result: 0: @fd is the file, and @pieces_fd the pieced file (common/pieced_file.h) of the
 * extract; the callee owns both. Negative errno: from source_opened, elf_extract_write() or
 * helper_done.
 */
typedef void (*upload_opened)(void *arg, int result, int fd, int pieces_fd);

struct upload_request {
	uint32_t what; /* EXTRACT_... */
	upload_opened opened;
	void (*forget)(void *arg); /* as in struct helper_job */
	void *arg;
};

/* 0: @opened will be called. -EAGAIN: the file is avoided; or the errors of source_open(). */
int upload_opener_open(struct upload_opener *opener, const struct executable *executable,
		       const struct upload_request *request);

/* Monotonic time until which upload_opener_open() returns -EAGAIN; 0: no failure. */
uint64_t upload_opener_retry_at_ns(const struct upload_opener *opener,
				   const struct executable *executable, uint32_t what);

/*
 * Number of uploads that were not begun, because helpers failed, or because the file has nothing to
 * upload or was avoided.
 */
uint64_t upload_opener_failed(const struct upload_opener *opener);

DEFINE_SCOPED(struct upload_opener *, upload_opener_free);
