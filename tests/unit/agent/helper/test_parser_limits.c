/* SPDX-License-Identifier: Apache-2.0 */
/* Parsers with limits that are exhausted by parsing this program. */
#include "agent/helper/parser_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/helper/protocol.h"
#include "common/sanitized.h"
#include "common/scoped.h"
#include "tests/support/unit.h"

struct parser {
	pid_t pid;
	int socket;
};

static struct parser start(const struct parser_limits *limits)
{
	const pid_t self = getpid();
	struct parser parser;
	int sockets[2];

	assert_ok(helper_socketpair(sockets));
	parser.pid = fork();
	assert_true(parser.pid >= 0);
	if (parser.pid == 0) {
		(void)close(sockets[0]);
		parser_process_run(sockets[1], self, "hearth-parser", limits);
	}
	(void)close(sockets[1]);
	parser.socket = sockets[0];
	return parser;
}

/* Lets the parser work on this program. Returns 1 with its answer in *ret_result, 0 if it ended. */
static int run_operation(const struct parser *parser, enum parser_operation operation,
			 int *ret_result)
{
	const struct parser_request request = { .operation = operation, .what = 2 };
	scoped_free struct helper_message *message = calloc(1, sizeof(*message));
	struct parser_answer answer;
	int r;

	assert_non_null(message);
	memcpy(message->bytes, &request, sizeof(request));
	message->size = sizeof(request);
	message->n_fds = 2;
	message->fds[0] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	message->fds[1] = memfd_create("output", MFD_CLOEXEC);
	assert_true(message->fds[0] >= 0 && message->fds[1] >= 0);
	r = helper_send(parser->socket, message, 0);
	helper_message_close(message);
	/* On a busy host a parser that cannot set up its sandbox may end before this request. */
	if (r == -EPIPE)
		return 0;
	assert_ok(r);
	if (helper_receive(parser->socket, message, 0) != 1)
		return 0;
	assert_true(message->size >= sizeof(answer));
	memcpy(&answer, message->bytes, sizeof(answer));
	*ret_result = answer.result;
	return 1;
}

/* Closes the parser's socket. Returns its exit status. */
static int end(const struct parser *parser)
{
	int status;

	(void)close(parser->socket);
	assert_int_equal(waitpid(parser->pid, &status, 0), parser->pid);
	return status;
}

static void within_its_limits_a_parser_answers_all_requests(void **state)
{
	const struct parser parser = start(&parser_limits);
	int result = -1;

	(void)state;
	assert_int_equal(run_operation(&parser, PARSER_TABLE, &result), 1);
	assert_int_equal(result, 1);
	assert_int_equal(run_operation(&parser, PARSER_EXTRACT, &result), 1);
	assert_int_equal(result, 0);
	assert_int_equal(end(&parser), 0);
}

static void a_parser_that_writes_too_much_is_killed(void **state)
{
	static const enum parser_operation operations[] = { PARSER_TABLE, PARSER_EXTRACT };
	struct parser_limits limits = parser_limits;

	(void)state;
	limits.written_bytes = 100;
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
		const struct parser parser = start(&limits);
		int status, result;

		assert_int_equal(run_operation(&parser, operations[i], &result), 0);
		status = end(&parser);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGXFSZ);
	}
}

/*
 * The limit is below the current size of the process, so no allocation that needs pages succeeds.
 * It depends on libc whether the sandbox can be set up nevertheless. AddressSanitizer does not work
 * with such a limit.
 */
static void a_parser_without_memory_fails(void **state)
{
	struct parser_limits limits = parser_limits;
	struct parser parser;
	int result = 0;

	(void)state;
	if (SANITIZED)
		skip();
	limits.address_space_bytes = 1 * MIB;
	parser = start(&limits);
	if (run_operation(&parser, PARSER_TABLE, &result) == 1)
		assert_errno(result, -ENOMEM);
	else
		assert_int_equal(result, 0);
	(void)end(&parser);
}

static void a_parser_that_uses_too_much_cpu_time_is_killed(void **state)
{
	struct parser_limits limits = parser_limits;
	struct parser parser;
	int status, result;

	(void)state;
	limits.cpu_s = 1;
	parser = start(&limits);
	while (run_operation(&parser, PARSER_TEXT, &result) == 1)
		;
	status = end(&parser);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGXCPU);
}

/* Each request has two descriptors, and a parser may have SANDBOX_MAX_FILES (16). */
static void descriptors_of_earlier_requests_are_closed(void **state)
{
	const struct parser parser = start(&parser_limits);
	int result;

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(run_operation(&parser, PARSER_EXTRACT, &result), 1);
	assert_int_equal(end(&parser), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(within_its_limits_a_parser_answers_all_requests),
		cmocka_unit_test(a_parser_that_writes_too_much_is_killed),
		cmocka_unit_test(a_parser_without_memory_fails),
		cmocka_unit_test(a_parser_that_uses_too_much_cpu_time_is_killed),
		cmocka_unit_test(descriptors_of_earlier_requests_are_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
