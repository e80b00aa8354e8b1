/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads a long range of bytes, of a file or in memory, through a window that moves. It is for
 * tables that are read nearly in order, and are too long to be kept in memory. Files are read by
 * pread(2).
 */

#include "common/bytes.h"

struct byte_window {
	const uint8_t *memory; /* NULL: the range is in the file */
	int fd;                /* borrowed */
	uint64_t file_offset;  /* of the range */
	uint64_t size;
	/* capacity bytes, which hold [first, first + count) of the range */
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
 * Makes a window on a part of @whole, which reads @capacity bytes at a time. The part ends at the
 * end of @whole at the latest. 0, -EBADMSG (it begins beyond the end), -ENOMEM.
 */
int byte_window_part(const struct byte_window *whole, uint64_t offset, uint64_t size,
		     size_t capacity, struct byte_window *ret_part);

/*
 * *ret_bytes: @size bytes at @offset, valid until the next call. 0; -EBADMSG: they are not within
 * the range, or more than the capacity; -ENODATA: the file was truncated meanwhile.
 */
int byte_window_get(struct byte_window *window, uint64_t offset, size_t size,
		    const uint8_t **ret_bytes);
