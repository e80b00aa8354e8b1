/* SPDX-License-Identifier: Apache-2.0 */
/* Uses real helpers, of a nursery that is forked before the first test. */
#include "agent/helper/process_reader.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/helper/protocol.h"
#include "common/clock.h"
#include "tests/support/nursery_group.h"
#include "tests/unit/agent/helper/signal_helpers.h"

/* Only a stopped helper takes this long. */
#define LONG_NS  (600 * NSEC_PER_SEC)
#define SHORT_NS (20 * NSEC_PER_MSEC)

static struct process_reader *new_reader(uint64_t timeout_ns)
{
	const struct process_reader_options options = { .nursery = nursery,
							.timeout_ns = timeout_ns };
	struct process_reader *reader = NULL;

	assert_ok(process_reader_new(&options, &reader));
	return reader;
}

static void scoped_bytes_release(struct bytes *bytes)
{
	bytes_release(bytes);
}

#define scoped_text scoped(scoped_bytes_release) struct bytes

static void the_command_line_is_read(void **state)
{
	scoped(process_reader_freep) struct process_reader *reader = new_reader(LONG_NS);
	scoped_text text = BYTES_INIT(64 * KIB);

	(void)state;
	assert_ok(process_reader_read(reader, (uint32_t)getpid(), "cmdline", &text));
	assert_non_null(strstr((const char *)text.data, "test_process_reader"));
	assert_int_equal(text.data[text.size - 1], '\0');
}

static size_t count_lines(const struct bytes *text, const char *permissions)
{
	size_t n = 0;

	for (const char *at = (const char *)text->data; (at = strstr(at, permissions)); at++)
		n++;
	return n;
}

static void executable_mappings_are_read_in_several_messages(void **state)
{
	enum { N_MAPPINGS = 3000 };
	scoped(process_reader_freep) struct process_reader *reader = new_reader(LONG_NS);
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	scoped_text text = BYTES_INIT(16 * MIB);
	uint8_t *memory =
		mmap(NULL, 2 * N_MAPPINGS * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(memory != MAP_FAILED);
	for (size_t i = 0; i < N_MAPPINGS; i++)
		assert_ok(mprotect(memory + 2 * i * page, page, PROT_READ | PROT_EXEC));
	assert_ok(process_reader_read(reader, (uint32_t)getpid(), "maps", &text));
	assert_int_equal(munmap(memory, 2 * N_MAPPINGS * page), 0);
	assert_true(count_lines(&text, " r-xp ") > N_MAPPINGS);
	assert_true(text.size > 2 * HELPER_MESSAGE_MAX_BYTES);
	assert_int_equal(count_lines(&text, " rw-p "), 0);
	assert_int_equal(count_lines(&text, " r--p "), 0);
}

static void an_ended_process_is_reported_as_gone(void **state)
{
	scoped(process_reader_freep) struct process_reader *reader = new_reader(LONG_NS);
	scoped_text text = BYTES_INIT(64 * KIB);
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_errno(process_reader_read(reader, (uint32_t)pid, "cmdline", &text), -ESRCH);
	assert_errno(process_reader_read(reader, (uint32_t)pid, "maps", &text), -ESRCH);
}

/* While the nursery is stopped, no helper is forked, so none answers. */
static void a_process_whose_file_cannot_be_read_in_time_is_avoided(void **state)
{
	scoped(process_reader_freep) struct process_reader *hurried = new_reader(SHORT_NS);
	scoped(process_reader_freep) struct process_reader *patient = new_reader(LONG_NS);
	struct process_reader_stats stats;
	scoped_text text = BYTES_INIT(64 * KIB);

	(void)state;
	assert_int_equal(signal_helpers("hearth-nursery", SIGSTOP), 1);
	assert_errno(process_reader_read(hurried, (uint32_t)getpid(), "cmdline", &text),
		     -ETIMEDOUT);
	assert_errno(process_reader_read(hurried, (uint32_t)getpid(), "maps", &text), -EBUSY);
	assert_errno(process_reader_read(hurried, 1, "cmdline", &text), -ETIMEDOUT);
	assert_int_equal(signal_helpers("hearth-nursery", SIGCONT), 1);
	assert_errno(process_reader_read(hurried, (uint32_t)getpid(), "cmdline", &text), -EBUSY);
	assert_ok(process_reader_read(patient, (uint32_t)getpid(), "cmdline", &text));
	process_reader_stats(hurried, &stats);
	assert_int_equal(stats.timeouts, 2);
	assert_int_equal(stats.avoided, 2);
}

static void a_new_process_with_the_pid_of_an_avoided_one_is_read(void **state)
{
	scoped(process_reader_freep) struct process_reader *reader = new_reader(SHORT_NS);
	const pid_t pid = fork_waiting(0);
	scoped_text text = BYTES_INIT(64 * KIB);
	int r = -ETIMEDOUT;

	(void)state;
	assert_int_equal(signal_helpers("hearth-nursery", SIGSTOP), 1);
	assert_errno(process_reader_read(reader, (uint32_t)pid, "cmdline", &text), -ETIMEDOUT);
	assert_int_equal(signal_helpers("hearth-nursery", SIGCONT), 1);
	assert_errno(process_reader_read(reader, (uint32_t)pid, "cmdline", &text), -EBUSY);
	if (!replace_child(pid))
		skip();
	/*
	 * On a busy host a helper may need longer than this reader waits. Then the second process
	 * is avoided too.
	 */
	r = process_reader_read(reader, (uint32_t)pid, "cmdline", &text);
	assert_true(r == 0 || r == -ETIMEDOUT);
	end_child(pid);
}

static void a_reader_that_died_is_replaced(void **state)
{
	scoped(process_reader_freep) struct process_reader *reader = new_reader(LONG_NS);
	struct process_reader_stats stats;
	scoped_text text = BYTES_INIT(64 * KIB);

	(void)state;
	assert_ok(process_reader_read(reader, (uint32_t)getpid(), "cmdline", &text));
	assert_true(signal_helpers("hearth-reader", SIGKILL) >= 1);
	assert_ok(process_reader_read(reader, (uint32_t)getpid(), "cmdline", &text));
	assert_non_null(strstr((const char *)text.data, "test_process_reader"));
	process_reader_stats(reader, &stats);
	assert_int_equal(stats.timeouts, 0);
}

static void an_unused_helper_ends(void **state)
{
	scoped(process_reader_freep) struct process_reader *reader = new_reader(LONG_NS);
	scoped_text text = BYTES_INIT(64 * KIB);

	(void)state;
	assert_ok(process_reader_read(reader, (uint32_t)getpid(), "cmdline", &text));
	process_reader_close_idle(reader, clock_monotonic_ns(&system_clock) + LONG_NS);
	while (signal_helpers("hearth-reader", 0) > 0)
		(void)usleep(1000);
	assert_ok(process_reader_read(reader, (uint32_t)getpid(), "cmdline", &text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_command_line_is_read),
		cmocka_unit_test(executable_mappings_are_read_in_several_messages),
		cmocka_unit_test(an_ended_process_is_reported_as_gone),
		cmocka_unit_test(a_process_whose_file_cannot_be_read_in_time_is_avoided),
		cmocka_unit_test(a_new_process_with_the_pid_of_an_avoided_one_is_read),
		cmocka_unit_test(a_reader_that_died_is_replaced),
		cmocka_unit_test(an_unused_helper_ends),
	};

	return cmocka_run_group_tests(tests, start_nursery, end_nursery);
}
