/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A long range of bytes, of a file or in memory, looked at through a window that moves: for tables
 * that are read nearly in order and are too long to be held as a whole. Files are read by pread, as
 * everything of others is.
 */

#include "common/bytes.h"

struct byte_window {
	const uint8_t *memory; /* or NULL: of the file */
	int fd;                /* borrowed */
	uint64_t file_offset;  /* of the range */
	uint64_t size;
	/* capacity bytes; those of [first, first + count) of the range are in it */
	uint8_t *buffer;
	size_t capacity;
	uint64_t first;
	size_t count;
};

#define BYTE_WINDOW_OF_MEMORY(view)                                                                \
	((struct byte_window){ .memory = (view).data, .fd = -1, .size = (view).size })

#define BYTE_WINDOW_OF_FILE(file, offset, length)                                                  \
	((struct byte_window){ .fd = (file), .file_offset = (offset), .size = (length) })

void byte_window_release(struct byte_window *window);

/*
 * A window of its own on a part of @whole, which reads @capacity bytes at a time. Cut where @whole
 * ends. 0, -EBADMSG (begins beyond the end), -ENOMEM.
 */
int byte_window_part(const struct byte_window *whole, uint64_t offset, uint64_t size,
		     size_t capacity, struct byte_window *ret_part);

/*
 * @size bytes at @offset, until the next call. 0; -EBADMSG: not within the range, or more than the
 * window holds; -ENODATA: the file was truncated under us.
 */
int byte_window_get(struct byte_window *window, uint64_t offset, size_t size,
		    const uint8_t **ret_bytes);
