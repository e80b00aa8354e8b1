/* SPDX-License-Identifier: Apache-2.0 */
/* Delivery and the answers of the server. */
#include "common/log.h"
#include "common/clock.h"
#include "tests/unit/agent/upload/sender_fixture.h"

static void batches_arrive_in_order_and_are_acknowledged(void **state)
{
	struct server *server = new_server();
	struct sender *sender = new_sender(server, NULL, MEMORY_BYTES);
	struct sender_stats stats;

	(void)state;
	for (uint64_t i = 1; i <= 50; i++)
		submit(sender, i);
	for (uint64_t i = 1; i <= 50; i++)
		expect_event(sender, SENDER_ACKNOWLEDGED, i);
	expect_accepted(server, 50, NULL);
	assert_string_equal(server->authorization, "Bearer secret");
	assert_string_equal(server->content_type, "application/x-protobuf");
	sender_stats(sender, &stats);
	assert_int_equal(stats.batches_sent, 50);
	assert_int_equal(stats.send_errors, 0);
	assert_true(stats.server_reachable);
	(void)sender_free(sender);
	free_server(server);
}

static void a_batch_is_retried_until_the_server_accepts_it(void **state)
{
	static const unsigned int statuses[] = { 500, 503, 507, 429, 404, 302, 401, 403, 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct server *server = new_server();
		struct sender *sender;

		server->bad_answers = 3;
		server->bad_status = statuses[i];
		sender = new_sender(server, NULL, MEMORY_BYTES);
		submit(sender, 1);
		submit(sender, 2);
		expect_event(sender, SENDER_ACKNOWLEDGED, 1);
		expect_event(sender, SENDER_ACKNOWLEDGED, 2);
		expect_accepted(server, 2, NULL);
		(void)sender_free(sender);
		free_server(server);
	}
}

static void the_clocks_are_sent_with_each_batch(void **state)
{
	struct server *server = new_server();
	struct sender *sender = new_sender(server, NULL, MEMORY_BYTES);
	unsigned long long wall_ns, monotonic_ns, boottime_ns;
	char boot_id[64];

	(void)state;
	submit(sender, 1);
	expect_event(sender, SENDER_ACKNOWLEDGED, 1);
	assert_int_equal(sscanf(server->clock, "%llu %llu %llu %63s", &wall_ns, &monotonic_ns,
				&boottime_ns, boot_id),
			 4);
	assert_true(wall_ns <= clock_wall_ns(&system_clock));
	assert_true(wall_ns + 600 * NSEC_PER_SEC > clock_wall_ns(&system_clock));
	assert_true(monotonic_ns <= clock_monotonic_ns(&system_clock));
	assert_true(boottime_ns >= monotonic_ns);
	assert_string_equal(boot_id, "0d4a");
	(void)sender_free(sender);
	free_server(server);
}

static void an_answer_without_acknowledgement_counts_as_failure(void **state)
{
	struct server *server = new_server();
	struct sender *sender;
	struct sender_event event;

	(void)state;
	server->answers_html = true;
	sender = new_sender(server, NULL, MEMORY_BYTES);
	submit(sender, 1);
	wait_for_errors(sender, 2);
	assert_int_equal(sender_poll(sender, &event), 0);
	(void)pthread_mutex_lock(&server->lock);
	server->answers_html = false;
	(void)pthread_mutex_unlock(&server->lock);
	expect_event(sender, SENDER_ACKNOWLEDGED, 1);
	(void)sender_free(sender);
	free_server(server);
}

static void a_permanently_refused_batch_does_not_delay_others(void **state)
{
	static const uint64_t accepted[] = { 1, 3 };
	struct server *server = new_server();
	struct sender *sender;
	struct sender_stats stats;

	(void)state;
	server->refused_sequence = 2;
	sender = new_sender(server, NULL, MEMORY_BYTES);
	for (uint64_t i = 1; i <= 3; i++)
		submit(sender, i);
	expect_event(sender, SENDER_ACKNOWLEDGED, 1);
	expect_event(sender, SENDER_DROPPED, 2);
	expect_event(sender, SENDER_ACKNOWLEDGED, 3);
	expect_accepted(server, 2, accepted);
	sender_stats(sender, &stats);
	assert_int_equal(stats.batches_dropped, 1);
	(void)sender_free(sender);
	free_server(server);
}

/* The answers of servers that read format 1, and of later ones. */
static void a_server_that_is_too_old_loses_no_batch(void **state)
{
	static const struct {
		unsigned int status;
		const char *text;
	} answers[] = {
		{ 400, "format 2, this server reads 1\n" },
		{ 415, "format 3, this server reads 1 to 2: upgrade the server\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		struct server *server = new_server();
		struct sender *sender;
		struct sender_stats stats;

		server->bad_answers = 4;
		server->bad_status = answers[i].status;
		server->bad_text = answers[i].text;
		sender = new_sender(server, NULL, MEMORY_BYTES);
		submit(sender, 1);
		submit(sender, 2);
		expect_event(sender, SENDER_ACKNOWLEDGED, 1);
		expect_event(sender, SENDER_ACKNOWLEDGED, 2);
		expect_accepted(server, 2, NULL);
		sender_stats(sender, &stats);
		assert_int_equal(stats.send_errors, 4);
		assert_int_equal(stats.batches_dropped, 0);
		(void)sender_free(sender);
		free_server(server);
	}
}

static void supply(struct sender *sender, uint64_t sequence)
{
	struct bytes supplement;

	fill_batch(&supplement, EPOCH, sequence);
	assert_ok(sender_supplement(sender, EPOCH, sequence, &supplement));
	bytes_release(&supplement);
}

static void definitions_that_the_server_lacks_are_sent_before_the_batch(void **state)
{
	static const uint64_t accepted[] = { 1, 100, 2, 3 };
	struct server *server = new_server();
	struct sender *sender;
	struct sender_event event;

	(void)state;
	server->unknown_sequence = 2;
	server->supplement_sequence = 100;
	sender = new_sender(server, NULL, MEMORY_BYTES);
	for (uint64_t i = 1; i <= 3; i++)
		submit(sender, i);
	expect_event(sender, SENDER_ACKNOWLEDGED, 1);
	event = next_event(sender);
	assert_int_equal(event.type, SENDER_UNKNOWN);
	assert_int_equal(event.epoch, EPOCH);
	assert_int_equal(event.sequence, 2);
	assert_int_equal(event.n_unknown_stacks, 2);
	assert_int_equal(event.unknown_stacks[1], 12);
	assert_int_equal(event.n_unknown_series, 1);
	assert_int_equal(event.n_unknown_processes, 0);
	assert_int_equal(event.n_unknown_code_objects, 1);
	assert_int_equal(event.unknown_code_objects[0], 14);
	sender_event_release(&event);

	supply(sender, 100);
	expect_event(sender, SENDER_ACKNOWLEDGED, 100);
	expect_event(sender, SENDER_ACKNOWLEDGED, 2);
	expect_event(sender, SENDER_ACKNOWLEDGED, 3);
	expect_accepted(server, 4, accepted);
	(void)sender_free(sender);
	free_server(server);
}

/* As when the server is killed each time it has received them, and starts with an empty store. */
static void definitions_are_sent_again_after_each_failure_of_the_server(void **state)
{
	static const uint64_t last = FIRST_SUPPLEMENT + 5;
	struct server *server = new_server();
	struct sender *sender;
	struct sender_event event;
	struct sender_stats stats;

	(void)state;
	server->unknown_sequence = 1;
	server->supplement_sequence = last;
	server->fails_after_supplement = true;
	sender = new_sender(server, NULL, MEMORY_BYTES);
	submit(sender, 1);
	for (uint64_t i = FIRST_SUPPLEMENT; i <= last; i++) {
		event = next_event(sender);
		assert_int_equal(event.type, SENDER_UNKNOWN);
		sender_event_release(&event);
		supply(sender, i);
		expect_event(sender, SENDER_ACKNOWLEDGED, i);
	}
	expect_event(sender, SENDER_ACKNOWLEDGED, 1);
	sender_stats(sender, &stats);
	assert_int_equal(stats.batches_dropped, 0);
	(void)sender_free(sender);
	free_server(server);
}

static void an_unexpected_supplement_is_dropped(void **state)
{
	struct server *server = new_server();
	struct sender *sender = new_sender(server, NULL, MEMORY_BYTES);
	struct sender_stats stats;

	(void)state;
	supply(sender, 100);
	expect_event(sender, SENDER_DROPPED, 100);
	expect_accepted(server, 0, NULL);
	/* A metric of lost batches would count samples that are not lost. */
	sender_stats(sender, &stats);
	assert_int_equal(stats.batches_dropped, 0);
	(void)sender_free(sender);
	free_server(server);
}

static void requests_of_the_server_become_events(void **state)
{
	struct server *server = new_server();
	struct sender *sender;
	struct sender_event event;

	(void)state;
	server->requests_executable = true;
	server->interval_ms = 30000;
	sender = new_sender(server, NULL, MEMORY_BYTES);
	submit(sender, 1);
	event = next_event(sender);
	assert_int_equal(event.type, SENDER_WANTED);
	assert_int_equal(event.wanted_id.kind, EXECUTABLE_ID_GNU);
	assert_int_equal(event.wanted_id.size, 4);
	assert_int_equal(event.wanted_what, 2);
	event = next_event(sender);
	assert_int_equal(event.type, SENDER_INTERVAL);
	assert_int_equal(event.batch_interval_ms, 30000);
	expect_event(sender, SENDER_ACKNOWLEDGED, 1);
	(void)sender_free(sender);
	free_server(server);
}

/* With a longer interval the agent would not show an incident until it is over. */
static void the_server_cannot_stretch_the_interval_without_limit(void **state)
{
	struct server *server = new_server();
	struct sender *sender;

	(void)state;
	server->requests_executable = true;
	server->interval_ms = UINT32_MAX;
	sender = new_sender(server, NULL, MEMORY_BYTES);
	submit(sender, 1);
	assert_int_equal(next_event(sender).type, SENDER_WANTED);
	assert_int_equal(next_event(sender).batch_interval_ms, SENDER_MAX_INTERVAL_MS);
	expect_event(sender, SENDER_ACKNOWLEDGED, 1);
	(void)sender_free(sender);
	free_server(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_server_cannot_stretch_the_interval_without_limit),
		cmocka_unit_test(batches_arrive_in_order_and_are_acknowledged),
		cmocka_unit_test(a_batch_is_retried_until_the_server_accepts_it),
		cmocka_unit_test(the_clocks_are_sent_with_each_batch),
		cmocka_unit_test(an_answer_without_acknowledgement_counts_as_failure),
		cmocka_unit_test(a_permanently_refused_batch_does_not_delay_others),
		cmocka_unit_test(a_server_that_is_too_old_loses_no_batch),
		cmocka_unit_test(definitions_that_the_server_lacks_are_sent_before_the_batch),
		cmocka_unit_test(definitions_are_sent_again_after_each_failure_of_the_server),
		cmocka_unit_test(an_unexpected_supplement_is_dropped),
		cmocka_unit_test(requests_of_the_server_become_events),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
