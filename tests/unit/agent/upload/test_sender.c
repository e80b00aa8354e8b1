/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sender with a scripted server. A batch is the text "EPOCH SEQUENCE", which the server records
 * when it accepts the batch.
 */
#include "agent/upload/sender.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>

#include "agent/upload/spool.h"
#include "common/log.h"
#include "proto/batch.pb-c.h"
#include "tests/support/http_peer.h"
#include "tests/support/unit.h"
#define EPOCH          7
#define MAX_ACCEPTED   256
#define MEMORY_BYTES   MIB
#define RETRY_MAX_NS   (20 * NSEC_PER_MSEC)
#define EVENT_LIMIT_MS 20000

struct server {
	struct http_peer *peer;
	uint16_t port;
	int port_keeper; /* keeps the port while the server is down; else -1 */
	pthread_mutex_t lock;
	struct spool_key accepted[MAX_ACCEPTED];
	size_t n_accepted;
	unsigned int n_requests;
	/* the script */
	unsigned int bad_answers; /* this many requests are answered with bad_status */
	unsigned int bad_status;
	uint64_t refused_sequence;
	uint64_t unknown_sequence; /* until supplement_sequence is accepted; UINT64_MAX: all */
	uint64_t supplement_sequence;
	bool answers_html;
	bool requests_executable;
	char authorization[64], content_type[64];
};

static void fill_answer(const struct server *server, uint64_t epoch, uint64_t sequence,
			struct bytes *out)
{
	static uint8_t wanted_id[] = { 0xde, 0xad, 0xbe, 0xef };
	Hearth__V1__BatchAnswer answer = HEARTH__V1__BATCH_ANSWER__INIT;
	Hearth__V1__Wanted wanted = HEARTH__V1__WANTED__INIT;
	Hearth__V1__Wanted *all_wanted[] = { &wanted };
	uint32_t unknown_stacks[] = { 11, 12 }, unknown_series[] = { 13 };
	size_t size;

	answer.epoch = epoch;
	answer.acknowledged_sequence = sequence;
	if (server->requests_executable) {
		wanted.id_kind = EXECUTABLE_ID_GNU;
		wanted.id = (ProtobufCBinaryData){ .len = sizeof(wanted_id), .data = wanted_id };
		wanted.what = 2;
		answer.wanted = all_wanted;
		answer.n_wanted = 1;
		answer.batch_interval_ms = 30000;
	}
	if (server->unknown_sequence == sequence || server->unknown_sequence == UINT64_MAX) {
		answer.acknowledged_sequence = 0;
		answer.unknown_stacks = unknown_stacks;
		answer.n_unknown_stacks = 2;
		answer.unknown_series = unknown_series;
		answer.n_unknown_series = 1;
	}
	size = hearth__v1__batch_answer__get_packed_size(&answer);
	assert_ok(bytes_reserve(out, size));
	out->size += hearth__v1__batch_answer__pack(&answer, out->data + out->size);
}

static void accept_batch(struct server *server, uint64_t epoch, uint64_t sequence,
			 struct http_peer_answer *answer)
{
	answer->status = 200;
	if (sequence == server->supplement_sequence)
		server->unknown_sequence = 0;
	fill_answer(server, epoch, sequence, &answer->body);
	if (server->unknown_sequence == sequence || server->unknown_sequence == UINT64_MAX)
		return;
	assert_true(server->n_accepted < MAX_ACCEPTED);
	server->accepted[server->n_accepted++] =
		(struct spool_key){ .epoch = epoch, .sequence = sequence };
}

static void on_request(void *argument, const struct http_peer_request *request,
		       struct http_peer_answer *answer)
{
	struct server *server = argument;
	unsigned long long epoch = 0, sequence = 0;
	char body[64];

	(void)snprintf(body, sizeof(body), "%.*s", (int)request->body.size,
		       (const char *)request->body.data);
	(void)pthread_mutex_lock(&server->lock);
	server->n_requests++;
	(void)snprintf(server->authorization, sizeof(server->authorization), "%s",
		       request->authorization);
	(void)snprintf(server->content_type, sizeof(server->content_type), "%s",
		       request->content_type);
	if (strcmp(request->method, "POST") != 0 || strcmp(request->path, "/v1/ingest") != 0 ||
	    sscanf(body, "%llu %llu", &epoch, &sequence) != 2) {
		answer->status = 404;
	} else if (server->bad_answers > 0) {
		server->bad_answers--;
		answer->status = server->bad_status;
	} else if (sequence == server->refused_sequence) {
		answer->status = 400;
		(void)bytes_append_text(&answer->body, "stacks.number[0] is 0\n");
	} else if (server->answers_html) {
		answer->status = 200;
		(void)bytes_append_text(&answer->body, "<html>It works!</html>");
	} else {
		accept_batch(server, epoch, sequence, answer);
	}
	(void)pthread_mutex_unlock(&server->lock);
}

static void server_up(struct server *server)
{
	assert_ok(http_peer_start(server->port, on_request, server, &server->peer));
	server->port = http_peer_port(server->peer);
	scoped_close(&server->port_keeper);
	server->port_keeper = -1;
}

static void server_down(struct server *server)
{
	server->port_keeper = http_peer_keep_port(server->peer);
	assert_ok(server->port_keeper);
	server->peer = http_peer_stop(server->peer);
}

/* The server runs already: later changes of the script need the lock. */
static struct server *new_server(void)
{
	struct server *server = calloc(1, sizeof(*server));

	assert_non_null(server);
	(void)pthread_mutex_init(&server->lock, NULL);
	server->port_keeper = -1;
	server_up(server);
	return server;
}

static void free_server(struct server *server)
{
	server->peer = http_peer_stop(server->peer);
	scoped_close(&server->port_keeper);
	(void)pthread_mutex_destroy(&server->lock);
	free(server);
}

static struct sender *new_sender(const struct server *server, const char *spool_folder,
				 uint64_t memory_bytes)
{
	char url[64];
	const struct sender_options options = {
		.server = url,
		.token = "secret",
		.spool_folder = spool_folder,
		.spool_max_bytes = 64 * MIB,
		.memory_max_bytes = memory_bytes,
		.retry_max_ns = RETRY_MAX_NS,
	};
	struct sender *sender = NULL;

	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", server->port);
	assert_ok(sender_new(&options, &sender));
	return sender;
}

static void fill_batch(struct bytes *batch, uint64_t epoch, uint64_t sequence)
{
	*batch = BYTES_INIT(KIB);
	assert_ok(bytes_append_format(batch, "%llu %llu", (unsigned long long)epoch,
				      (unsigned long long)sequence));
}

static void submit(struct sender *sender, uint64_t sequence)
{
	struct bytes batch;

	fill_batch(&batch, EPOCH, sequence);
	assert_ok(sender_submit(sender, EPOCH, sequence, &batch));
	assert_int_equal(batch.size, 0);
	bytes_release(&batch);
}

/* Waits for the next event. */
static struct sender_event next_event(struct sender *sender)
{
	struct sender_event event;

	while (!sender_poll(sender, &event)) {
		struct pollfd readable = { .fd = sender_event_fd(sender), .events = POLLIN };

		if (poll(&readable, 1, EVENT_LIMIT_MS) != 1)
			fail_msg("no event in time");
	}
	return event;
}

static void expect_event(struct sender *sender, enum sender_event_type type, uint64_t sequence)
{
	struct sender_event event = next_event(sender);

	assert_int_equal(event.type, type);
	assert_int_equal(event.sequence, sequence);
	sender_event_release(&event);
}

static void expect_accepted(struct server *server, size_t count, const uint64_t *sequences)
{
	(void)pthread_mutex_lock(&server->lock);
	assert_int_equal(server->n_accepted, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(server->accepted[i].sequence, sequences ? sequences[i] : i + 1);
	(void)pthread_mutex_unlock(&server->lock);
}

/* Waits until the sender has counted at least these failures and batches. */
static void wait_for_stats(struct sender *sender, const struct sender_stats *least)
{
	struct sender_stats stats;

	for (unsigned int i = 0; i < EVENT_LIMIT_MS; i++) {
		sender_stats(sender, &stats);
		if (stats.send_errors >= least->send_errors &&
		    stats.batches_spooled >= least->batches_spooled &&
		    stats.batches_dropped >= least->batches_dropped)
			return;
		(void)poll(NULL, 0, 1);
	}
	fail_msg("the sender counted only %llu errors, %llu batches spooled, %llu dropped",
		 (unsigned long long)stats.send_errors, (unsigned long long)stats.batches_spooled,
		 (unsigned long long)stats.batches_dropped);
}

/* Waits until the sender has counted @errors failures: it has noticed that the server is away. */
static void wait_for_errors(struct sender *sender, uint64_t errors)
{
	wait_for_stats(sender, &(struct sender_stats){ .send_errors = errors });
}

static size_t count_spooled(const char *folder)
{
	DIR *stream = opendir(folder);
	const struct dirent *entry;
	size_t count = 0;

	assert_non_null(stream);
	while ((entry = readdir(stream)))
		count += strstr(entry->d_name, ".batch") != NULL;
	(void)closedir(stream);
	return count;
}

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

static void definitions_that_the_server_lacks_are_sent_before_the_batch(void **state)
{
	static const uint64_t accepted[] = { 1, 100, 2, 3 };
	struct server *server = new_server();
	struct sender *sender;
	struct sender_event event;
	struct bytes supplement;

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
	sender_event_release(&event);

	fill_batch(&supplement, EPOCH, 100);
	assert_ok(sender_supplement(sender, EPOCH, 100, &supplement));
	bytes_release(&supplement);
	expect_event(sender, SENDER_ACKNOWLEDGED, 100);
	expect_event(sender, SENDER_ACKNOWLEDGED, 2);
	expect_event(sender, SENDER_ACKNOWLEDGED, 3);
	expect_accepted(server, 4, accepted);
	(void)sender_free(sender);
	free_server(server);
}

static void an_unexpected_supplement_is_dropped(void **state)
{
	struct server *server = new_server();
	struct sender *sender = new_sender(server, NULL, MEMORY_BYTES);
	struct bytes supplement;

	(void)state;
	fill_batch(&supplement, EPOCH, 100);
	assert_ok(sender_supplement(sender, EPOCH, 100, &supplement));
	bytes_release(&supplement);
	expect_event(sender, SENDER_DROPPED, 100);
	expect_accepted(server, 0, NULL);
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

#define in_folder(test)                                                                            \
	cmocka_unit_test_setup_teardown(test, temp_folder_setup, temp_folder_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_arrive_in_order_and_are_acknowledged),
		cmocka_unit_test(a_batch_is_retried_until_the_server_accepts_it),
		cmocka_unit_test(an_answer_without_acknowledgement_counts_as_failure),
		cmocka_unit_test(a_permanently_refused_batch_does_not_delay_others),
		cmocka_unit_test(definitions_that_the_server_lacks_are_sent_before_the_batch),
		cmocka_unit_test(an_unexpected_supplement_is_dropped),
		cmocka_unit_test(requests_of_the_server_become_events),
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
