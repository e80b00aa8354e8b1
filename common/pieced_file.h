/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A pieced file describes another file as a list of ranges. Each range lies in a source file, or in
 * the pieced file, which contains the bytes that the source lacks. The reader joins the ranges.
 *
 * A sandboxed process parses the source and writes the pieced file. The reader does not trust that
 * process: it holds one range in memory, and checks the offset of each range before it reads the
 * range.
 *
 *   struct pieced_header, struct pieced_range[n_ranges], bytes
 *
 * Used by one thread.
 */

#include "common/base.h"

/* A range of one of the two files. */
struct pieced_range {
	uint64_t size; /* at least 1 */
	/*
	 * If of_source is 1: offset in the source. If 0: pieced_file_write() takes the offset in
	 * its argument @bytes, and writes the offset in the pieced file.
	 */
	uint64_t offset;
	uint64_t of_source; /* 1: range of the source; 0: of the pieced file */
};

/* Writes a pieced file into the empty file @fd. 0 or negative errno. */
int pieced_file_write(int fd, const struct pieced_range *ranges, size_t n_ranges, const void *bytes,
		      size_t n_bytes);

struct pieced_file {
	int fd, source_fd; /* borrowed */
	uint64_t size;     /* of the described file, according to the header */
	uint64_t n_ranges;
	uint64_t n_begun;          /* ranges read completely or partly */
	struct pieced_range range; /* the unread rest of the last begun range */
};

/*
 * Reads the header. 0; -EBADMSG: malformed, or the described file is larger than both files
 * together; another negative errno.
 */
int pieced_file_open(int fd, int source_fd, struct pieced_file *ret_file);

/*
 * Reads the next @size bytes. 0; -ENODATA: one of the files is truncated, or the ranges end before;
 * another negative errno.
 */
int pieced_file_read(struct pieced_file *file, void *buffer, size_t size);

void pieced_file_rewind(struct pieced_file *file);
