/* SPDX-License-Identifier: Apache-2.0 */
/* Uses real helpers, of a nursery that is forked before the first test. */
#include "agent/helper/page_toucher.h"

#include <poll.h>
#include <signal.h>

#include <sys/mman.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "tests/support/nursery_group.h"
#include "tests/unit/agent/helper/signal_helpers.h"

#define PAGE_BYTES ((size_t)4096)
#define N_PAGES    8

static struct helper_pool *new_pool(void)
{
	const struct helper_pool_options options = { .nursery = nursery,
						     .width = { [HELPER_TOUCHER] = 2 } };
	struct helper_pool *pool = NULL;

	assert_ok(helper_pool_new(&options, &pool));
	return pool;
}

static uint64_t n_settled(const struct page_toucher_stats *stats)
{
	return stats->touched + stats->absent + stats->gone + stats->failed + stats->dropped +
	       stats->hung;
}

/* Runs until all added pages are counted. The clock is @ahead_ns ahead. */
static struct page_toucher_stats settle(struct helper_pool *pool, struct page_toucher *toucher,
					uint64_t n_added, uint64_t ahead_ns)
{
	struct pollfd polled = { .fd = helper_pool_fd(pool), .events = POLLIN };
	struct page_toucher_stats stats;

	for (;;) {
		uint64_t now_ns = clock_monotonic_ns(&system_clock) + ahead_ns;

		page_toucher_flush(toucher, now_ns);
		helper_pool_run(pool, now_ns);
		page_toucher_stats(toucher, &stats);
		if (n_settled(&stats) >= n_added)
			return stats;
		(void)poll(&polled, 1, 5);
	}
}

static size_t count_resident(const char *memory)
{
	FILE *file = fopen("/proc/self/pagemap", "r");
	size_t count = 0;

	assert_non_null(file);
	for (size_t i = 0; i < N_PAGES; i++) {
		uint64_t entry = 0;

		/* Bit 63: present in the page table. mincore() would report the page cache. */
		long at = (long)(((uintptr_t)memory / PAGE_BYTES + i) * sizeof(entry));

		assert_int_equal(fseek(file, at, SEEK_SET), 0);
		assert_int_equal(fread(&entry, sizeof(entry), 1, file), 1);
		count += entry >> 63;
	}
	(void)fclose(file);
	return count;
}

static void a_page_and_the_pages_above_it_become_resident(void **state)
{
	scoped(helper_pool_freep) struct helper_pool *pool = new_pool();
	scoped(page_toucher_freep) struct page_toucher *toucher = NULL;
	struct page_toucher_stats stats;
	char *memory = mmap(NULL, N_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(count_resident(memory), 0);
	assert_ok(page_toucher_new(pool, &toucher));
	page_toucher_add(toucher, getpid(), (uint64_t)(uintptr_t)memory + 2 * PAGE_BYTES);
	stats = settle(pool, toucher, 1, 0);
	assert_int_equal(stats.touched, 1);
	assert_int_equal(count_resident(memory), N_PAGES - 2);
	munmap(memory, N_PAGES * PAGE_BYTES);
}

static void unmapped_pages_are_counted_as_absent(void **state)
{
	scoped(helper_pool_freep) struct helper_pool *pool = new_pool();
	scoped(page_toucher_freep) struct page_toucher *toucher = NULL;
	struct page_toucher_stats stats;

	(void)state;
	assert_ok(page_toucher_new(pool, &toucher));
	page_toucher_add(toucher, getpid(), 4096);
	stats = settle(pool, toucher, 1, 0);
	assert_int_equal(stats.absent, 1);
	assert_int_equal(stats.touched, 0);
}

static void a_process_that_ended_is_counted_as_gone(void **state)
{
	scoped(helper_pool_freep) struct helper_pool *pool = new_pool();
	scoped(page_toucher_freep) struct page_toucher *toucher = NULL;
	struct page_toucher_stats stats;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_ok(page_toucher_new(pool, &toucher));
	page_toucher_add(toucher, child, (uint64_t)(uintptr_t)&child);
	stats = settle(pool, toucher, 1, 0);
	assert_int_equal(stats.gone, 1);
}

static void pages_beyond_the_queue_are_dropped_and_all_are_counted(void **state)
{
	scoped(helper_pool_freep) struct helper_pool *pool = new_pool();
	scoped(page_toucher_freep) struct page_toucher *toucher = NULL;
	struct page_toucher_stats stats;
	char here;

	(void)state;
	assert_ok(page_toucher_new(pool, &toucher));
	for (int i = 0; i < 20000; i++)
		page_toucher_add(toucher, getpid(), (uint64_t)(uintptr_t)&here);
	stats = settle(pool, toucher, 20000, 0);
	assert_int_equal(stats.touched + stats.dropped, 20000);
	assert_true(stats.touched > 0);
}

/* Like a process that waits for a page. The clock is advanced beyond the helper's deadline. */
static void a_process_whose_pages_are_not_loaded_in_time_is_avoided(void **state)
{
	scoped(helper_pool_freep) struct helper_pool *pool = new_pool();
	scoped(page_toucher_freep) struct page_toucher *toucher = NULL;
	struct page_toucher_stats stats;
	char here;

	(void)state;
	assert_ok(page_toucher_new(pool, &toucher));
	assert_int_equal(signal_helpers("hearth-nursery", SIGSTOP), 1);
	page_toucher_add(toucher, getpid(), (uint64_t)(uintptr_t)&here);
	page_toucher_add(toucher, getpid(), 4096);
	page_toucher_flush(toucher, 1);
	helper_pool_run(pool, 1);
	stats = settle(pool, toucher, 2, 0);
	assert_int_equal(signal_helpers("hearth-nursery", SIGCONT), 1);
	assert_int_equal(stats.hung, 2);
	page_toucher_add(toucher, getpid(), (uint64_t)(uintptr_t)&here);
	stats = settle(pool, toucher, 3, 0);
	assert_int_equal(stats.hung, 3);
	page_toucher_add(toucher, getpid(), (uint64_t)(uintptr_t)&here);
	stats = settle(pool, toucher, 4, 3600 * NSEC_PER_SEC);
	assert_int_equal(stats.touched, 1);
}

static void a_new_process_with_the_pid_of_an_avoided_one_is_touched(void **state)
{
	scoped(helper_pool_freep) struct helper_pool *pool = new_pool();
	scoped(page_toucher_freep) struct page_toucher *toucher = NULL;
	struct page_toucher_stats stats;
	const pid_t pid = fork_waiting(0);
	char here = 0;

	(void)state;
	assert_ok(page_toucher_new(pool, &toucher));
	assert_int_equal(signal_helpers("hearth-nursery", SIGSTOP), 1);
	page_toucher_add(toucher, pid, (uint64_t)(uintptr_t)&here);
	page_toucher_flush(toucher, 1);
	helper_pool_run(pool, 1);
	stats = settle(pool, toucher, 1, 0);
	assert_int_equal(signal_helpers("hearth-nursery", SIGCONT), 1);
	assert_int_equal(stats.hung, 1);
	page_toucher_add(toucher, pid, (uint64_t)(uintptr_t)&here);
	stats = settle(pool, toucher, 2, 0);
	assert_int_equal(stats.hung, 2);
	/* Start times have a resolution of 10 ms. */
	(void)usleep(20000);
	if (!replace_child(pid))
		skip();
	page_toucher_add(toucher, pid, (uint64_t)(uintptr_t)&here);
	stats = settle(pool, toucher, 3, 0);
	assert_int_equal(stats.touched, 1);
	end_child(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_and_the_pages_above_it_become_resident),
		cmocka_unit_test(unmapped_pages_are_counted_as_absent),
		cmocka_unit_test(a_process_that_ended_is_counted_as_gone),
		cmocka_unit_test(pages_beyond_the_queue_are_dropped_and_all_are_counted),
		cmocka_unit_test(a_process_whose_pages_are_not_loaded_in_time_is_avoided),
		cmocka_unit_test(a_new_process_with_the_pid_of_an_avoided_one_is_touched),
	};

	return cmocka_run_group_tests(tests, start_nursery, end_nursery);
}
