/* SPDX-License-Identifier: Apache-2.0 */
/* Uses real helpers; each test has its own nursery. */
#include "agent/helper/upload_opener.h"

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/executable/elf_extract.h"
#include "common/pieced_file.h"
#include "tests/support/unit.h"
#include "tests/unit/agent/helper/signal_helpers.h"

struct fixture {
	struct clock clock; /* ahead of the system's by @ahead_ns */
	uint64_t ahead_ns;
	struct nursery *nursery;
	struct helper_pool *pool;
	struct executable_cache *cache;
	struct executable *executable; /* this program */
	struct upload_opener *opener;
	unsigned int n_opened;
	int result; /* of the last one */
	int fd, pieces_fd;
};

static uint64_t monotonic_ns(const struct clock *clock)
{
	const struct fixture *fixture =
		(const void *)((const char *)clock - offsetof(struct fixture, clock));

	return clock_monotonic_ns(&system_clock) + fixture->ahead_ns;
}

static void on_opened(void *arg, int result, int fd, int pieces_fd)
{
	struct fixture *fixture = arg;

	fixture->n_opened++;
	fixture->result = result;
	fixture->fd = fd;
	fixture->pieces_fd = pieces_fd;
}

static void identify_own_program(struct fixture *fixture)
{
	scoped_fd int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	struct mapped_file file;

	assert_ptr_not_equal(memory, MAP_FAILED);
	file = (struct mapped_file){ .pid = (uint32_t)getpid(),
				     .start = (uintptr_t)memory,
				     .end = (uintptr_t)memory + 4096,
				     .path = "/proc/self/exe" };
	assert_int_equal(executable_cache_identify(fixture->cache, &file, &fixture->executable), 1);
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char *arguments[] = { (char[]){ "test" }, NULL };
	struct helper_pool_options pool = {
		.width = { 1, 1, 1, 1 },
		.single_use = { [HELPER_COMPILER] = true },
	};

	assert_non_null(fixture);
	fixture->clock = (struct clock){ .monotonic_ns = monotonic_ns };
	assert_ok(nursery_start(1, arguments, &fixture->nursery));
	pool.nursery = fixture->nursery;
	assert_ok(helper_pool_new(&pool, &fixture->pool));
	assert_ok(executable_cache_new(100, &fixture->cache));
	identify_own_program(fixture);
	assert_ok(upload_opener_new(fixture->pool, &fixture->clock, &fixture->opener));
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	helper_pool_free(fixture->pool);
	upload_opener_free(fixture->opener);
	executable_cache_free(fixture->cache);
	nursery_free(fixture->nursery);
	/* Waits for the nursery, so that the next test finds only its own. */
	while (waitpid(-1, NULL, 0) > 0)
		;
	free(fixture);
	return 0;
}

static int begin(struct fixture *fixture)
{
	const struct upload_request request = { .what = EXTRACT_DEBUG,
						.opened = on_opened,
						.arg = fixture };

	return upload_opener_open(fixture->opener, fixture->executable, &request);
}

static uint64_t retry_at_ns(const struct fixture *fixture)
{
	return upload_opener_retry_at_ns(fixture->opener, fixture->executable, EXTRACT_DEBUG);
}

static void run_until(struct fixture *fixture, unsigned int n_opened)
{
	struct pollfd polled = { .fd = helper_pool_fd(fixture->pool), .events = POLLIN };

	while (fixture->n_opened < n_opened) {
		helper_pool_run(fixture->pool, clock_monotonic_ns(&fixture->clock));
		if (fixture->n_opened < n_opened)
			(void)poll(&polled, 1, 5);
	}
}

static void assert_is_opened(struct fixture *fixture)
{
	scoped_fd int expected_fd = memfd_create("expected", MFD_CLOEXEC);
	struct pieced_file file, expected;
	uint8_t piece[4096], expected_piece[4096];

	assert_ok(fixture->result);
	assert_ok(pieced_file_open(fixture->pieces_fd, fixture->fd, &file));
	assert_ok(elf_extract_write(fixture->fd, EXTRACT_DEBUG, expected_fd));
	assert_ok(pieced_file_open(expected_fd, fixture->fd, &expected));
	assert_int_equal(file.size, expected.size);
	for (uint64_t left = file.size; left > 0; left -= MIN(left, sizeof(piece))) {
		size_t n = (size_t)MIN(left, (uint64_t)sizeof(piece));

		assert_ok(pieced_file_read(&file, piece, n));
		assert_ok(pieced_file_read(&expected, expected_piece, n));
		assert_memory_equal(piece, expected_piece, n);
	}
	assert_ok(close(fixture->fd));
	assert_ok(close(fixture->pieces_fd));
}

static void a_helper_plans_the_extract_of_a_file(void **state)
{
	struct fixture *fixture = *state;

	assert_ok(begin(fixture));
	run_until(fixture, 1);
	assert_is_opened(fixture);
	assert_int_equal(upload_opener_failed(fixture->opener), 0);
	assert_int_equal(retry_at_ns(fixture), 0);
}

static void a_file_whose_helper_died_is_counted_and_avoided(void **state)
{
	struct fixture *fixture = *state;

	assert_ok(begin(fixture));
	run_until(fixture, 1);
	assert_is_opened(fixture);
	make_new_parsers_fail();
	assert_ok(begin(fixture));
	run_until(fixture, 2);
	assert_errno(fixture->result, -ECONNRESET);
	assert_errno(begin(fixture), -EAGAIN);
	assert_int_equal(upload_opener_failed(fixture->opener), 2);
	assert_in_range(retry_at_ns(fixture), clock_monotonic_ns(&fixture->clock),
			clock_monotonic_ns(&fixture->clock) + 10 * NSEC_PER_SEC);
	fixture->ahead_ns += 10 * NSEC_PER_SEC;
	assert_ok(begin(fixture));
	run_until(fixture, 3);
	fixture->ahead_ns += 10 * NSEC_PER_SEC;
	assert_errno(begin(fixture), -EAGAIN);
}

/* The nursery is stopped, so no helper is forked, until the deadline is over. */
static void a_file_whose_helper_hung_is_uploaded_later(void **state)
{
	struct fixture *fixture = *state;

	assert_ok(begin(fixture));
	run_until(fixture, 1);
	assert_is_opened(fixture);
	assert_int_equal(signal_helpers("hearth-nursery", SIGSTOP), 1);
	assert_ok(begin(fixture));
	while (fixture->n_opened < 2) {
		fixture->ahead_ns += NSEC_PER_SEC / 10;
		helper_pool_run(fixture->pool, clock_monotonic_ns(&fixture->clock));
		(void)poll(NULL, 0, 1);
	}
	assert_int_equal(signal_helpers("hearth-nursery", SIGCONT), 1);
	assert_errno(fixture->result, -ETIMEDOUT);
	assert_int_equal(upload_opener_failed(fixture->opener), 1);
	fixture->ahead_ns += 10 * NSEC_PER_SEC;
	assert_ok(begin(fixture));
	run_until(fixture, 3);
	assert_is_opened(fixture);
}

#define in_fixture(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_fixture(a_helper_plans_the_extract_of_a_file),
		in_fixture(a_file_whose_helper_died_is_counted_and_avoided),
		in_fixture(a_file_whose_helper_hung_is_uploaded_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
