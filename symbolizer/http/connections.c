/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A hash table of connections by client address, protected by one lock.
 *
 * The thread closes a connection with shutdown(), under the lock. The library calls
 * connections_on_notify(), which takes the lock too, before it closes the descriptor. Therefore the
 * descriptor still belongs to this connection when shutdown() is called. The library then reads the
 * end of the stream and closes the connection as if the client had done so.
 */

#include "symbolizer/http/connections.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "common/log.h"
#include "symbolizer/http/client_address.h"
#include "symbolizer/http/lingering_sockets.h"

#define N_BUCKETS 4096

/* Interval at which the thread compares deadlines with the clock. */
#define TICK_MS 250

#define LOG_INTERVAL_NS (60 * NSEC_PER_SEC)

#define NO_DEADLINE UINT64_MAX

enum expectation {
	EXPECTS_NOTHING,
	EXPECTS_HEADER,
	EXPECTS_BODY,
	EXPECTS_READING, /* the client has to read the answer */
};

struct connection {
	struct connections *owner;
	struct connection *next; /* in the same bucket */
	struct client_address client;
	enum expectation expectation;
	uint64_t deadline_ns; /* or NO_DEADLINE */
	/* While EXPECTS_READING: bytes of the whole connection that the client's kernel
	 * acknowledged. */
	uint64_t acknowledged_bytes;
	struct cancel *cancel; /* requested when the client closes the connection; or NULL */
	int fd;                /* owned by the library */
	bool lingers;
};

/* Closed connections that are not logged yet. */
struct unlogged {
	unsigned int count;
	struct client_address latest;
	uint64_t next_ns; /* earliest time of the next log line */
};

struct connections {
	struct http_client_limits limits;
	struct route_metrics *metrics;
	const struct clock *clock;
	struct token_usage *token_usage; /* borrowed */
	pthread_t thread;
	bool has_thread;
	int wake; /* eventfd */

	pthread_mutex_t lock; /* protects the fields below */
	bool stops;
	struct connection *buckets[N_BUCKETS];
	struct unlogged unlogged[HTTP_CLOSED_COUNT];
	struct lingering_sockets lingering;
};

static struct connection **bucket_of(struct connections *connections,
				     const struct client_address *client)
{
	return &connections->buckets[client_address_hash(client) >> 52];
}
static_assert(N_BUCKETS == 1 << (64 - 52), "bucket_of() must use all index bits");

static void wake(struct connections *connections)
{
	(void)eventfd_write(connections->wake, 1);
}

/* The caller holds the lock. */
static void count_closed(struct connections *connections, enum http_closed reason,
			 const struct client_address *client)
{
	connections->unlogged[reason].count++;
	connections->unlogged[reason].latest = *client;
	if (connections->metrics)
		route_metrics_add_closed(connections->metrics, reason);
}

enum MHD_Result connections_on_accept(void *arg, const struct sockaddr *address, socklen_t size)
{
	struct connections *connections = arg;
	struct client_address client = client_address_of(address);
	unsigned int limit = connections->limits.max_per_client, count = 0;
	struct connection *at;

	(void)size;
	if (limit == 0)
		return MHD_YES;
	(void)pthread_mutex_lock(&connections->lock);
	for (at = *bucket_of(connections, &client); at && count < limit; at = at->next)
		count += client_address_equal(&at->client, &client);
	if (count >= limit)
		count_closed(connections, HTTP_CLOSED_CLIENT_LIMIT, &client);
	(void)pthread_mutex_unlock(&connections->lock);
	return count < limit ? MHD_YES : MHD_NO;
}

static uint64_t deadline_in(const struct connections *connections, uint64_t ns)
{
	return clock_monotonic_ns(connections->clock) + ns;
}

static void add_connection(struct connections *connections,
			   struct MHD_Connection *library_connection, void **context)
{
	const union MHD_ConnectionInfo *fd =
		MHD_get_connection_info(library_connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	int number = fd ? fd->connect_fd : -1;
	const union MHD_ConnectionInfo *address =
		MHD_get_connection_info(library_connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	struct connection *connection = calloc(1, sizeof(*connection));
	struct connection **bucket;

	*context = connection;
	if (!connection) {
		(void)shutdown(number, SHUT_RDWR);
		return;
	}
	connection->owner = connections;
	connection->fd = number;
	if (address && address->client_addr)
		connection->client = client_address_of(address->client_addr);
	connection->expectation = EXPECTS_HEADER;
	connection->deadline_ns = NO_DEADLINE;
	if (connections->limits.header_timeout_ns > 0)
		connection->deadline_ns =
			deadline_in(connections, connections->limits.header_timeout_ns);

	(void)pthread_mutex_lock(&connections->lock);
	bucket = bucket_of(connections, &connection->client);
	connection->next = *bucket;
	*bucket = connection;
	(void)pthread_mutex_unlock(&connections->lock);
}

static void remove_connection(struct connections *connections, void **context)
{
	struct connection *connection = *context;
	struct connection **at;

	*context = NULL;
	if (!connection)
		return;
	(void)pthread_mutex_lock(&connections->lock);
	for (at = bucket_of(connections, &connection->client); *at != connection; at = &(*at)->next)
		;
	*at = connection->next;
	if (connection->lingers && lingering_sockets_add(&connections->lingering, connection->fd,
							 clock_monotonic_ns(connections->clock)))
		wake(connections);
	(void)pthread_mutex_unlock(&connections->lock);
	free(connection);
}

void connections_on_notify(void *arg, struct MHD_Connection *library_connection, void **context,
			   enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		add_connection(arg, library_connection, context);
	else
		remove_connection(arg, context);
}

struct connection *connection_of(struct MHD_Connection *library_connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(library_connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

uint64_t connection_deadline(uint64_t deadline_ns, uint64_t now_ns, uint64_t bytes,
			     uint64_t min_rate, uint64_t grace_ns)
{
	/* Divides first, so that only the remainder, which is below min_rate (at most 1 GiB/s),
	 * is multiplied by NSEC_PER_SEC. The product therefore fits 64 bits. */
	uint64_t whole_s = bytes / min_rate;
	uint64_t rest_ns = bytes % min_rate * NSEC_PER_SEC / min_rate;
	uint64_t latest = now_ns + grace_ns;

	if (whole_s > grace_ns / NSEC_PER_SEC)
		return latest;
	return MIN(latest, deadline_ns + whole_s * NSEC_PER_SEC + rest_ns);
}

static void expect(struct connection *connection, enum expectation expectation,
		   uint64_t deadline_ns)
{
	if (!connection)
		return;
	(void)pthread_mutex_lock(&connection->owner->lock);
	connection->expectation = expectation;
	connection->deadline_ns = deadline_ns;
	(void)pthread_mutex_unlock(&connection->owner->lock);
}

void connection_expects_body(struct connection *connection)
{
	if (connection && connection->owner->limits.body_min_rate > 0)
		expect(connection, EXPECTS_BODY,
		       deadline_in(connection->owner, connection->owner->limits.body_grace_ns));
	else
		connection_expects_nothing(connection);
}

void connection_received(struct connection *connection, size_t bytes)
{
	struct connections *connections = connection ? connection->owner : NULL;

	if (!connection)
		return;
	(void)pthread_mutex_lock(&connections->lock);
	if (connection->deadline_ns != NO_DEADLINE)
		connection->deadline_ns = connection_deadline(
			connection->deadline_ns, clock_monotonic_ns(connections->clock), bytes,
			connections->limits.body_min_rate, connections->limits.body_grace_ns);
	(void)pthread_mutex_unlock(&connections->lock);
}

void connection_expects_nothing(struct connection *connection)
{
	expect(connection, EXPECTS_NOTHING, NO_DEADLINE);
}

void connection_watch_close(struct connection *connection, struct cancel *cancel)
{
	if (!connection)
		return;
	(void)pthread_mutex_lock(&connection->owner->lock);
	connection->cancel = cancel;
	(void)pthread_mutex_unlock(&connection->owner->lock);
}

/* Returns whether the client sends no more, or the connection was reset. A request that waits in
 * the socket is no reason to look behind it: POLLRDHUP does not depend on unread bytes. */
static bool is_closed_by_client(const struct connection *connection)
{
	struct pollfd end = { .fd = connection->fd, .events = POLLRDHUP };

	return poll(&end, 1, 0) == 1 && end.revents != 0;
}

static uint64_t acknowledged_bytes(int fd)
{
	struct tcp_info info = {};
	socklen_t size = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_acked : 0;
}

void connection_sends_answer(struct connection *connection)
{
	struct connections *connections = connection ? connection->owner : NULL;

	if (!connection || connections->limits.answer_min_rate == 0)
		return;
	connection->acknowledged_bytes = acknowledged_bytes(connection->fd);
	expect(connection, EXPECTS_READING,
	       deadline_in(connections, connections->limits.body_grace_ns));
}

void connection_expects_header(struct connection *connection)
{
	uint64_t timeout_ns = connection ? connection->owner->limits.header_timeout_ns : 0;

	if (timeout_ns > 0)
		expect(connection, EXPECTS_HEADER,
		       deadline_in(connection->owner,
				   timeout_ns + HTTP_IDLE_TIMEOUT_S * NSEC_PER_SEC));
	else
		connection_expects_nothing(connection);
}

void connection_linger(struct connection *connection)
{
	if (connection)
		connection->lingers = true;
}

/*
 * Returns whether the server, not the client, delays the transfer: received bytes wait to be read,
 * or the client has acknowledged all bytes that were sent to it.
 */
static bool server_is_behind(const struct connection *connection)
{
	int waiting = 0;

	if (connection->expectation == EXPECTS_BODY || connection->expectation == EXPECTS_HEADER)
		return ioctl(connection->fd, FIONREAD, &waiting) == 0 && waiting > 0;
	return connection->expectation == EXPECTS_READING &&
	       ioctl(connection->fd, SIOCOUTQ, &waiting) == 0 && waiting == 0;
}

/* Extends the deadline by the bytes that the client's kernel acknowledged since the last call.
 * The library does not report the progress of an answer, but the kernel counts these bytes. */
static void credit_reading(struct connections *connections, struct connection *connection,
			   uint64_t now_ns)
{
	uint64_t acknowledged = acknowledged_bytes(connection->fd);

	connection->deadline_ns = connection_deadline(
		connection->deadline_ns, now_ns, acknowledged - connection->acknowledged_bytes,
		connections->limits.answer_min_rate, connections->limits.body_grace_ns);
	connection->acknowledged_bytes = acknowledged;
}

static void close_now(struct connections *connections, struct connection *connection)
{
	static const enum http_closed reasons[] = {
		[EXPECTS_NOTHING] = HTTP_CLOSED_HEADER, /* has no deadline */
		[EXPECTS_HEADER] = HTTP_CLOSED_HEADER,
		[EXPECTS_BODY] = HTTP_CLOSED_BODY,
		[EXPECTS_READING] = HTTP_CLOSED_READING,
	};
	const struct linger at_once = { .l_onoff = 1 };

	connection->deadline_ns = NO_DEADLINE;
	count_closed(connections, reasons[connection->expectation], &connection->client);
	/* Resets the connection. Otherwise the kernel would keep the unsent bytes for minutes. */
	if (connection->expectation == EXPECTS_READING)
		(void)setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	(void)shutdown(connection->fd, SHUT_RDWR);
}

static void close_overdue(struct connections *connections, uint64_t now_ns)
{
	for (size_t i = 0; i < N_BUCKETS; i++) {
		for (struct connection *at = connections->buckets[i]; at; at = at->next) {
			if (at->expectation == EXPECTS_READING && at->deadline_ns != NO_DEADLINE)
				credit_reading(connections, at, now_ns);
			if (at->cancel && is_closed_by_client(at))
				cancel_request(at->cancel);
			if (now_ns > at->deadline_ns && !server_is_behind(at))
				close_now(connections, at);
		}
	}
}

static void log_closed(struct connections *connections, uint64_t now_ns)
{
	static const char *const reasons[] = {
#define X(id, name, reason) reason,
		HTTP_CLOSED(X)
#undef X
	};

	for (unsigned int reason = 0; reason < HTTP_CLOSED_COUNT; reason++) {
		struct unlogged *unlogged = &connections->unlogged[reason];
		char client[CLIENT_ADDRESS_TEXT_SIZE];

		if (unlogged->count == 0 || now_ns < unlogged->next_ns)
			continue;
		client_address_format(&unlogged->latest, client);
		log_warn("closed %u connections because %s; the latest was from client %s",
			 unlogged->count, reasons[reason], client);
		unlogged->count = 0;
		unlogged->next_ns = now_ns + LOG_INTERVAL_NS;
	}
}

/* Returns after TICK_MS, or earlier when wake() is called or a lingering socket is readable. */
static void wait_for_work(struct connections *connections)
{
	struct pollfd fds[1 + LINGERING_SOCKETS_MAX] = { { .fd = connections->wake,
							   .events = POLLIN } };
	nfds_t count;
	eventfd_t ignored;

	(void)pthread_mutex_lock(&connections->lock);
	count = 1 + lingering_sockets_poll(&connections->lingering, fds + 1);
	(void)pthread_mutex_unlock(&connections->lock);
	(void)poll(fds, count, TICK_MS);
	(void)eventfd_read(connections->wake, &ignored);
}

static void *watch(void *arg)
{
	struct connections *connections = arg;
	uint64_t tick_ns = 0;
	bool stops;

	do {
		bool ticks;
		uint64_t now_ns;

		wait_for_work(connections);
		now_ns = clock_monotonic_ns(connections->clock);
		(void)pthread_mutex_lock(&connections->lock);
		stops = connections->stops;
		lingering_sockets_read(&connections->lingering, now_ns);
		ticks = now_ns >= tick_ns;
		if (ticks) {
			close_overdue(connections, now_ns);
			log_closed(connections, now_ns);
			tick_ns = now_ns + TICK_MS * NSEC_PER_MSEC;
		}
		(void)pthread_mutex_unlock(&connections->lock);
		if (ticks)
			token_usage_log(connections->token_usage, now_ns);
	} while (!stops);
	return NULL;
}

int connections_new(const struct http_server_options *options, struct token_usage *token_usage,
		    struct connections **ret_connections)
{
	scoped(connections_freep) struct connections *connections = calloc(1, sizeof(*connections));
	int r;

	if (!connections)
		return -ENOMEM;
	connections->limits = options->limits;
	connections->metrics = options->metrics;
	connections->clock = options->clock;
	connections->token_usage = token_usage;
	(void)pthread_mutex_init(&connections->lock, NULL);
	connections->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (connections->wake < 0)
		return -errno;
	r = pthread_create(&connections->thread, NULL, watch, connections);
	if (r != 0)
		return -r;
	connections->has_thread = true;
	*ret_connections = take_ptr(connections);
	return 0;
}

struct connections *connections_free(struct connections *connections)
{
	if (!connections)
		return NULL;
	if (connections->has_thread) {
		(void)pthread_mutex_lock(&connections->lock);
		connections->stops = true;
		(void)pthread_mutex_unlock(&connections->lock);
		wake(connections);
		(void)pthread_join(connections->thread, NULL);
	}
	lingering_sockets_release(&connections->lingering);
	for (size_t i = 0; i < N_BUCKETS; i++)
		assert(!connections->buckets[i]);
	if (connections->wake >= 0)
		(void)close(connections->wake);
	(void)pthread_mutex_destroy(&connections->lock);
	free(connections);
	return NULL;
}
