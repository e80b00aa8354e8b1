/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tests the answer to an agent for each outcome of a batch. The fake store returns a fixed outcome.
 */

#include <fcntl.h>

#include "common/file.h"
#include "common/zstd_frame.h"
#include "proto/batch.pb-c.h"
#include "tests/unit/symbolizer/api/api_fixture.h"

struct writing_store {
	struct store store;
	int outcome;        /* returned by every write */
	uint64_t waited_ns; /* of the request in its lane */
	char tenant[HTTP_CALLER_TEXT_SIZE];
};

static int write_batch(struct store *store, const char *tenant, const struct batch *batch,
		       struct arena *arena, struct store_missing *ret_missing)
{
	struct writing_store *writing = container_of(store, struct writing_store, store);

	(void)batch;
	(void)snprintf(writing->tenant, sizeof(writing->tenant), "%s", tenant);
	if (writing->outcome == STORE_NEEDS_NUMBERS) {
		ret_missing->stacks = arena_alloc_array(arena, 1, sizeof(uint32_t));
		assert_non_null(ret_missing->stacks);
		ret_missing->stacks[0] = 42;
		ret_missing->n_stacks = 1;
	}
	return writing->outcome;
}

static int no_executables(struct store *store, const char *tenant, const struct hash128 *agent,
			  uint64_t epoch, size_t max, struct arena *arena,
			  struct store_executable **ret_executables, size_t *ret_count)
{
	(void)store;
	(void)tenant;
	(void)agent;
	(void)epoch;
	(void)max;
	(void)arena;
	*ret_executables = NULL;
	*ret_count = 0;
	return 0;
}

static const struct store_operations writing_operations = {
	.write = write_batch,
	.agent_executables = no_executables,
};

/* Makes the smallest valid batch: a sender and a time, without samples. */
static void make_batch(struct bytes *body)
{
	Hearth__V1__Batch batch = HEARTH__V1__BATCH__INIT;
	Hearth__V1__Host host = HEARTH__V1__HOST__INIT;
	uint8_t agent_id[16] = { 1 }, packed[512];
	char empty[] = "", name[] = "web-1";
	char *strings[] = { empty };
	size_t size;

	host.name = name;
	batch.format = 1;
	batch.agent_id = (ProtobufCBinaryData){ .data = agent_id, .len = sizeof(agent_id) };
	batch.epoch = FIXTURE_SECOND * NSEC_PER_SEC;
	batch.sequence = 7;
	batch.opened_monotonic_ns = 10 * NSEC_PER_SEC;
	batch.closed_monotonic_ns = 15 * NSEC_PER_SEC;
	batch.closed_wall_ns = FIXTURE_SECOND * NSEC_PER_SEC;
	batch.host = &host;
	batch.strings = strings;
	batch.n_strings = ARRAY_SIZE(strings);

	size = hearth__v1__batch__get_packed_size(&batch);
	assert_true(size <= sizeof(packed));
	(void)hearth__v1__batch__pack(&batch, packed);
	assert_ok(zstd_compress((struct bytes_view){ packed, size }, 1, body));
}

static void send_batch_with_clock(struct api_fixture *fixture, struct writing_store *store,
				  struct bytes_view body, const char *clock,
				  struct http_response *response)
{
	scoped(ingest_freep) struct ingest *ingest = NULL;
	const struct http_field header = { "X-Hearth-Clock", clock };
	const struct http_request request = {
		.path = "/v1/ingest",
		.argument = "",
		.headers = &header,
		.n_headers = clock ? 1 : 0,
		.body = body,
		.caller = &fixture->caller,
		.waited_ns = store->waited_ns,
	};

	store->store.operations = &writing_operations;
	assert_ok(ingest_new(&store->store, fixture->context.debuginfo, &fixture_clock, &ingest));
	fixture->context.ingest = ingest;
	http_response_init(response);
	api_ingest(&fixture->context, &request, response);
	fixture->context.ingest = NULL;
}

static void send_batch(struct api_fixture *fixture, struct writing_store *store,
		       struct bytes_view body, struct http_response *response)
{
	send_batch_with_clock(fixture, store, body, NULL, response);
}

static void a_batch_that_is_known_is_acknowledged(void **state)
{
	static const struct {
		enum store_outcome outcome;
		uint64_t acknowledged;
		size_t n_unknown_stacks;
		enum api_metric metric;
	} cases[] = {
		{ STORE_STORED, 7, 0, API_METRIC_INGEST_STORED },
		{ STORE_DUPLICATE, 7, 0, API_METRIC_INGEST_DUPLICATE },
		{ STORE_NEEDS_NUMBERS, 0, 1, API_METRIC_INGEST_INCOMPLETE },
	};
	struct api_fixture *fixture = *state;
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);

	make_batch(&body);
	memcpy(fixture->caller.tenant, "team-x", sizeof("team-x"));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response;
		struct writing_store store = { .outcome = (int)cases[i].outcome };
		Hearth__V1__BatchAnswer *answer;

		send_batch(fixture, &store, bytes_view_of(&body), &response);
		if (response.status != 200)
			fail_msg("%.*s", (int)response.body.size, (const char *)response.body.data);
		assert_string_equal(store.tenant, "team-x");
		assert_string_equal(response.content_type, "application/x-protobuf");
		answer = hearth__v1__batch_answer__unpack(NULL, response.body.size,
							  response.body.data);
		assert_non_null(answer);
		assert_int_equal(answer->acknowledged_sequence, cases[i].acknowledged);
		assert_int_equal(answer->n_unknown_stacks, cases[i].n_unknown_stacks);
		hearth__v1__batch_answer__free_unpacked(answer, NULL);
		assert_int_equal(fixture->context.metrics[cases[i].metric], 1);
	}
	assert_int_equal(fixture->context.metrics[API_METRIC_INGEST_BYTES], 3 * body.size);
}

static void after_a_failure_of_the_store_the_agent_must_retry(void **state)
{
	static const struct {
		int error;
		unsigned int status;
		enum api_metric metric;
	} cases[] = {
		{ -ENOSPC, 507, API_METRIC_INGEST_NO_SPACE },
		{ -EIO, 503, API_METRIC_INGEST_STORE_FAILED },
	};
	struct api_fixture *fixture = *state;
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);

	make_batch(&body);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response;
		struct writing_store store = { .outcome = cases[i].error };

		send_batch(fixture, &store, bytes_view_of(&body), &response);
		assert_error(&response, cases[i].status, strerror(-cases[i].error));
		assert_non_null(http_response_find_header(&response, "Retry-After"));
		assert_int_equal(fixture->context.metrics[cases[i].metric], 1);
	}
	assert_int_equal(fixture->context.metrics[API_METRIC_STORE_ERRORS], 2);
}

static void an_agent_with_too_many_new_stacks_must_retry(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
	scoped(http_response_release) struct http_response response;
	struct writing_store store = { .outcome = -EDQUOT };

	make_batch(&body);
	send_batch(fixture, &store, bytes_view_of(&body), &response);
	assert_error(&response, 429, "new stacks");
	assert_non_null(http_response_find_header(&response, "Retry-After"));
	assert_int_equal(fixture->context.metrics[API_METRIC_INGEST_TOO_MANY_STACKS], 1);
	assert_int_equal(fixture->context.metrics[API_METRIC_STORE_ERRORS], 0);
}

static void the_agent_must_retry_while_the_clocks_differ(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
	scoped(http_response_release) struct http_response response;
	struct writing_store store = { .outcome = STORE_STORED };
	char clock[128];

	make_batch(&body);
	(void)snprintf(clock, sizeof(clock), "%llu 1 1 b00t",
		       (unsigned long long)((FIXTURE_NOW - 2 * 86400) * NSEC_PER_SEC));
	send_batch_with_clock(fixture, &store, bytes_view_of(&body), clock, &response);
	assert_error(&response, 503,
		     "the clock of host 'web-1' is 172800 s behind the server's: the agent keeps "
		     "the batch; set the wrong one of the two clocks");
	assert_non_null(http_response_find_header(&response, "Retry-After"));
	assert_int_equal(fixture->context.metrics[API_METRIC_INGEST_WRONG_CLOCK], 1);
	assert_int_equal(fixture->context.metrics[API_METRIC_STORE_ERRORS], 0);
}

/* The real store logs when it begins to fail and when it has recovered. The fake store logs
 * nothing. */
static void a_failing_store_is_not_logged_for_each_batch(void **state)
{
	static const int outcomes[] = { -ENOSPC, -EIO, -ENOSPC, STORE_STORED, -ENOSPC };
	struct api_fixture *fixture = *state;
	scoped_free char *path = write_file_in(fixture->folder, "log", "", 0);
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB), log = BYTES_INIT(MIB);
	scoped_fd int saved = dup(STDERR_FILENO);
	scoped_fd int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	make_batch(&body);
	assert_true(saved >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++) {
		scoped(http_response_release) struct http_response response;
		struct writing_store store = { .outcome = outcomes[i] };

		send_batch(fixture, &store, bytes_view_of(&body), &response);
	}
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	assert_ok(file_read(path, &log));
	if (log.size > 0)
		fail_msg("%.*s", (int)log.size, (const char *)log.data);
}

static void an_invalid_batch_is_an_error_of_the_client(void **state)
{
	struct api_fixture *fixture = *state;
	static const char *const bodies[] = { "", "text", "\x28\xb5\x2f\xfd" };

	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		scoped(http_response_release) struct http_response response;
		struct writing_store store = { .outcome = STORE_STORED };

		send_batch(fixture, &store,
			   (struct bytes_view){ (const uint8_t *)bodies[i], strlen(bodies[i]) },
			   &response);
		assert_error(&response, 400, "");
		assert_null(http_response_find_header(&response, "Retry-After"));
	}
	assert_int_equal(fixture->context.metrics[API_METRIC_INGEST_BAD], ARRAY_SIZE(bodies));
}

static void a_batch_of_a_later_format_waits_for_a_newer_server(void **state)
{
	/* Field 1 (format) is 3. */
	static const uint8_t format_3[] = { 1 << 3, 3 };
	struct api_fixture *fixture = *state;
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
	scoped(http_response_release) struct http_response response;
	struct writing_store store = { .outcome = STORE_STORED };

	assert_ok(zstd_compress((struct bytes_view){ format_3, sizeof(format_3) }, 1, &body));
	send_batch(fixture, &store, bytes_view_of(&body), &response);
	assert_error(&response, 415, "format 3, this server reads 1 to 2");
	assert_int_equal(fixture->context.metrics[API_METRIC_INGEST_TOO_NEW], 1);
	assert_int_equal(fixture->context.metrics[API_METRIC_INGEST_BAD], 0);
}

static void a_batch_that_expands_too_far_is_too_large(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(bytes_release) struct bytes zeros = BYTES_INIT(BATCH_MAX_BYTES + MIB),
					   body = BYTES_INIT(MIB);
	scoped(http_response_release) struct http_response response;
	struct writing_store store = { .outcome = STORE_STORED };

	assert_ok(bytes_reserve(&zeros, BATCH_MAX_BYTES + 1));
	memset(zeros.data, 0, BATCH_MAX_BYTES + 1);
	zeros.size = BATCH_MAX_BYTES + 1;
	assert_ok(zstd_compress(bytes_view_of(&zeros), 1, &body));
	send_batch(fixture, &store, bytes_view_of(&body), &response);
	assert_error(&response, 413, "");
	assert_int_equal(fixture->context.metrics[API_METRIC_INGEST_TOO_LARGE], 1);
}

static void an_overloaded_server_requests_longer_intervals(void **state)
{
	static const struct {
		uint64_t waited_ns;
		uint32_t interval_ms;
	} cases[] = {
		{ 10 * NSEC_PER_MSEC, 0 },
		{ 3 * NSEC_PER_SEC, 30000 },
		{ 3600 * NSEC_PER_SEC, 60000 },
	};
	struct api_fixture *fixture = *state;
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);

	make_batch(&body);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response;
		struct writing_store store = { .outcome = STORE_STORED,
					       .waited_ns = cases[i].waited_ns };
		Hearth__V1__BatchAnswer *answer;

		send_batch(fixture, &store, bytes_view_of(&body), &response);
		assert_int_equal(response.status, 200);
		answer = hearth__v1__batch_answer__unpack(NULL, response.body.size,
							  response.body.data);
		assert_non_null(answer);
		assert_int_equal(answer->batch_interval_ms, cases[i].interval_ms);
		hearth__v1__batch_answer__free_unpacked(answer, NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(a_batch_of_a_later_format_waits_for_a_newer_server),
		API_TEST(a_batch_that_is_known_is_acknowledged),
		API_TEST(an_overloaded_server_requests_longer_intervals),
		API_TEST(after_a_failure_of_the_store_the_agent_must_retry),
		API_TEST(an_agent_with_too_many_new_stacks_must_retry),
		API_TEST(the_agent_must_retry_while_the_clocks_differ),
		API_TEST(a_failing_store_is_not_logged_for_each_batch),
		API_TEST(an_invalid_batch_is_an_error_of_the_client),
		API_TEST(a_batch_that_expands_too_far_is_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
