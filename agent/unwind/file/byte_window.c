/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/file/byte_window.h"

#include <stdlib.h>

#include "common/file.h"

void byte_window_release(struct byte_window *window)
{
	free(window->buffer);
	window->buffer = NULL;
	window->count = 0;
}

int byte_window_part(const struct byte_window *whole, uint64_t offset, uint64_t size,
		     size_t capacity, struct byte_window *ret_part)
{
	struct byte_window part = {
		.fd = whole->fd,
		.file_offset = whole->file_offset + offset,
		.capacity = capacity,
	};

	if (offset > whole->size)
		return -EBADMSG;
	part.size = MIN(size, whole->size - offset);
	if (whole->memory) {
		part.memory = whole->memory + offset;
	} else {
		part.buffer = malloc(capacity);
		if (!part.buffer)
			return -ENOMEM;
	}
	*ret_part = part;
	return 0;
}

static int move_to(struct byte_window *window, uint64_t offset)
{
	size_t count = (size_t)MIN((uint64_t)window->capacity, window->size - offset);
	int r;

	window->count = 0;
	r = pread_all(window->fd, window->buffer, count, window->file_offset + offset);
	if (r < 0)
		return r;
	window->first = offset;
	window->count = count;
	return 0;
}

int byte_window_get(struct byte_window *window, uint64_t offset, size_t size,
		    const uint8_t **ret_bytes)
{
	int r;

	if (offset > window->size || size > window->size - offset)
		return -EBADMSG;
	if (window->memory) {
		*ret_bytes = window->memory + offset;
		return 0;
	}
	if (size > window->capacity)
		return -EBADMSG;
	if (offset < window->first || offset - window->first > window->count ||
	    size > window->count - (offset - window->first)) {
		r = move_to(window, offset);
		if (r < 0)
			return r;
	}
	*ret_bytes = window->buffer + (offset - window->first);
	return 0;
}
