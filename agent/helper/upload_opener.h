/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Opens the file of an executable for an upload, and has a helper plan the extract that is sent of
 * it (agent/executable/elf_extract.h), without blocking. A helper that dies or hangs is counted,
 * and the file is left alone for a time that doubles with each failure (avoid_list.h).
 *
 * Used by the agent's main thread.
 */

#include "agent/executable/executable.h"
#include "agent/helper/helper_pool.h"
#include "common/clock.h"

struct upload_opener;

/* @pool is borrowed, and ends before the opener does. */
int upload_opener_new(struct helper_pool *pool, const struct clock *clock,
		      struct upload_opener **ret_opener);
struct upload_opener *upload_opener_free(struct upload_opener *opener);

/*
 * @result: 0: @fd is the file, and @pieces_fd the pieced file (common/pieced_file.h) of the
 * extract; the callee owns both. Negative errno: what source_opened or elf_extract_write() says, or
 * that of helper_done.
 */
typedef void (*upload_opened)(void *arg, int result, int fd, int pieces_fd);

struct upload_request {
	uint32_t what; /* EXTRACT_... */
	upload_opened opened;
	void (*forget)(void *arg); /* as in struct helper_job */
	void *arg;
};

/* 0: @opened will be called. -EAGAIN: the file is left alone; what source_open() returns. */
int upload_opener_open(struct upload_opener *opener, const struct executable *executable,
		       const struct upload_request *request);

/* Monotonic: upload_opener_open() of @executable answers -EAGAIN before; 0: it never failed. */
uint64_t upload_opener_retry_at_ns(const struct upload_opener *opener,
				   const struct executable *executable, uint32_t what);

/*
 * Uploads that were not begun, because helpers failed, or the file has nothing to upload or was
 * left alone.
 */
uint64_t upload_opener_failed(const struct upload_opener *opener);

DEFINE_SCOPED(struct upload_opener *, upload_opener_free);
