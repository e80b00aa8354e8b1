/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/event/off_cpu/walk_thread.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/support/unit.h"

/* Longer than any test may take, for bytes that are certain to arrive. */
#define LONG_NS (100 * NSEC_PER_SEC)

struct fixture {
	struct walk_thread *thread;
	int write_fd; /* the other end of the walk's file */
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	assert_int_equal(walk_thread_new(true, &fixture->thread), 0);
	fixture->write_fd = -1;
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	scoped_close(&fixture->write_fd);
	walk_thread_free(fixture->thread);
	free(fixture);
	return 0;
}

static int begin(struct fixture *fixture)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	scoped_close(&fixture->write_fd);
	fixture->write_fd = fds[1];
	walk_thread_begin_take(fixture->thread, fds[0]);
	return fds[0];
}

static void expect_bytes(struct fixture *fixture, const char *expected)
{
	const uint8_t *bytes;

	assert_int_equal(walk_thread_next(fixture->thread, LONG_NS, &bytes), strlen(expected));
	assert_memory_equal(bytes, expected, strlen(expected));
}

static void expect_end(struct fixture *fixture)
{
	const uint8_t *bytes;

	scoped_close(&fixture->write_fd);
	fixture->write_fd = -1;
	assert_int_equal(walk_thread_next(fixture->thread, LONG_NS, &bytes), 0);
}

static void write_text(const struct fixture *fixture, const char *text)
{
	assert_int_equal(write(fixture->write_fd, text, strlen(text)), strlen(text));
}

static void one_walk_follows_another(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < 3; i++) {
		int fd = begin(fixture);

		assert_true(walk_thread_is_busy(fixture->thread));
		write_text(fixture, "first");
		expect_bytes(fixture, "first");
		write_text(fixture, "second");
		expect_bytes(fixture, "second");
		expect_end(fixture);
		assert_false(walk_thread_is_busy(fixture->thread));
		assert_int_equal(fcntl(fd, F_GETFD), -1);
	}
	assert_true(walk_thread_cpu_ns(fixture->thread) > 0);
}

static void a_walk_that_hangs_is_continued_later(void **state)
{
	struct fixture *fixture = *state;
	const uint8_t *bytes;

	begin(fixture);
	assert_int_equal(walk_thread_next(fixture->thread, NSEC_PER_MSEC, &bytes), -EINPROGRESS);
	assert_int_equal(walk_thread_next(fixture->thread, 0, &bytes), -EINPROGRESS);
	assert_true(walk_thread_is_busy(fixture->thread));
	write_text(fixture, "late");
	expect_bytes(fixture, "late");
	expect_end(fixture);
}

static void an_error_ends_the_walk(void **state)
{
	struct fixture *fixture = *state;
	const uint8_t *bytes;
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	walk_thread_begin_take(fixture->thread, fd);
	assert_int_equal(walk_thread_next(fixture->thread, LONG_NS, &bytes), -EISDIR);
	assert_false(walk_thread_is_busy(fixture->thread));
	begin(fixture);
	write_text(fixture, "next");
	expect_bytes(fixture, "next");
	expect_end(fixture);
}

static void more_bytes_than_the_buffer_arrive_in_parts(void **state)
{
	struct fixture *fixture = *state;
	static uint8_t sent[60000], received[sizeof(sent)];
	size_t n_received = 0;
	const uint8_t *bytes;
	ssize_t n;

	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (uint8_t)(i * 31 >> 3);
	begin(fixture);
	assert_int_equal(write(fixture->write_fd, sent, sizeof(sent)), sizeof(sent));
	scoped_close(&fixture->write_fd);
	fixture->write_fd = -1;
	while ((n = walk_thread_next(fixture->thread, LONG_NS, &bytes)) > 0) {
		assert_true(n_received + (size_t)n <= sizeof(received));
		memcpy(received + n_received, bytes, (size_t)n);
		n_received += (size_t)n;
	}
	assert_int_equal(n, 0);
	assert_int_equal(n_received, sizeof(sent));
	assert_memory_equal(received, sent, sizeof(sent));
}

/* LeakSanitizer does not find the pointer of a thread that has not run yet. */
static struct walk_thread *hanging;

static void a_hanging_thread_does_not_stop_the_agent_from_exiting(void **state)
{
	const uint8_t *bytes;
	int fds[2];

	(void)state;
	assert_int_equal(walk_thread_new(true, &hanging), 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	walk_thread_begin_take(hanging, fds[0]);
	assert_int_equal(walk_thread_next(hanging, NSEC_PER_MSEC, &bytes), -EINPROGRESS);
	(void)walk_thread_free(hanging);
	/* fds[1] stays open: the thread hangs until the process ends. */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_walk_follows_another, setup, teardown),
		cmocka_unit_test_setup_teardown(a_walk_that_hangs_is_continued_later, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_error_ends_the_walk, setup, teardown),
		cmocka_unit_test_setup_teardown(more_bytes_than_the_buffer_arrive_in_parts, setup,
						teardown),
		cmocka_unit_test(a_hanging_thread_does_not_stop_the_agent_from_exiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
