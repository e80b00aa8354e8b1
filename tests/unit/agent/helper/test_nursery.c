/* SPDX-License-Identifier: Apache-2.0 */
/* Uses real helpers, of a nursery that is forked before the first test. */
#include "agent/helper/nursery.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "agent/helper/process_facts.h"
#include "agent/helper/protocol.h"
#include "tests/support/nursery_group.h"
#include "tests/unit/agent/helper/signal_helpers.h"

/* Returns a report that was ordered after this call began. */
static struct nursery_usage fresh_usage(void)
{
	struct nursery_usage usage;

	nursery_usage(nursery, &usage);
	(void)usleep(1000);
	nursery_usage(nursery, &usage);
	return usage;
}

static struct nursery_usage usage_with(uint64_t n_helpers)
{
	struct nursery_usage usage;

	do
		usage = fresh_usage();
	while (usage.n_helpers != n_helpers);
	return usage;
}

/*
 * Lets the parser at @socket hash the code of this program. Returns the CPU time that the parser
 * has used so far.
 */
static uint64_t hash_text(int socket)
{
	const struct parser_request request = { .operation = PARSER_TEXT };
	scoped_free struct helper_message *message = calloc(1, sizeof(*message));
	struct parser_answer answer;

	assert_non_null(message);
	memcpy(message->bytes, &request, sizeof(request));
	message->size = sizeof(request);
	message->fds[0] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	message->n_fds = 1;
	assert_ok(helper_send(socket, message, 0));
	helper_message_close(message);
	assert_int_equal(helper_receive(socket, message, 0), 1);
	assert_true(message->size >= sizeof(answer));
	memcpy(&answer, message->bytes, sizeof(answer));
	return answer.cpu_ns;
}

static void cpu_time_of_helpers_is_counted_before_and_after_their_end(void **state)
{
	const uint64_t before_ns = usage_with(0).cpu_ns;
	struct nursery_usage usage;
	uint64_t used_ns = 0;
	uint32_t id;
	int socket;

	(void)state;
	assert_ok(nursery_fork(nursery, HELPER_PARSER, &id, &socket));
	while (used_ns < 200 * NSEC_PER_MSEC)
		used_ns = hash_text(socket);
	usage = usage_with(1);
	assert_true(usage.cpu_ns >= before_ns + used_ns);
	assert_true(usage.memory_bytes > 0);
	nursery_kill(nursery, id);
	usage = usage_with(0);
	/* The kernel reports user and system time of an ended process in microseconds each. */
	assert_true(usage.cpu_ns + 2 * NSEC_PER_USEC >= before_ns + used_ns);
	(void)close(socket);
}

static void the_memory_of_helpers_is_counted(void **state)
{
	const uint64_t alone_bytes = usage_with(0).memory_bytes;
	uint32_t id;
	int socket;

	(void)state;
	assert_ok(nursery_fork(nursery, HELPER_PARSER, &id, &socket));
	(void)hash_text(socket);
	assert_true(usage_with(1).memory_bytes > alone_bytes);
	(void)close(socket);
	(void)usage_with(0);
}

static void compilers_are_counted_separately(void **state)
{
	const struct nursery_usage before = usage_with(0);
	struct nursery_usage usage;
	uint64_t used_ns = 0;
	uint32_t id;
	int socket;

	(void)state;
	assert_ok(nursery_fork(nursery, HELPER_COMPILER, &id, &socket));
	while (used_ns < 200 * NSEC_PER_MSEC)
		used_ns = hash_text(socket);
	usage = usage_with(1);
	assert_true(usage.compilers_cpu_ns >= before.compilers_cpu_ns + used_ns);
	assert_true(usage.compilers_memory_bytes > 0);
	assert_true(usage.cpu_ns < before.cpu_ns + used_ns);
	nursery_kill(nursery, id);
	usage = usage_with(0);
	assert_true(usage.compilers_cpu_ns + 2 * NSEC_PER_USEC >=
		    before.compilers_cpu_ns + used_ns);
	assert_int_equal(usage.compilers_memory_bytes, 0);
	(void)close(socket);
}

static bool is_closed(int socket)
{
	struct pollfd polled = { .fd = socket, .events = POLLIN };

	return poll(&polled, 1, 0) > 0;
}

/* The nursery is stopped and its socket is full, but an order to kill must not be lost. */
static void a_kill_order_that_cannot_be_sent_is_sent_later(void **state)
{
	enum { MAX_ORDERS = 10000 };
	uint32_t id, ignored;
	int socket, last, r = 0;

	(void)state;
	assert_ok(nursery_fork(nursery, HELPER_PARSER, &id, &socket));
	(void)hash_text(socket);
	assert_int_equal(signal_helpers("hearth-nursery", SIGSTOP), 1);
	for (int i = 0; i < MAX_ORDERS && r == 0; i++) {
		r = nursery_fork(nursery, HELPER_FINDER, &ignored, &last);
		if (r == 0)
			(void)close(last);
	}
	assert_errno(r, -EAGAIN);
	nursery_kill(nursery, id);
	assert_int_equal(nursery_flush(nursery), 1);
	assert_int_equal(signal_helpers("hearth-nursery", SIGCONT), 1);
	while (nursery_flush(nursery) > 0)
		(void)usleep(1000);
	while (!is_closed(socket))
		(void)usleep(1000);
	(void)close(socket);
	(void)usage_with(0);
}

static void a_process_is_identified_by_its_start_time(void **state)
{
	const pid_t pid = fork_waiting(0);
	const struct process_key key = process_key_of(pid);
	struct process_key next;

	(void)state;
	assert_true(key.start_ticks > 0);
	assert_int_equal(key.pid, pid);
	next = process_key_of(pid);
	assert_memory_equal(&key, &next, sizeof(key));
	assert_true(process_anon_bytes(pid) > 0);
	end_child(pid);
	assert_int_equal(process_key_of(pid).start_ticks, 0);
	assert_int_equal(process_cpu_ns(pid), 0);
	assert_int_equal(process_anon_bytes(pid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_time_of_helpers_is_counted_before_and_after_their_end),
		cmocka_unit_test(compilers_are_counted_separately),
		cmocka_unit_test(the_memory_of_helpers_is_counted),
		cmocka_unit_test(a_kill_order_that_cannot_be_sent_is_sent_later),
		cmocka_unit_test(a_process_is_identified_by_its_start_time),
	};

	return cmocka_run_group_tests(tests, start_nursery, end_nursery);
}
