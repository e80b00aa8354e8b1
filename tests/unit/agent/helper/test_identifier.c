/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies mappings of this process with real finders and parsers, of a nursery that is forked
 * before the first test.
 */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/executable/executable_file.h"
#include "agent/helper/identifier.h"
#include "common/clock.h"
#include "tests/support/nursery_group.h"
#include "tests/unit/agent/helper/signal_helpers.h"

struct fixture {
	struct executable_cache *cache;
	struct helper_pool *pool;
	struct identifier *identifier;
	unsigned int n_ended;
	uint64_t ahead_ns; /* by how much the fixture's clock is ahead of the system's */
};

static void on_end(void *arg, uint32_t pid)
{
	struct fixture *fixture = arg;

	assert_int_equal(pid, getpid());
	fixture->n_ended++;
}

static int setup(void **state)
{
	const struct helper_pool_options options = {
		.nursery = nursery, .width = { [HELPER_FINDER] = 1, [HELPER_PARSER] = 1 }
	};
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	assert_ok(executable_cache_new(100, &fixture->cache));
	assert_ok(helper_pool_new(&options, &fixture->pool));
	assert_ok(identifier_new(fixture->cache, fixture->pool, &fixture->identifier));
	identifier_on_end(fixture->identifier, on_end, fixture);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	helper_pool_free(fixture->pool);
	identifier_free(fixture->identifier);
	executable_cache_free(fixture->cache);
	free(fixture);
	return 0;
}

static uint64_t now_ns(const struct fixture *fixture)
{
	return clock_monotonic_ns(&system_clock) + fixture->ahead_ns;
}

static void run(struct fixture *fixture)
{
	struct pollfd polled = { .fd = helper_pool_fd(fixture->pool), .events = POLLIN };

	while (identifier_n_pending(fixture->identifier) > 0) {
		identifier_flush(fixture->identifier, now_ns(fixture));
		helper_pool_run(fixture->pool, now_ns(fixture));
		(void)poll(&polled, 1, 5);
	}
}

static struct mapped_file map(const char *path)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	return (struct mapped_file){ .pid = (uint32_t)getpid(),
				     .start = (uintptr_t)memory,
				     .end = (uintptr_t)memory + 4096,
				     .path = path };
}

static void a_mapping_is_identified_by_its_file(void **state)
{
	struct fixture *fixture = *state;
	struct mapped_file file = map("/proc/self/exe");
	scoped(file_identity_release) struct file_identity expected = {};
	scoped_fd int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct executable *executable = NULL;
	uint32_t look_up = 0;

	assert_int_equal(identifier_find(fixture->identifier, &file, &look_up, &executable),
			 -EINPROGRESS);
	assert_int_equal(identifier_find(fixture->identifier, &file, &look_up, &executable),
			 -EINPROGRESS);
	run(fixture);
	assert_int_equal(fixture->n_ended, 1);
	assert_int_equal(identifier_find(fixture->identifier, &file, &look_up, &executable), 1);
	assert_int_equal(file_identity_read(fd, &expected), 1);
	assert_true(executable_id_equal(&executable->id, &expected.id));
	assert_int_equal(executable->n_segments, expected.n_segments);
}

static void mappings_of_one_file_are_one_executable(void **state)
{
	struct fixture *fixture = *state;
	struct mapped_file files[40];
	uint32_t look_ups[40] = {};
	struct executable *first = NULL, *executable = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		files[i] = map("/proc/self/exe");
		assert_int_equal(
			identifier_find(fixture->identifier, &files[i], &look_ups[i], &executable),
			-EINPROGRESS);
	}
	run(fixture);
	assert_int_equal(identifier_find(fixture->identifier, &files[0], &look_ups[0], &first), 1);
	for (size_t i = 1; i < ARRAY_SIZE(files); i++) {
		assert_int_equal(
			identifier_find(fixture->identifier, &files[i], &look_ups[i], &executable),
			1);
		assert_ptr_equal(executable, first);
	}
	assert_int_equal(executable_cache_count(fixture->cache), 1);
}

static void mappings_of_other_files_or_without_a_file_have_no_executable(void **state)
{
	struct fixture *fixture = *state;
	struct mapped_file text = map("/etc/passwd");
	struct mapped_file gone = {
		.pid = (uint32_t)getpid(), .start = 0x1000, .end = 0x2000, .path = "/no/such"
	};
	struct mapped_file memory = { .pid = (uint32_t)getpid(), .path = "//anon" };
	struct executable *executable = NULL;
	uint32_t look_ups[3] = {};

	assert_int_equal(identifier_find(fixture->identifier, &memory, &look_ups[0], &executable),
			 0);
	assert_int_equal(identifier_find(fixture->identifier, &text, &look_ups[1], &executable),
			 -EINPROGRESS);
	assert_int_equal(identifier_find(fixture->identifier, &gone, &look_ups[2], &executable),
			 -EINPROGRESS);
	run(fixture);
	assert_int_equal(identifier_find(fixture->identifier, &text, &look_ups[1], &executable), 0);
	assert_int_equal(identifier_find(fixture->identifier, &gone, &look_ups[2], &executable), 0);
}

static unsigned int n_looked_up(const struct fixture *fixture)
{
	struct identifier_stats stats;

	identifier_stats(fixture->identifier, &stats);
	return (unsigned int)stats.looked_up;
}

static void copy_program(const char *path, int to)
{
	scoped_fd int from = open(path, O_RDONLY | O_CLOEXEC);
	char buffer[65536];
	ssize_t size;

	assert_ok(from);
	assert_ok(ftruncate(to, 0));
	assert_int_equal(lseek(to, 0, SEEK_SET), 0);
	while ((size = read(from, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(to, buffer, (size_t)size), size);
	assert_int_equal(size, 0);
}

/* Maps the memory file @fd again, and adds the report that the kernel would send. */
static struct mapped_file map_memory_file(int fd)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	struct mapped_file file = { .pid = (uint32_t)getpid(), .path = "/memfd:program (deleted)" };
	struct stat status;

	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_ok(fstat(fd, &status));
	file.start = (uintptr_t)memory;
	file.end = file.start + 4096;
	file.reported = (struct reported_file){ .device = status.st_dev,
						.inode = status.st_ino,
						.generation = 7,
						.mapped_ns = clock_monotonic_ns(&system_clock) };
	return file;
}

/* Identifies @fd, with or without a look-up. Returns the number of the executable. */
static uint32_t identify_memory_file(struct fixture *fixture, int fd, bool *ret_was_looked_up)
{
	struct mapped_file file = map_memory_file(fd);
	unsigned int before = n_looked_up(fixture);
	struct executable *executable = NULL;
	uint32_t number = 0;

	if (identifier_find(fixture->identifier, &file, &number, &executable) == -EINPROGRESS) {
		run(fixture);
		assert_int_equal(identifier_find(fixture->identifier, &file, &number, &executable),
				 1);
	}
	*ret_was_looked_up = n_looked_up(fixture) > before;
	return executable->number;
}

static void a_file_is_looked_up_again_only_after_it_changed(void **state)
{
	scoped_fd int fd = memfd_create("program", MFD_CLOEXEC);
	struct fixture *fixture = *state;
	bool was_looked_up = true;
	uint32_t first, second;

	copy_program("/proc/self/exe", fd);
	first = identify_memory_file(fixture, fd, &was_looked_up);
	assert_true(was_looked_up);
	/* A file that changed a moment ago is not watched yet. */
	while (was_looked_up)
		assert_int_equal(identify_memory_file(fixture, fd, &was_looked_up), first);
	assert_int_equal(identify_memory_file(fixture, fd, &was_looked_up), first);
	assert_false(was_looked_up);

	copy_program(OTHER_PROGRAM, fd);
	second = identify_memory_file(fixture, fd, &was_looked_up);
	assert_true(was_looked_up);
	assert_int_not_equal(second, first);
}

/* A fork copies the number of a look-up with the mapping, so both processes use the same number. */
static void all_callers_with_the_number_get_the_result(void **state)
{
	struct fixture *fixture = *state;
	struct mapped_file file = map("/proc/self/exe");
	struct executable *executable = NULL;
	uint32_t look_up = 0, copy;

	assert_int_equal(identifier_find(fixture->identifier, &file, &look_up, &executable),
			 -EINPROGRESS);
	copy = look_up;
	run(fixture);
	assert_int_equal(identifier_find(fixture->identifier, &file, &look_up, &executable), 1);
	assert_int_equal(identifier_find(fixture->identifier, &file, &copy, &executable), 1);
}

/*
 * Returns the result of a look-up. With @hangs, no finder answers until the look-up has ended.
 */
static int look_up(struct fixture *fixture, const struct mapped_file *file, bool hangs)
{
	struct executable *executable = NULL;
	uint32_t number = 0;

	if (hangs)
		assert_true(signal_helpers("hearth-finder", SIGSTOP) > 0);
	assert_int_equal(identifier_find(fixture->identifier, file, &number, &executable),
			 -EINPROGRESS);
	identifier_flush(fixture->identifier, now_ns(fixture));
	helper_pool_run(fixture->pool, now_ns(fixture));
	/* Advances the clock beyond the finder's deadline instead of waiting. */
	if (hangs)
		fixture->ahead_ns += 4 * NSEC_PER_SEC;
	run(fixture);
	return identifier_find(fixture->identifier, file, &number, &executable);
}

static unsigned int n_avoided(const struct fixture *fixture)
{
	struct identifier_stats stats;

	identifier_stats(fixture->identifier, &stats);
	return (unsigned int)stats.avoided;
}

/*
 * A finder that was stopped or killed must not leave files unidentified for the lifetime of their
 * processes.
 */
static void files_are_found_later_if_a_finder_hung(void **state)
{
	struct fixture *fixture = *state;
	struct mapped_file known = map("/proc/self/exe"), file = map("/proc/self/exe");
	struct stat status;

	assert_ok(stat("/proc/self/exe", &status));
	file.reported.device = status.st_dev;
	file.reported.inode = status.st_ino;
	/* Starts a finder that can be stopped. */
	assert_int_equal(look_up(fixture, &known, false), 1);
	assert_int_equal(look_up(fixture, &file, true), EXECUTABLE_UNAVAILABLE);
	assert_int_equal(look_up(fixture, &known, false), 1);
	assert_int_equal(n_avoided(fixture), 0);
	assert_int_equal(look_up(fixture, &file, true), EXECUTABLE_UNAVAILABLE);

	/* After the second successive timeout the device is avoided for four seconds. */
	assert_int_equal(look_up(fixture, &file, false), EXECUTABLE_UNAVAILABLE);
	assert_int_equal(n_avoided(fixture), 1);
	fixture->ahead_ns += 4 * NSEC_PER_SEC;
	assert_int_equal(look_up(fixture, &file, false), 1);
}

static void a_path_too_long_for_a_request_is_not_looked_up(void **state)
{
	struct fixture *fixture = *state;
	char path[PATH_MAX + 1];
	struct mapped_file file = {
		.pid = (uint32_t)getpid(), .start = 0x1000, .end = 0x2000, .path = path
	};
	struct executable *executable = NULL;
	uint32_t number = 0;

	memset(path, '/', sizeof(path));
	path[1] = 'x';
	path[PATH_MAX] = '\0';
	assert_int_equal(identifier_find(fixture->identifier, &file, &number, &executable), 0);
	path[PATH_MAX - 1] = '\0';
	assert_int_equal(identifier_find(fixture->identifier, &file, &number, &executable),
			 -EINPROGRESS);
	run(fixture);
	assert_int_equal(identifier_find(fixture->identifier, &file, &number, &executable), 0);
}

#define in_fixture(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_fixture(a_mapping_is_identified_by_its_file),
		in_fixture(mappings_of_one_file_are_one_executable),
		in_fixture(mappings_of_other_files_or_without_a_file_have_no_executable),
		in_fixture(a_path_too_long_for_a_request_is_not_looked_up),
		in_fixture(a_file_is_looked_up_again_only_after_it_changed),
		in_fixture(all_callers_with_the_number_get_the_result),
		in_fixture(files_are_found_later_if_a_finder_hung),
	};

	return cmocka_run_group_tests(tests, start_nursery, end_nursery);
}
