/* SPDX-License-Identifier: Apache-2.0 */
/* Tests with real helpers. Each test has a nursery. */
#include "agent/publish/table_maker.h"

#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/unwind/table/table_file.h"
#include "common/file.h"
#include "tests/support/unit.h"
#include "tests/unit/agent/helper/signal_helpers.h"

struct fixture {
	struct clock clock; /* @ahead_ns later than the system's */
	uint64_t ahead_ns;
	char *folder;
	struct nursery *nursery;
	struct helper_pool *pool;
	struct executable_cache *cache;
	struct table_maker *maker;
	struct made_table made; /* of the last call */
	unsigned int n_made;
};

static uint64_t monotonic_ns(const struct clock *clock)
{
	const struct fixture *fixture =
		(const void *)((const char *)clock - offsetof(struct fixture, clock));

	return clock_monotonic_ns(&system_clock) + fixture->ahead_ns;
}

static void on_made(void *arg, const struct made_table *made)
{
	struct fixture *fixture = arg;

	fixture->made = *made;
	fixture->n_made++;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char *arguments[] = { (char[]){ "test" }, NULL };
	struct helper_pool_options pool = {
		.width = { 1, 1, 1, 1 },
		.single_use = { [HELPER_COMPILER] = true, [HELPER_SLOW_COMPILER] = true },
	};

	assert_non_null(fixture);
	assert_int_equal(temp_folder_setup((void **)&fixture->folder), 0);
	fixture->clock = (struct clock){ .monotonic_ns = monotonic_ns };
	assert_ok(nursery_start(1, arguments, &fixture->nursery));
	pool.nursery = fixture->nursery;
	assert_ok(helper_pool_new(&pool, &fixture->pool));
	assert_ok(executable_cache_new(100, &fixture->cache));
	assert_ok(table_maker_new(&(struct table_maker_options){ .helpers = fixture->pool,
								 .clock = &fixture->clock,
								 .made = on_made,
								 .arg = fixture },
				  &fixture->maker));
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	helper_pool_free(fixture->pool);
	table_maker_free(fixture->maker);
	executable_cache_free(fixture->cache);
	nursery_free(fixture->nursery);
	/* Wait for the nursery, so that the next test has no child of this one. */
	while (waitpid(-1, NULL, 0) > 0)
		;
	assert_int_equal(temp_folder_teardown((void **)&fixture->folder), 0);
	free(fixture);
	return 0;
}

/* Identifies the executable at @path. */
static const struct executable *identify(struct fixture *fixture, const char *path)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	struct executable *executable = NULL;
	struct mapped_file file;

	assert_ptr_not_equal(memory, MAP_FAILED);
	file = (struct mapped_file){ .pid = (uint32_t)getpid(),
				     .start = (uintptr_t)memory,
				     .end = (uintptr_t)memory + 4096,
				     .path = path };
	assert_int_equal(executable_cache_identify(fixture->cache, &file, &executable), 1);
	return executable;
}

static void run_until(struct fixture *fixture, unsigned int n_made)
{
	struct pollfd polled = { .fd = helper_pool_fd(fixture->pool), .events = POLLIN };

	while (fixture->n_made < n_made) {
		helper_pool_run(fixture->pool, clock_monotonic_ns(&fixture->clock));
		if (fixture->n_made < n_made)
			(void)poll(&polled, 1, 5);
	}
}

static void make(struct fixture *fixture, const struct executable *executable)
{
	assert_ok(table_maker_make(fixture->maker, executable));
	run_until(fixture, fixture->n_made + 1);
}

static void assert_is_made(struct fixture *fixture, const struct executable *executable)
{
	struct table_file file;

	assert_int_equal(fixture->made.result, 1);
	assert_int_equal(fixture->made.number, executable->number);
	assert_ok(table_file_open(fixture->made.fd, &fixture->made.key, &file));
	assert_true(file.n_pages > 0);
	assert_ok(close(fixture->made.fd));
	assert_int_equal(table_maker_retry_at_ns(fixture->maker, &executable->content), 0);
}

/* Stops the nursery, so that it forks no compiler, until the time of the compiler is over. */
static void a_table_is_made_again_some_seconds_after_its_compiler_hung(void **state)
{
	struct fixture *fixture = *state;
	const struct executable *executable = identify(fixture, "/proc/self/exe");
	uint64_t retry_at_ns;

	make(fixture, executable);
	assert_is_made(fixture, executable);

	assert_int_equal(signal_helpers("hearth-nursery", SIGSTOP), 1);
	assert_ok(table_maker_make(fixture->maker, executable));
	while (fixture->made.result != -EINPROGRESS) {
		fixture->ahead_ns += NSEC_PER_SEC / 10;
		helper_pool_run(fixture->pool, clock_monotonic_ns(&fixture->clock));
		(void)poll(NULL, 0, 1);
	}
	helper_pool_run(fixture->pool, clock_monotonic_ns(&fixture->clock));
	fixture->ahead_ns += 60 * NSEC_PER_SEC;
	run_until(fixture, 3);
	assert_int_equal(signal_helpers("hearth-nursery", SIGCONT), 1);
	assert_errno(fixture->made.result, -ETIMEDOUT);
	retry_at_ns = table_maker_retry_at_ns(fixture->maker, &executable->content);
	assert_int_equal(fixture->made.retry_at_ns, retry_at_ns);
	assert_true(retry_at_ns > clock_monotonic_ns(&fixture->clock));
	assert_true(retry_at_ns <= clock_monotonic_ns(&fixture->clock) + 4 * NSEC_PER_SEC);

	make(fixture, executable);
	assert_is_made(fixture, executable);
}

static void a_file_that_crashes_compilers_is_retried_less_often_and_then_never(void **state)
{
	struct fixture *fixture = *state;
	const struct executable *executable = identify(fixture, "/proc/self/exe");
	uint64_t wait_ns = 4 * NSEC_PER_SEC;
	unsigned int n_attempts = 1;

	make(fixture, executable);
	assert_is_made(fixture, executable);
	make_new_parsers_fail();
	for (;;) {
		uint64_t before_ns = clock_monotonic_ns(&fixture->clock), now_ns;

		make(fixture, executable);
		now_ns = clock_monotonic_ns(&fixture->clock);
		assert_errno(fixture->made.result, -ECONNRESET);
		if (fixture->made.retry_at_ns == UINT64_MAX)
			break;
		assert_true(fixture->made.retry_at_ns >= before_ns + wait_ns);
		assert_true(fixture->made.retry_at_ns <= now_ns + wait_ns);
		wait_ns = MIN(2 * wait_ns, 3600 * NSEC_PER_SEC);
		fixture->ahead_ns += fixture->made.retry_at_ns - before_ns;
		n_attempts++;
	}
	assert_int_equal(n_attempts, 12);
	assert_true(table_maker_retry_at_ns(fixture->maker, &executable->content) == UINT64_MAX);
	assert_int_equal(fixture->maker->stats.n_crashed, 12);
}

/* A relocatable object has no addresses, and therefore no table. */
static void a_file_without_a_table_is_not_retried(void **state)
{
	struct fixture *fixture = *state;
	scoped(bytes_release) struct bytes content = BYTES_INIT(64 * MIB);
	const Elf64_Half type = ET_REL;
	const struct executable *executable;
	scoped_free char *path = NULL;

	assert_ok(file_read("/proc/self/exe", &content));
	memcpy(content.data + offsetof(Elf64_Ehdr, e_type), &type, sizeof(type));
	path = write_file_in(fixture->folder, "object", content.data, content.size);
	executable = identify(fixture, path);
	make(fixture, executable);
	assert_int_equal(fixture->made.result, 0);
	assert_true(fixture->made.retry_at_ns == UINT64_MAX);
	assert_int_equal(table_maker_retry_at_ns(fixture->maker, &executable->content), 0);
}

#define in_fixture(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_fixture(a_table_is_made_again_some_seconds_after_its_compiler_hung),
		in_fixture(a_file_that_crashes_compilers_is_retried_less_often_and_then_never),
		in_fixture(a_file_without_a_table_is_not_retried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
