/* SPDX-License-Identifier: Apache-2.0 */
/* Uses real helpers, of a nursery that is forked before the first test. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/helper_pool.h"
#include "agent/helper/protocol.h"
#include "common/clock.h"
#include "tests/support/nursery_group.h"
#include "tests/unit/agent/helper/signal_helpers.h"

struct outcome {
	int n_done;
	int error;
	struct parser_identity identity;
	size_t size;
};

static struct helper_pool *new_pool(unsigned int n_parsers)
{
	const struct helper_pool_options options = {
		.nursery = nursery, .width = { [HELPER_FINDER] = 1, [HELPER_PARSER] = n_parsers }
	};
	struct helper_pool *pool = NULL;

	assert_ok(helper_pool_new(&options, &pool));
	return pool;
}

static void on_done(void *arg, int error, struct helper_message *answer)
{
	struct outcome *outcome = arg;

	outcome->n_done++;
	outcome->error = error;
	if (!answer)
		return;
	outcome->size = answer->size;
	if (answer->size == sizeof(outcome->identity))
		memcpy(&outcome->identity, answer->bytes, sizeof(outcome->identity));
}

static void submit(struct helper_pool *pool, int fd, uint64_t timeout_ns, struct outcome *outcome)
{
	const struct helper_job job = {
		.kind = HELPER_PARSER, .timeout_ns = timeout_ns, .done = on_done, .arg = outcome
	};
	const struct parser_request request = { .operation = PARSER_IDENTIFY };
	scoped_free struct helper_message *message = calloc(1, sizeof(*message));

	assert_non_null(message);
	assert_true(fd >= 0);
	memcpy(message->bytes, &request, sizeof(request));
	message->size = sizeof(request);
	message->fds[0] = fd;
	message->n_fds = 1;
	assert_ok(helper_pool_submit(pool, &job, message));
}

/* Runs the pool until @n jobs of @outcome are done. */
static void run(struct helper_pool *pool, const struct outcome *outcome, int n)
{
	struct pollfd polled = { .fd = helper_pool_fd(pool), .events = POLLIN };

	while (outcome->n_done < n) {
		helper_pool_run(pool, clock_monotonic_ns(&system_clock));
		if (outcome->n_done < n)
			(void)poll(&polled, 1, 5);
	}
}

static int own_program(void)
{
	return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

static void a_parser_identifies_a_file(void **state)
{
	scoped(helper_pool_freep) struct helper_pool *pool = new_pool(1);
	scoped(file_identity_release) struct file_identity expected = {};
	scoped_fd int fd = own_program();
	struct outcome outcome = {};

	(void)state;
	submit(pool, own_program(), 60 * NSEC_PER_SEC, &outcome);
	run(pool, &outcome, 1);
	assert_int_equal(outcome.error, 0);
	assert_int_equal(file_identity_read(fd, &expected), 1);
	assert_true(executable_id_equal(&outcome.identity.id, &expected.id));
	assert_true(hash128_equal(&outcome.identity.content, &expected.content));
	assert_int_equal(outcome.identity.n_segments, expected.n_segments);
}

static void many_jobs_are_done_one_after_the_other(void **state)
{
	scoped(helper_pool_freep) struct helper_pool *pool = new_pool(2);
	struct outcome outcome = {};

	(void)state;
	for (int i = 0; i < 200; i++)
		submit(pool, own_program(), 60 * NSEC_PER_SEC, &outcome);
	run(pool, &outcome, 200);
	assert_int_equal(outcome.error, 0);
}

/* Nobody writes to this pipe, so a read would never return. */
static void a_pipe_is_not_identified_as_a_file(void **state)
{
	scoped(helper_pool_freep) struct helper_pool *pool = new_pool(1);
	struct outcome outcome = {};
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	submit(pool, ends[0], 60 * NSEC_PER_SEC, &outcome);
	run(pool, &outcome, 1);
	assert_int_equal(outcome.error, 0);
	assert_int_equal(outcome.identity.header.result, 0);
	(void)close(ends[1]);
}

static void a_parser_that_does_not_answer_in_time_is_replaced(void **state)
{
	scoped(helper_pool_freep) struct helper_pool *pool = new_pool(1);
	struct helper_pool_stats stats;
	struct outcome first = {}, late = {}, next = {};

	(void)state;
	submit(pool, own_program(), 60 * NSEC_PER_SEC, &first);
	run(pool, &first, 1);
	assert_true(signal_helpers("hearth-parser", SIGSTOP) > 0);
	submit(pool, own_program(), 10 * NSEC_PER_MSEC, &late);
	submit(pool, own_program(), 60 * NSEC_PER_SEC, &next);
	run(pool, &late, 1);
	assert_int_equal(late.error, -ETIMEDOUT);
	run(pool, &next, 1);
	assert_int_equal(next.error, 0);
	helper_pool_stats(pool, HELPER_PARSER, &stats);
	assert_int_equal(stats.timeouts, 1);
	assert_int_equal(stats.jobs, 3);
}

static void after_a_malformed_request_the_parser_is_replaced(void **state)
{
	scoped(helper_pool_freep) struct helper_pool *pool = new_pool(1);
	scoped_free struct helper_message *message = calloc(1, sizeof(*message));
	struct outcome broken = {}, next = {};
	const struct helper_job job = { .kind = HELPER_PARSER,
					.timeout_ns = 60 * NSEC_PER_SEC,
					.done = on_done,
					.arg = &broken };
	struct helper_pool_stats stats;

	(void)state;
	assert_non_null(message);
	message->size = 1;
	assert_ok(helper_pool_submit(pool, &job, message));
	submit(pool, own_program(), 60 * NSEC_PER_SEC, &next);
	run(pool, &next, 1);
	assert_int_equal(broken.n_done, 1);
	assert_int_equal(broken.error, -ECONNRESET);
	assert_int_equal(next.error, 0);
	helper_pool_stats(pool, HELPER_PARSER, &stats);
	assert_int_equal(stats.deaths, 1);
}

static void freeing_the_pool_drops_unfinished_jobs(void **state)
{
	struct helper_pool *pool = new_pool(1);
	struct outcome outcome = {};

	(void)state;
	for (int i = 0; i < 10; i++)
		submit(pool, own_program(), 60 * NSEC_PER_SEC, &outcome);
	helper_pool_run(pool, clock_monotonic_ns(&system_clock));
	(void)helper_pool_free(pool);
	assert_true(outcome.n_done == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_parser_identifies_a_file),
		cmocka_unit_test(many_jobs_are_done_one_after_the_other),
		cmocka_unit_test(a_pipe_is_not_identified_as_a_file),
		cmocka_unit_test(a_parser_that_does_not_answer_in_time_is_replaced),
		cmocka_unit_test(after_a_malformed_request_the_parser_is_replaced),
		cmocka_unit_test(freeing_the_pool_drops_unfinished_jobs),
	};

	return cmocka_run_group_tests(tests, start_nursery, end_nursery);
}
