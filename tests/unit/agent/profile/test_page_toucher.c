/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/profile/page_toucher.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/support/unit.h"

#define PAGE_BYTES ((size_t)4096)
#define N_PAGES 8

/* Waits until everything that was added is accounted for. */
static struct page_toucher_stats settled(struct page_toucher *toucher, uint64_t n_added)
{
	struct page_toucher_stats stats;

	for (int round = 0; round < 10000; round++) {
		page_toucher_stats(toucher, &stats);
		if (stats.touched + stats.absent + stats.gone + stats.failed + stats.dropped >= n_added)
			break;
		usleep(1000);
	}
	return stats;
}

static size_t count_resident(const char *memory)
{
	FILE *file = fopen("/proc/self/pagemap", "r");
	size_t count = 0;

	assert_non_null(file);
	for (size_t i = 0; i < N_PAGES; i++) {
		uint64_t entry = 0;

		/* Bit 63: present in the page table (mincore() would tell of the page cache). */
		long at = (long)(((uintptr_t)memory / PAGE_BYTES + i) * sizeof(entry));

		assert_int_equal(fseek(file, at, SEEK_SET), 0);
		assert_int_equal(fread(&entry, sizeof(entry), 1, file), 1);
		count += entry >> 63;
	}
	(void)fclose(file);
	return count;
}

static void a_page_and_those_above_it_become_resident(void **state)
{
	struct page_toucher *toucher;
	struct page_toucher_stats stats;
	char *memory = mmap(NULL, N_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(count_resident(memory), 0);
	assert_ok(page_toucher_new(&toucher));
	page_toucher_add(toucher, getpid(), (uint64_t)(uintptr_t)memory + 2 * PAGE_BYTES);
	stats = settled(toucher, 1);
	assert_int_equal(stats.touched, 1);
	assert_int_equal(count_resident(memory), N_PAGES - 2);
	page_toucher_free(toucher);
	munmap(memory, N_PAGES * PAGE_BYTES);
}

static void what_is_not_mapped_is_counted_as_such(void **state)
{
	struct page_toucher *toucher;
	struct page_toucher_stats stats;

	(void)state;
	assert_ok(page_toucher_new(&toucher));
	page_toucher_add(toucher, getpid(), 4096);
	stats = settled(toucher, 1);
	assert_int_equal(stats.absent, 1);
	assert_int_equal(stats.touched, 0);
	page_toucher_free(toucher);
}

static void a_process_that_ended_is_counted_as_gone(void **state)
{
	struct page_toucher *toucher;
	struct page_toucher_stats stats;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_ok(page_toucher_new(&toucher));
	page_toucher_add(toucher, child, (uint64_t)(uintptr_t)&child);
	stats = settled(toucher, 1);
	assert_int_equal(stats.gone, 1);
	page_toucher_free(toucher);
}

static void more_than_can_wait_is_dropped_and_none_is_forgotten(void **state)
{
	struct page_toucher *toucher;
	struct page_toucher_stats stats;
	char here;

	(void)state;
	assert_ok(page_toucher_new(&toucher));
	for (int i = 0; i < 20000; i++)
		page_toucher_add(toucher, getpid(), (uint64_t)(uintptr_t)&here);
	stats = settled(toucher, 20000);
	assert_int_equal(stats.touched + stats.dropped, 20000);
	assert_true(stats.touched > 0);
	page_toucher_free(toucher);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_and_those_above_it_become_resident),
		cmocka_unit_test(what_is_not_mapped_is_counted_as_such),
		cmocka_unit_test(a_process_that_ended_is_counted_as_gone),
		cmocka_unit_test(more_than_can_wait_is_dropped_and_none_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
