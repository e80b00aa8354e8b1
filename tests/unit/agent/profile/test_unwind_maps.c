/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/profile/unwind_maps.h"

#include <sys/mman.h>

#include "tests/support/unit.h"

#define N_PARTS	 4
#define N_CHUNKS ((uint32_t)(N_PARTS * UNWIND_PART_BYTES / UNWIND_CHUNK_BYTES) - 3)

/* A file does for a map: what is asked of both is mmap() in parts. */
static int make_map(void)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)N_CHUNKS * UNWIND_CHUNK_BYTES), 0);
	return fd;
}

static void expect_in_map(int fd, const uint32_t *elements, size_t first, size_t count)
{
	uint32_t *found = calloc(count, sizeof(*found));

	assert_non_null(found);
	assert_int_equal(pread(fd, found, count * sizeof(*found), (off_t)(first * sizeof(*found))),
			 count * sizeof(*found));
	assert_memory_equal(found, elements, count * sizeof(*found));
	free(found);
}

static size_t count_mapped(const struct unwind_array *array)
{
	size_t count = 0;

	for (size_t i = 0; i < N_PARTS; i++)
		count += array->mapped[i];
	return count;
}

static void what_is_written_is_in_the_map_and_in_memory(void **state)
{
	const uint32_t part = UNWIND_PART_BYTES / sizeof(uint32_t);
	const struct {
		uint32_t first, count;
		size_t n_mapped; /* afterwards */
	} cases[] = {
		{ 5, 1, 1 },
		{ 10, 100, 1 },
		{ part - 1, 2, 2 }, /* over an edge */
		{ 3 * part, 7, 3 },
		{ N_CHUNKS * 1024 - 1, 1, 3 }, /* the last element, in the last part, which is shorter */
		{ part, 2 * part, 4 },
		{ 0, 0, 4 },
	};
	int fd = make_map();
	struct unwind_array array;
	uint32_t *elements = calloc(2 * part, sizeof(*elements));

	(void)state;
	assert_non_null(elements);
	for (uint32_t i = 0; i < 2 * part; i++)
		elements[i] = i * 2654435761u + 1;
	assert_ok(unwind_array_init(fd, N_CHUNKS, sizeof(uint32_t), &array));
	assert_int_equal(array.n, N_CHUNKS * 1024);
	assert_int_equal(count_mapped(&array), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_ok(unwind_array_write(&array, cases[i].first, elements, cases[i].count));
		assert_int_equal(count_mapped(&array), cases[i].n_mapped);
		if (cases[i].count == 0)
			continue;
		expect_in_map(fd, elements, cases[i].first, cases[i].count);
		assert_memory_equal((uint32_t *)(void *)array.address + cases[i].first, elements,
				    cases[i].count * sizeof(*elements));
	}
	unwind_array_release(&array);
	free(elements);
	close(fd);
}

static void a_map_that_cannot_be_mapped_is_an_error_not_a_fault(void **state)
{
	struct unwind_array array;
	uint32_t element = 1;

	(void)state;
	assert_ok(unwind_array_init(-1, N_CHUNKS, sizeof(uint32_t), &array));
	assert_int_equal(unwind_array_write(&array, 0, &element, 1), -EBADF);
	unwind_array_release(&array);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_in_the_map_and_in_memory),
		cmocka_unit_test(a_map_that_cannot_be_mapped_is_an_error_not_a_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
