/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper/process_reader.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/helper/avoid_list.h"
#include "agent/helper/process_facts.h"
#include "agent/helper/protocol.h"
#include "common/clock.h"

#define TIMEOUT_NS NSEC_PER_SEC

/* After several timeouts the reader waits less, because the calling thread has other work to do. */
#define SHORT_TIMEOUT_NS (50 * NSEC_PER_MSEC)
#define MANY_TIMEOUTS    2
#define RECENT_NS        (10 * NSEC_PER_SEC)

/*
 * For how long a process is avoided after a timeout. A first timeout may be caused by a busy host,
 * a second one by a lock that stays taken.
 */
#define FIRST_AVOIDED_NS (5 * NSEC_PER_SEC)
#define MAX_AVOIDED_NS   (3600 * NSEC_PER_SEC)
#define MAX_AVOIDED      1024

/* A helper that was not used for this time ends. */
#define IDLE_NS (30 * NSEC_PER_SEC)

struct process_reader {
	struct nursery *nursery;
	uint64_t timeout_ns;
	uint32_t id; /* of the helper */
	int socket;  /* -1: no helper */
	uint64_t used_ns;
	unsigned int n_recent;      /* timeouts, each less than RECENT_NS after the one before */
	uint64_t timed_out_ns;      /* when the last timeout occurred */
	struct avoid_list *avoided; /* struct process_key */
	struct process_reader_stats stats;
	struct helper_message message;
};

int process_reader_new(const struct process_reader_options *options,
		       struct process_reader **ret_reader)
{
	const struct avoid_list_options avoided = {
		.key_size = sizeof(struct process_key),
		.max_keys = MAX_AVOIDED,
		.first_ns = FIRST_AVOIDED_NS,
		.max_ns = MAX_AVOIDED_NS,
	};
	scoped(process_reader_freep) struct process_reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return -ENOMEM;
	reader->nursery = options->nursery;
	reader->timeout_ns = options->timeout_ns ? options->timeout_ns : TIMEOUT_NS;
	reader->socket = -1;
	r = avoid_list_new(&avoided, &reader->avoided);
	if (r < 0)
		return r;
	*ret_reader = take_ptr(reader);
	return 0;
}

static void close_helper(struct process_reader *reader)
{
	scoped_close(&reader->socket);
	reader->socket = -1;
}

struct process_reader *process_reader_free(struct process_reader *reader)
{
	if (!reader)
		return NULL;
	close_helper(reader);
	(void)avoid_list_free(reader->avoided);
	free(reader);
	return NULL;
}

void process_reader_stats(const struct process_reader *reader,
			  struct process_reader_stats *ret_stats)
{
	*ret_stats = reader->stats;
}

void process_reader_close_idle(struct process_reader *reader, uint64_t now_ns)
{
	if (reader->socket >= 0 && now_ns >= reader->used_ns + IDLE_NS)
		close_helper(reader);
}

/* Usually no process is avoided; then this does not read /proc. */
static bool is_avoided(const struct process_reader *reader, uint32_t pid, uint64_t now_ns)
{
	struct process_key key;

	if (avoid_list_is_empty(reader->avoided))
		return false;
	key = process_key_of((pid_t)pid);
	return avoid_list_has(reader->avoided, &key, now_ns);
}

static void forgive(struct process_reader *reader, uint32_t pid)
{
	struct process_key key;

	if (avoid_list_is_empty(reader->avoided))
		return;
	key = process_key_of((pid_t)pid);
	avoid_list_forgive(reader->avoided, &key);
}

static void add_timeout(struct process_reader *reader, uint32_t pid, uint64_t now_ns)
{
	const struct process_key key = process_key_of((pid_t)pid);

	avoid_list_add_failure(reader->avoided, &key, now_ns);
	reader->n_recent = now_ns < reader->timed_out_ns + RECENT_NS ? reader->n_recent + 1 : 1;
	reader->timed_out_ns = now_ns;
	reader->stats.timeouts++;
}

static uint64_t timeout_of(const struct process_reader *reader, uint64_t now_ns)
{
	bool is_short =
		reader->n_recent >= MANY_TIMEOUTS && now_ns < reader->timed_out_ns + RECENT_NS;

	return is_short ? MIN(reader->timeout_ns, SHORT_TIMEOUT_NS) : reader->timeout_ns;
}

/* ---- requests and answers ------------------------------------------------------------------ */

static int send_request(struct process_reader *reader, const struct reader_request *request)
{
	int r = 0;

	if (reader->socket < 0)
		r = nursery_fork(reader->nursery, HELPER_READER, &reader->id, &reader->socket);
	if (r < 0)
		return r;
	reader_request_write(&reader->message, request->pid, request->file, NULL, 0);
	return helper_send(reader->socket, &reader->message, MSG_DONTWAIT);
}

/* 1: received a message; 0: the helper has ended; -ETIMEDOUT. */
static int receive(struct process_reader *reader, uint64_t until_ns)
{
	struct pollfd polled = { .fd = reader->socket, .events = POLLIN };

	for (;;) {
		uint64_t now_ns = clock_monotonic_ns(&system_clock);
		uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
		int n = poll(&polled, 1, (int)((left_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC));

		if (n > 0)
			return helper_receive(reader->socket, &reader->message, MSG_DONTWAIT);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0 && left_ns == 0)
			return -ETIMEDOUT;
	}
}

/* Appends the text of one answer. 1: more answers follow; 0: it was the last; negative errno. */
static int take_answer(struct process_reader *reader, struct bytes *text)
{
	struct reader_answer answer;
	int r;

	helper_message_close(&reader->message);
	if (reader->message.size < sizeof(answer))
		return -EBADMSG;
	memcpy(&answer, reader->message.bytes, sizeof(answer));
	r = bytes_append(text, reader->message.bytes + sizeof(answer),
			 reader->message.size - sizeof(answer));
	if (r < 0 || !answer.is_last)
		return r < 0 ? r : 1;
	if (answer.result < 0)
		return answer.result == -ENOENT ? -ESRCH : answer.result;
	return bytes_append_byte(text, 0);
}

/* Ends the helper unless its complete answer was read. */
static int request_text(struct process_reader *reader, const struct reader_request *request,
			uint64_t until_ns, struct bytes *text)
{
	struct reader_answer answer = {};
	int r;

	r = send_request(reader, request);
	while (r >= 0) {
		r = receive(reader, until_ns);
		if (r <= 0) {
			r = r == 0 ? -ECONNRESET : r;
			break;
		}
		if (reader->message.size >= sizeof(answer))
			memcpy(&answer, reader->message.bytes, sizeof(answer));
		r = take_answer(reader, text);
		if (r <= 0 && answer.is_last)
			return r;
	}
	if (reader->socket >= 0)
		nursery_kill(reader->nursery, reader->id);
	close_helper(reader);
	return r == -EPIPE ? -ECONNRESET : r;
}

int process_reader_read(void *arg, uint32_t pid, const char *name, struct bytes *text)
{
	struct process_reader *reader = arg;
	const struct reader_request request = {
		.pid = pid,
		.file = strcmp(name, "maps") == 0 ? READER_MAPS : READER_COMMAND_LINE,
	};
	uint64_t now_ns = clock_monotonic_ns(&system_clock);
	int r = -ECONNRESET;

	if (is_avoided(reader, pid, now_ns)) {
		reader->stats.avoided++;
		return -EBUSY;
	}
	/* Two attempts, because an idle helper may have ended since its last job. */
	for (int attempt = 0; attempt < 2 && r == -ECONNRESET; attempt++) {
		bytes_clear(text);
		r = request_text(reader, &request, now_ns + timeout_of(reader, now_ns), text);
		reader->stats.deaths += r == -ECONNRESET;
	}
	reader->used_ns = clock_monotonic_ns(&system_clock);
	if (r == -ETIMEDOUT)
		add_timeout(reader, pid, reader->used_ns);
	else if (r == 0)
		forgive(reader, pid);
	return r;
}
