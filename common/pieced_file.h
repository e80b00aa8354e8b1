/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A file that is put together from ranges of two others when it is read: of a source, and of the
 * pieced file, which has the list of ranges and the bytes that the source lacks.
 *
 * A sandboxed process that parses the source writes the pieced file. The reader reads bytes only:
 * it trusts nothing in the file, holds one piece in memory, and never returns more than the size
 * that it checked when it opened the file.
 *
 *   struct pieced_header, struct pieced_range[n_ranges], bytes
 *
 * Used by one thread.
 */

#include "common/base.h"

/* A range of one of the two files. */
struct pieced_range {
	uint64_t size; /* at least 1 */
	/* writing, not of_source: in the given bytes; in the file: in the pieced file */
	uint64_t offset;
	uint64_t of_source; /* 1: of the source; 0: of the pieced file */
};

/* Writes all of it into the empty file @fd. 0 or negative errno. */
int pieced_file_write(int fd, const struct pieced_range *ranges, size_t n_ranges, const void *bytes,
		      size_t n_bytes);

struct pieced_file {
	int fd, source_fd; /* borrowed */
	uint64_t size;     /* of the file that is read */
	uint64_t n_ranges;
	uint64_t n_begun;          /* ranges read so far, or being read */
	struct pieced_range range; /* the rest of the last of them */
};

/*
 * 0; -EBADMSG: it is malformed, or the result would be larger than both files together; another
 * negative errno.
 */
int pieced_file_open(int fd, int source_fd, struct pieced_file *ret_file);

/*
 * The next @size bytes. -ENODATA: a file has been cut short, or the ranges end before; another
 * negative errno.
 */
int pieced_file_read(struct pieced_file *file, void *buffer, size_t size);

void pieced_file_rewind(struct pieced_file *file);
