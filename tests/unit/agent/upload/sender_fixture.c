/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/agent/upload/sender_fixture.h"

#include <dirent.h>
#include <poll.h>

#include "proto/batch.pb-c.h"

#define RETRY_MAX_NS (20 * NSEC_PER_MSEC)

static void fill_answer(const struct server *server, uint64_t epoch, uint64_t sequence,
			struct bytes *out)
{
	static uint8_t wanted_id[] = { 0xde, 0xad, 0xbe, 0xef };
	Hearth__V1__BatchAnswer answer = HEARTH__V1__BATCH_ANSWER__INIT;
	Hearth__V1__Wanted wanted = HEARTH__V1__WANTED__INIT;
	Hearth__V1__Wanted *all_wanted[] = { &wanted };
	uint32_t unknown_stacks[] = { 11, 12 }, unknown_series[] = { 13 };
	uint32_t unknown_code_objects[] = { 14 };
	size_t size;

	answer.epoch = epoch;
	answer.acknowledged_sequence = sequence;
	if (server->requests_executable) {
		wanted.id_kind = EXECUTABLE_ID_GNU;
		wanted.id = (ProtobufCBinaryData){ .len = sizeof(wanted_id), .data = wanted_id };
		wanted.what = 2;
		answer.wanted = all_wanted;
		answer.n_wanted = 1;
		answer.batch_interval_ms = server->interval_ms;
	}
	if (server->unknown_sequence == sequence || server->unknown_sequence == UINT64_MAX) {
		answer.acknowledged_sequence = 0;
		answer.unknown_stacks = unknown_stacks;
		answer.n_unknown_stacks = 2;
		answer.unknown_series = unknown_series;
		answer.n_unknown_series = 1;
		answer.unknown_code_objects = unknown_code_objects;
		answer.n_unknown_code_objects = 1;
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
	if (server->fails_after_supplement && sequence >= FIRST_SUPPLEMENT) {
		server->bad_answers = 1;
		server->bad_status = 503;
	}
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
	(void)snprintf(server->clock, sizeof(server->clock), "%s", request->clock);
	if (strcmp(request->method, "POST") != 0 || strcmp(request->path, "/v1/ingest") != 0 ||
	    sscanf(body, "%llu %llu", &epoch, &sequence) != 2) {
		answer->status = 404;
	} else if (server->bad_answers > 0) {
		server->bad_answers--;
		answer->status = server->bad_status;
		if (server->bad_text)
			(void)bytes_append_text(&answer->body, server->bad_text);
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

void server_up(struct server *server)
{
	assert_ok(http_peer_start(server->port, on_request, server, &server->peer));
	server->port = http_peer_port(server->peer);
	scoped_close(&server->port_keeper);
	server->port_keeper = -1;
}

void server_down(struct server *server)
{
	server->port_keeper = http_peer_keep_port(server->peer);
	assert_ok(server->port_keeper);
	server->peer = http_peer_stop(server->peer);
}

struct server *new_server(void)
{
	struct server *server = calloc(1, sizeof(*server));

	assert_non_null(server);
	(void)pthread_mutex_init(&server->lock, NULL);
	server->port_keeper = -1;
	server_up(server);
	return server;
}

void free_server(struct server *server)
{
	server->peer = http_peer_stop(server->peer);
	scoped_close(&server->port_keeper);
	(void)pthread_mutex_destroy(&server->lock);
	free(server);
}

struct sender *new_sender(const struct server *server, const char *spool_folder,
			  uint64_t memory_bytes)
{
	char url[64];
	const struct sender_options options = {
		.server = url,
		.token = "secret",
		.boot_id = "0d4a",
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

void fill_batch(struct bytes *batch, uint64_t epoch, uint64_t sequence)
{
	*batch = BYTES_INIT(KIB);
	assert_ok(bytes_append_format(batch, "%llu %llu", (unsigned long long)epoch,
				      (unsigned long long)sequence));
}

void submit(struct sender *sender, uint64_t sequence)
{
	struct bytes batch;

	fill_batch(&batch, EPOCH, sequence);
	assert_ok(sender_submit(sender, EPOCH, sequence, &batch));
	assert_int_equal(batch.size, 0);
	bytes_release(&batch);
}

struct sender_event next_event(struct sender *sender)
{
	struct sender_event event;

	while (!sender_poll(sender, &event)) {
		struct pollfd readable = { .fd = sender_event_fd(sender), .events = POLLIN };

		if (poll(&readable, 1, EVENT_LIMIT_MS) != 1)
			fail_msg("no event in time");
	}
	return event;
}

void expect_event(struct sender *sender, enum sender_event_type type, uint64_t sequence)
{
	struct sender_event event = next_event(sender);

	assert_int_equal(event.type, type);
	assert_int_equal(event.sequence, sequence);
	sender_event_release(&event);
}

void expect_accepted(struct server *server, size_t count, const uint64_t *sequences)
{
	(void)pthread_mutex_lock(&server->lock);
	assert_int_equal(server->n_accepted, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(server->accepted[i].sequence, sequences ? sequences[i] : i + 1);
	(void)pthread_mutex_unlock(&server->lock);
}

void wait_for_stats(struct sender *sender, const struct sender_stats *least)
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

void wait_for_errors(struct sender *sender, uint64_t errors)
{
	wait_for_stats(sender, &(struct sender_stats){ .send_errors = errors });
}

size_t count_spooled(const char *folder)
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
