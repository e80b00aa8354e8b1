/* SPDX-License-Identifier: Apache-2.0 */
/* Where batches wait while the server is away, and when the sender stops. */
#include "common/log.h"
#include "tests/unit/agent/upload/sender_fixture.h"

static void batches_are_delivered_once_and_in_order_after_an_outage(void **state)
{
	struct server *server = new_server();
	struct sender *sender = new_sender(server, *state, MEMORY_BYTES);
	struct sender_stats stats;

	for (uint64_t i = 1; i <= 5; i++) {
		submit(sender, i);
		expect_event(sender, SENDER_ACKNOWLEDGED, i);
	}
	server_down(server);
	for (uint64_t i = 6; i <= 40; i++)
		submit(sender, i);
	wait_for_stats(sender, &(struct sender_stats){ .send_errors = 3, .batches_spooled = 35 });
	sender_stats(sender, &stats);
	assert_false(stats.server_reachable);
	for (uint64_t i = 41; i <= 60; i++)
		submit(sender, i);
	server_up(server);
	for (uint64_t i = 6; i <= 60; i++)
		expect_event(sender, SENDER_ACKNOWLEDGED, i);
	expect_accepted(server, 60, NULL);
	sender_stats(sender, &stats);
	assert_true(stats.batches_spooled >= 35);
	assert_int_equal(stats.spool_bytes, 0);
	assert_int_equal(stats.batches_dropped, 0);
	assert_true(stats.server_reachable);
	(void)sender_free(sender);
	assert_int_equal(count_spooled(*state), 0);
	free_server(server);
}

static void a_batch_stays_on_disk_until_it_is_acknowledged(void **state)
{
	struct server *server = new_server();
	struct sender *sender;

	server_down(server);
	sender = new_sender(server, *state, MEMORY_BYTES);
	for (uint64_t i = 1; i <= 10; i++)
		submit(sender, i);
	wait_for_errors(sender, 3);
	(void)sender_free(sender);
	assert_int_equal(count_spooled(*state), 10);

	/* The server is up, but answers with an error. */
	server_up(server);
	server->bad_answers = UINT32_MAX;
	server->bad_status = 503;
	sender = new_sender(server, *state, MEMORY_BYTES);
	wait_for_errors(sender, 3);
	(void)sender_free(sender);
	assert_int_equal(count_spooled(*state), 10);
	free_server(server);
}

static void batches_of_an_earlier_run_are_delivered_first(void **state)
{
	struct server *server = new_server();
	struct sender *sender;
	struct bytes batch;

	server_down(server);
	sender = new_sender(server, *state, MEMORY_BYTES);
	for (uint64_t i = 1; i <= 10; i++)
		submit(sender, i);
	sender_stop(sender, 0);
	(void)sender_free(sender);

	server_up(server);
	sender = new_sender(server, *state, MEMORY_BYTES);
	fill_batch(&batch, EPOCH + 1, 11);
	assert_ok(sender_submit(sender, EPOCH + 1, 11, &batch));
	bytes_release(&batch);
	for (uint64_t i = 1; i <= 11; i++)
		expect_event(sender, SENDER_ACKNOWLEDGED, i);
	expect_accepted(server, 11, NULL);
	assert_int_equal(server->accepted[9].epoch, EPOCH);
	assert_int_equal(server->accepted[10].epoch, EPOCH + 1);
	(void)sender_free(sender);
	free_server(server);
}

static void batches_of_an_earlier_run_that_need_definitions_are_dropped(void **state)
{
	struct server *server = new_server();
	struct sender *sender;

	server_down(server);
	sender = new_sender(server, *state, MEMORY_BYTES);
	submit(sender, 1);
	submit(sender, 2);
	sender_stop(sender, 0);
	(void)sender_free(sender);

	server_up(server);
	server->unknown_sequence = UINT64_MAX;
	sender = new_sender(server, *state, MEMORY_BYTES);
	expect_event(sender, SENDER_DROPPED, 1);
	expect_event(sender, SENDER_DROPPED, 2);
	(void)sender_free(sender);
	assert_int_equal(count_spooled(*state), 0);
	free_server(server);
}

static void stopping_waits_until_queued_batches_are_delivered(void **state)
{
	struct server *server = new_server();
	struct sender *sender = new_sender(server, NULL, MEMORY_BYTES);

	(void)state;
	for (uint64_t i = 1; i <= 30; i++)
		submit(sender, i);
	sender_stop(sender, EVENT_LIMIT_MS * NSEC_PER_MSEC);
	expect_accepted(server, 30, NULL);
	for (uint64_t i = 1; i <= 30; i++)
		expect_event(sender, SENDER_ACKNOWLEDGED, i);
	(void)sender_free(sender);
	free_server(server);
}

static void stopping_does_not_wait_for_a_server_that_is_away(void **state)
{
	struct server *server = new_server();
	struct sender *sender;

	server_down(server);
	sender = new_sender(server, *state, MEMORY_BYTES);
	for (uint64_t i = 1; i <= 5; i++)
		submit(sender, i);
	/* If the sender waited for all of this time, the test would exceed its time limit. */
	sender_stop(sender, 3600 * NSEC_PER_SEC);
	(void)sender_free(sender);
	assert_int_equal(count_spooled(*state), 5);
	free_server(server);
}

static void stopping_while_a_batch_waits_for_definitions_keeps_it(void **state)
{
	struct server *server = new_server();
	struct sender *sender;

	server->unknown_sequence = 1;
	sender = new_sender(server, *state, MEMORY_BYTES);
	submit(sender, 1);
	submit(sender, 2);
	expect_event(sender, SENDER_UNKNOWN, 1);
	sender_stop(sender, 3600 * NSEC_PER_SEC);
	(void)sender_free(sender);
	expect_accepted(server, 0, NULL);
	assert_int_equal(count_spooled(*state), 2);
	free_server(server);
}

static void batches_beyond_the_memory_limit_are_spooled(void **state)
{
	struct server *server = new_server();
	struct sender *sender;

	server_down(server);
	/* Memory for about two batches. */
	sender = new_sender(server, *state, 300);
	for (uint64_t i = 1; i <= 20; i++)
		submit(sender, i);
	wait_for_errors(sender, 3);
	server_up(server);
	for (uint64_t i = 1; i <= 20; i++)
		expect_event(sender, SENDER_ACKNOWLEDGED, i);
	expect_accepted(server, 20, NULL);
	(void)sender_free(sender);
	free_server(server);
}

static void without_a_spool_the_newest_batches_are_kept(void **state)
{
	scoped_free char *file = write_file_in(*state, "file", "x", 1);
	struct server *server = new_server();
	struct sender *sender;
	struct sender_stats stats;
	struct sender_event event;
	uint64_t n_dropped = 0;

	server_down(server);
	/* A file instead of a folder, so the spool cannot be used. */
	sender = new_sender(server, file, 300);
	/* The first batch has left the queue before the queue is too long. */
	submit(sender, 1);
	wait_for_errors(sender, 1);
	for (uint64_t i = 2; i <= 20; i++)
		submit(sender, i);
	wait_for_stats(sender, &(struct sender_stats){ .batches_dropped = 15 });
	server_up(server);
	event = next_event(sender);
	while (event.type == SENDER_DROPPED) {
		n_dropped++;
		assert_int_equal(event.sequence, n_dropped + 1);
		event = next_event(sender);
	}
	assert_int_equal(event.type, SENDER_ACKNOWLEDGED);
	assert_int_equal(event.sequence, 1);
	for (uint64_t i = n_dropped + 2; i <= 20; i++)
		expect_event(sender, SENDER_ACKNOWLEDGED, i);
	sender_stats(sender, &stats);
	assert_true(stats.batches_dropped >= 15);
	assert_int_equal(stats.batches_dropped, n_dropped);
	assert_int_equal(stats.batches_dropped + stats.batches_sent, 20);
	(void)sender_free(sender);
	free_server(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(batches_are_delivered_once_and_in_order_after_an_outage),
		in_folder(a_batch_stays_on_disk_until_it_is_acknowledged),
		in_folder(batches_of_an_earlier_run_are_delivered_first),
		in_folder(batches_of_an_earlier_run_that_need_definitions_are_dropped),
		cmocka_unit_test(stopping_waits_until_queued_batches_are_delivered),
		in_folder(stopping_does_not_wait_for_a_server_that_is_away),
		in_folder(stopping_while_a_batch_waits_for_definitions_keeps_it),
		in_folder(batches_beyond_the_memory_limit_are_spooled),
		in_folder(without_a_spool_the_newest_batches_are_kept),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
