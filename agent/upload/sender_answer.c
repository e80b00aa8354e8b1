/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides from an HTTP answer what happens with the batch. The HTTP client bounds the size of the
 * body, and the arena bounds the memory for decoding it.
 */
#include "agent/upload/sender_private.h"

#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/log.h"
#include "proto/batch.pb-c.h"
#include "proto/proto_arena.h"

#define MAX_ANSWER_ARENA_BYTES (16 * MIB)

/* Longest text of the server in a log line. */
#define MAX_TEXT_LENGTH 300

/* A refused token is logged at most this often. */
#define TOKEN_REFUSAL_INTERVAL_NS (60 * NSEC_PER_SEC)

static int text_length(const struct bytes *body)
{
	size_t length = 0;

	/* Only the first line. */
	while (length < body->size && length < MAX_TEXT_LENGTH && body->data[length] >= ' ')
		length++;
	return (int)length;
}

static void emit(struct sender *sender, struct sender_event event)
{
	(void)event_queue_push_take(&sender->events, &event);
}

static void emit_requests(struct sender *sender, const Hearth__V1__BatchAnswer *answer)
{
	uint32_t interval_ms = MIN(answer->batch_interval_ms, (uint32_t)SENDER_MAX_INTERVAL_MS);

	for (size_t i = 0; i < answer->n_wanted; i++) {
		const Hearth__V1__Wanted *wanted = answer->wanted[i];
		struct sender_event event = {
			.type = SENDER_WANTED,
			.wanted_what = wanted->what,
			.wanted_trusted_only = wanted->trusted_only,
		};

		if (executable_id_set(&event.wanted_id, wanted->id_kind, wanted->id.data,
				      wanted->id.len) == 0)
			emit(sender, event);
	}
	if (interval_ms != sender->interval_ms) {
		sender->interval_ms = interval_ms;
		emit(sender, (struct sender_event){ .type = SENDER_INTERVAL,
						    .batch_interval_ms = sender->interval_ms });
	}
}

static int copy_numbers(const uint32_t *numbers, size_t count, uint32_t **ret_numbers,
			size_t *ret_count)
{
	if (count == 0)
		return 0;
	*ret_numbers = malloc(count * sizeof(*numbers));
	if (!*ret_numbers)
		return -ENOMEM;
	memcpy(*ret_numbers, numbers, count * sizeof(*numbers));
	*ret_count = count;
	return 0;
}

static bool has_unknown(const Hearth__V1__BatchAnswer *answer)
{
	return answer->n_unknown_stacks || answer->n_unknown_series ||
	       answer->n_unknown_processes || answer->n_unknown_executables ||
	       answer->n_unknown_code_objects;
}

static int fill_unknown(const struct spool_key *key, const Hearth__V1__BatchAnswer *answer,
			struct sender_event *ret_event)
{
	struct sender_event event = {
		.type = SENDER_UNKNOWN,
		.epoch = key->epoch,
		.sequence = key->sequence,
	};

	if (copy_numbers(answer->unknown_stacks, answer->n_unknown_stacks, &event.unknown_stacks,
			 &event.n_unknown_stacks) < 0 ||
	    copy_numbers(answer->unknown_series, answer->n_unknown_series, &event.unknown_series,
			 &event.n_unknown_series) < 0 ||
	    copy_numbers(answer->unknown_processes, answer->n_unknown_processes,
			 &event.unknown_processes, &event.n_unknown_processes) < 0 ||
	    copy_numbers(answer->unknown_executables, answer->n_unknown_executables,
			 &event.unknown_executables, &event.n_unknown_executables) < 0 ||
	    copy_numbers(answer->unknown_code_objects, answer->n_unknown_code_objects,
			 &event.unknown_code_objects, &event.n_unknown_code_objects) < 0) {
		sender_event_release(&event);
		return -ENOMEM;
	}
	*ret_event = event;
	return 0;
}

/* Handles status 200: the server has decoded the batch. */
static enum delivery classify_batch_answer(struct sender *sender, const struct spool_key *key,
					   struct http_answer *http,
					   struct sender_event *ret_unknown)
{
	scoped(arena_freep) struct arena *arena = NULL;
	Hearth__V1__BatchAnswer *answer = NULL;

	if (arena_new(MAX_ANSWER_ARENA_BYTES, &arena) < 0)
		return TRY_AGAIN;
	answer = proto_arena_unpack(&hearth__v1__batch_answer__descriptor, arena,
				    bytes_view_of(&http->body), NULL);
	if (!answer) {
		(void)snprintf(http->message, sizeof(http->message),
			       "the answer is not one of a hearth-symbolizer");
		return TRY_AGAIN;
	}
	if (has_unknown(answer)) {
		emit_requests(sender, answer);
		return fill_unknown(key, answer, ret_unknown) < 0 ? TRY_AGAIN : UNKNOWN_NUMBERS;
	}
	if (answer->epoch != key->epoch || answer->acknowledged_sequence != key->sequence) {
		(void)snprintf(http->message, sizeof(http->message),
			       "the answer does not acknowledge the batch");
		return TRY_AGAIN;
	}
	emit_requests(sender, answer);
	return DELIVERED;
}

static void log_token_refusal(struct sender *sender, const struct http_answer *http)
{
	uint64_t now = sender_now_ns();

	/* Set, so that note_failure() does not log the same failure again. */
	sender->away = true;
	sender->away_status = http->status;
	if (sender->token_refusal_logged_ns &&
	    now - sender->token_refusal_logged_ns < TOKEN_REFUSAL_INTERVAL_NS)
		return;
	sender->token_refusal_logged_ns = now;
	log_error("server '%s' refuses the token (status %ld), keeping batches: "
		  "set token_file (or token) to a token with the scope ingest: %.*s",
		  sender->server, http->status, text_length(&http->body),
		  http->body.size ? (const char *)http->body.data : "");
}

/*
 * Whether the server is older than this agent and cannot read its batches. Servers that read format
 * 1 only answer 400 with such a text, later ones 415.
 */
static bool is_too_old(const struct http_answer *http)
{
	static const char text[] = "this server reads";

	return http->status == 415 ||
	       (http->status == 400 && http->body.size > 0 &&
		memmem(http->body.data, http->body.size, text, sizeof(text) - 1));
}

static void log_too_old(struct sender *sender, const struct http_answer *http)
{
	if (!sender->too_old_was_logged)
		log_error("server '%s' is older than this agent and cannot read its batches "
			  "(status %ld: %.*s), keeping them: upgrade hearth-symbolizer on the "
			  "server, then they are delivered",
			  sender->server, http->status, text_length(&http->body),
			  http->body.size ? (const char *)http->body.data : "");
	/* Set, so that note_failure() does not log the same failure again. */
	sender->away = true;
	sender->away_status = http->status;
	sender->too_old_was_logged = true;
}

enum delivery sender_classify(struct sender *sender, const struct spool_key *key, int r,
			      struct http_answer *http, struct sender_event *ret_unknown)
{
	if (r == -ECANCELED)
		return CANCELED;
	if (r < 0)
		return TRY_AGAIN;
	if (is_too_old(http)) {
		log_too_old(sender, http);
		(void)snprintf(http->message, sizeof(http->message),
			       "status %ld: the server is older than this agent", http->status);
		return TRY_AGAIN;
	}

	switch (http->status) {
	case 200:
		return classify_batch_answer(sender, key, http, ret_unknown);
	case 400: /* not a batch */
	case 413: /* too large */
	case 422:
		log_error("server '%s' permanently refuses a batch (status %ld), dropping it: %.*s",
			  sender->server, http->status, text_length(&http->body),
			  http->body.size ? (const char *)http->body.data : "");
		return REFUSED;
	case 401:
	case 403:
		log_token_refusal(sender, http);
		break;
	default:
		break;
	}
	(void)snprintf(http->message, sizeof(http->message), "status %ld: %.*s", http->status,
		       MIN(text_length(&http->body), 200),
		       http->body.size ? (const char *)http->body.data : "");
	return TRY_AGAIN;
}
