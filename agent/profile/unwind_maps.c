/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses are reserved for the whole array; parts of the map come into that place as they are needed.
 */
#include "agent/profile/unwind_maps.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static size_t array_bytes(const struct unwind_array *array)
{
	return (size_t)array->n * array->element_bytes;
}

int unwind_array_init(int map_fd, uint32_t n_chunks, uint32_t element_bytes, struct unwind_array *ret_array)
{
	size_t bytes = (size_t)n_chunks * UNWIND_CHUNK_BYTES;
	struct unwind_array array = {
		.n = (uint32_t)(bytes / element_bytes),
		.element_bytes = element_bytes,
		.map_fd = map_fd,
	};
	void *address;

	address = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (address == MAP_FAILED)
		return -errno;
	array.address = address;
	array.mapped = calloc((bytes + UNWIND_PART_BYTES - 1) / UNWIND_PART_BYTES, sizeof(*array.mapped));
	if (!array.mapped) {
		unwind_array_release(&array);
		return -ENOMEM;
	}
	*ret_array = array;
	return 0;
}

void unwind_array_release(struct unwind_array *array)
{
	if (array->address)
		munmap(array->address, array_bytes(array));
	free(array->mapped);
	*array = (struct unwind_array){};
}

static int map_part(struct unwind_array *array, size_t part)
{
	size_t offset = part * UNWIND_PART_BYTES;
	size_t bytes = MIN(UNWIND_PART_BYTES, array_bytes(array) - offset);

	if (array->mapped[part])
		return 0;
	if (mmap(array->address + offset, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, array->map_fd,
		 (off_t)offset) == MAP_FAILED)
		return -errno;
	array->mapped[part] = true;
	return 0;
}

int unwind_array_write(struct unwind_array *array, uint32_t first, const void *elements, uint32_t count)
{
	size_t begin = (size_t)first * array->element_bytes;
	size_t bytes = (size_t)count * array->element_bytes;
	int r = 0;

	assert((uint64_t)first + count <= array->n);
	for (size_t at = begin / UNWIND_PART_BYTES; at * UNWIND_PART_BYTES < begin + bytes && r == 0; at++)
		r = map_part(array, at);
	if (r == 0 && bytes > 0)
		memcpy(array->address + begin, elements, bytes);
	return r;
}

void unwind_arrays_release(struct unwind_arrays *arrays)
{
	unwind_array_release(&arrays->rows);
	unwind_array_release(&arrays->pages);
	unwind_array_release(&arrays->rules);
}
