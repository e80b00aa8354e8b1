/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/file_watch.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "common/clock.h"
#include "tests/support/unit.h"

/* Numbers of the executables that a file is identified as. */
#define FIRST  11
#define SECOND 12

struct fixture {
	char *folder;
	char path[128];
	struct file_watch *watch;
	struct reported_file reported;
	struct file_facts facts;
	int fd;
};

static void look_at(struct fixture *fixture)
{
	struct stat status;

	scoped_close(&fixture->fd);
	fixture->fd = open(fixture->path, O_RDONLY | O_CLOEXEC);
	assert_ok(fixture->fd);
	assert_ok(fstat(fixture->fd, &status));
	fixture->facts = (struct file_facts){ .key = file_key_of(&status),
					      .generation = 5,
					      .is_certain = true,
					      .is_watchable = true };
	fixture->reported =
		(struct reported_file){ .device = status.st_dev,
					.inode = status.st_ino,
					.generation = 5,
					.mapped_ns = clock_monotonic_ns(&system_clock) };
}

static void write_file(const struct fixture *fixture, const char *text)
{
	scoped_fd int fd = open(fixture->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_ok(fd);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* A file that changed a moment ago is not watched yet. */
static uint64_t watch_when_old_enough(struct fixture *fixture)
{
	const struct timespec pause = { .tv_nsec = 10 * NSEC_PER_MSEC };
	uint64_t ticket;

	while ((ticket = file_watch_add(fixture->watch, &fixture->reported, fixture->fd,
					&fixture->facts)) == 0)
		(void)nanosleep(&pause, NULL);
	return ticket;
}

/* The executable of a mapping made now; 0: the file has to be identified again. */
static uint32_t map_now(struct fixture *fixture)
{
	struct watched_file found;

	fixture->reported.mapped_ns = clock_monotonic_ns(&system_clock);
	return file_watch_find(fixture->watch, &fixture->reported, &found) ? found.executable : 0;
}

static void identify(struct fixture *fixture, uint32_t executable)
{
	uint64_t ticket;

	look_at(fixture);
	ticket = watch_when_old_enough(fixture);
	file_watch_learned(fixture->watch, &fixture->reported, ticket, executable);
	assert_int_equal(map_now(fixture), executable);
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	void *folder = NULL;

	assert_non_null(fixture);
	assert_int_equal(temp_folder_setup(&folder), 0);
	fixture->folder = folder;
	fixture->fd = -1;
	(void)snprintf(fixture->path, sizeof(fixture->path), "%s/file", fixture->folder);
	assert_ok(file_watch_new(3, &fixture->watch));
	write_file(fixture, "one");
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	void *folder = fixture->folder;

	scoped_close(&fixture->fd);
	file_watch_free(fixture->watch);
	free(fixture);
	return temp_folder_teardown(&folder);
}

static void a_file_is_known_as_long_as_it_does_not_change(void **state)
{
	struct fixture *fixture = *state;

	look_at(fixture);
	assert_true(file_watch_lacks(fixture->watch, &fixture->reported));
	identify(fixture, FIRST);
	assert_false(file_watch_lacks(fixture->watch, &fixture->reported));
	assert_int_equal(map_now(fixture), FIRST);
	write_file(fixture, "two");
	assert_int_equal(map_now(fixture), 0);
	assert_true(file_watch_lacks(fixture->watch, &fixture->reported));
	identify(fixture, SECOND);
}

static void a_change_through_a_shared_mapping_is_noticed_when_the_file_is_closed(void **state)
{
	struct fixture *fixture = *state;
	char *memory;
	int fd;

	identify(fixture, FIRST);
	fd = open(fixture->path, O_RDWR | O_CLOEXEC);
	assert_ok(fd);
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	memory[0] = 'x';
	(void)munmap(memory, 4096);
	(void)close(fd);
	assert_int_equal(map_now(fixture), 0);
}

static void a_removed_or_touched_file_is_identified_again(void **state)
{
	const struct timespec times[2] = {};
	struct fixture *fixture = *state;

	identify(fixture, FIRST);
	assert_ok(utimensat(AT_FDCWD, fixture->path, times, 0));
	assert_int_equal(map_now(fixture), 0);
	identify(fixture, FIRST);
	assert_ok(unlink(fixture->path));
	assert_int_equal(map_now(fixture), 0);
	assert_int_equal(file_watch_count(fixture->watch), 0);
}

/* The file was read before the change, and its reader was slow. */
static void an_identification_from_before_a_change_is_discarded(void **state)
{
	struct fixture *fixture = *state;
	uint64_t before, after;

	look_at(fixture);
	before = watch_when_old_enough(fixture);
	write_file(fixture, "two");
	look_at(fixture);
	after = watch_when_old_enough(fixture);
	assert_int_not_equal(before, after);
	file_watch_learned(fixture->watch, &fixture->reported, before, FIRST);
	assert_int_equal(map_now(fixture), 0);
	file_watch_learned(fixture->watch, &fixture->reported, after, SECOND);
	assert_int_equal(map_now(fixture), SECOND);
}

static void a_file_that_changed_after_the_look_is_not_watched(void **state)
{
	const struct timespec times[2] = { { .tv_sec = 7 }, { .tv_sec = 7 } };
	struct fixture *fixture = *state;

	look_at(fixture);
	assert_ok(utimensat(AT_FDCWD, fixture->path, times, 0));
	for (int i = 0; i < 20; i++) {
		assert_int_equal(file_watch_add(fixture->watch, &fixture->reported, fixture->fd,
						&fixture->facts),
				 0);
		(void)nanosleep(&(struct timespec){ .tv_nsec = 5 * NSEC_PER_MSEC }, NULL);
	}
	assert_int_equal(file_watch_count(fixture->watch), 0);
}

static void files_of_other_file_systems_and_without_a_report_are_not_watched(void **state)
{
	struct fixture *fixture = *state;
	struct reported_file reported;

	look_at(fixture);
	/* An inode with the same number on another device. */
	reported = fixture->reported;
	reported.device += 1;
	reported.generation = 6;
	assert_int_equal(file_watch_add(fixture->watch, &reported, fixture->fd, &fixture->facts),
			 0);
	/* Read from /proc, not reported. */
	reported = fixture->reported;
	reported.mapped_ns = 0;
	assert_int_equal(file_watch_add(fixture->watch, &reported, fixture->fd, &fixture->facts),
			 0);
	assert_false(file_watch_lacks(fixture->watch, &reported));
	/* As on a network file system: it is not tried again. */
	fixture->facts.is_watchable = false;
	assert_int_equal(
		file_watch_add(fixture->watch, &fixture->reported, fixture->fd, &fixture->facts),
		0);
	assert_false(file_watch_lacks(fixture->watch, &fixture->reported));
	assert_int_equal(map_now(fixture), 0);
}

static void the_file_mapped_longest_ago_is_evicted(void **state)
{
	struct fixture *fixture = *state;
	struct reported_file reported[4];

	for (uint32_t i = 0; i < ARRAY_SIZE(reported); i++) {
		(void)snprintf(fixture->path, sizeof(fixture->path), "%s/file%u", fixture->folder,
			       i);
		write_file(fixture, "text");
		identify(fixture, FIRST + i);
		reported[i] = fixture->reported;
		if (i == 2) {
			fixture->reported = reported[0];
			assert_int_equal(map_now(fixture), FIRST);
		}
	}
	assert_int_equal(file_watch_count(fixture->watch), 3);
	for (uint32_t i = 0; i < ARRAY_SIZE(reported); i++) {
		fixture->reported = reported[i];
		assert_int_equal(map_now(fixture), i == 1 ? 0 : FIRST + i);
	}
}

#define in_fixture(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_fixture(a_file_is_known_as_long_as_it_does_not_change),
		in_fixture(a_change_through_a_shared_mapping_is_noticed_when_the_file_is_closed),
		in_fixture(a_removed_or_touched_file_is_identified_again),
		in_fixture(an_identification_from_before_a_change_is_discarded),
		in_fixture(a_file_that_changed_after_the_look_is_not_watched),
		in_fixture(files_of_other_file_systems_and_without_a_report_are_not_watched),
		in_fixture(the_file_mapped_longest_ago_is_evicted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
