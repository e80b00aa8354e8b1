/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Starts and stops one libmicrohttpd daemon per listen address and one worker pool per lane.
 */

#include "symbolizer/http/server.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/condition.h"
#include "common/log.h"
#include "common/scoped.h"
#include "symbolizer/http/connections.h"
#include "symbolizer/http/exchange.h"
#include "symbolizer/http/listen.h"

#define MAX_LISTEN_ADDRESSES 8

/* These threads only parse headers and copy bytes. Slow work is done by the workers. */
#define IO_THREADS_PER_ADDRESS 2u

/* Headers, query string and socket buffers of one connection. */
#define CONNECTION_MEMORY_BYTES (32 * KIB)

/* Longest time that a stop waits for slow clients. */
#define STOP_PATIENCE_S 10

struct http_server {
	struct exchange_host host;
	struct MHD_Daemon *daemons[MAX_LISTEN_ADDRESSES];
	struct listen_address addresses[MAX_LISTEN_ADDRESSES];
	unsigned int n_addresses;
	unsigned int n_daemons;
	unsigned int port;
};

static int parse_addresses(struct http_server *server, const char *list,
			   char ret_message[HTTP_SERVER_MESSAGE_SIZE])
{
	while (*list) {
		size_t length = strcspn(list, "\n");
		int r;

		if (server->n_addresses == MAX_LISTEN_ADDRESSES) {
			(void)snprintf(ret_message, HTTP_SERVER_MESSAGE_SIZE,
				       "listen: more than %d addresses; remove some",
				       MAX_LISTEN_ADDRESSES);
			return -EINVAL;
		}
		r = listen_address_parse(list, length, &server->addresses[server->n_addresses],
					 ret_message);
		if (r < 0)
			return r;
		server->n_addresses++;
		list += length;
		list += *list == '\n';
	}
	if (server->n_addresses == 0) {
		(void)snprintf(ret_message, HTTP_SERVER_MESSAGE_SIZE,
			       "listen: there is no address to listen on; set it to an address "
			       "such as 127.0.0.1:20416");
		return -EINVAL;
	}
	return 0;
}

/* Refuses to listen on a non-loopback address without tokens, unless options.insecure is set:
 * everybody with network access could read and write all data. */
static int check_exposure(struct http_server *server, char ret_message[HTTP_SERVER_MESSAGE_SIZE])
{
	bool has_tokens = auth_has_tokens(server->host.options.auth);
	char text[LISTEN_TEXT_SIZE];

	server->host.loopback_only = !has_tokens;
	for (unsigned int i = 0; i < server->n_addresses; i++) {
		if (has_tokens || listen_address_is_loopback(&server->addresses[i]))
			continue;
		server->host.loopback_only = false;
		if (server->host.options.insecure)
			continue;
		listen_address_format(&server->addresses[i], text);
		(void)snprintf(ret_message, HTTP_SERVER_MESSAGE_SIZE,
			       "refusing to listen on '%s' without tokens, because everybody who "
			       "reaches it could read and change all profiles; give --tokens FILE "
			       "(hearth-symbolizer --tokens FILE --make-token NAME --scopes "
			       "read,ingest creates it), listen on 127.0.0.1, or give --insecure",
			       text);
		return -EPERM;
	}
	return 0;
}

printf_like(2, 0) static void log_library_message(void *arg, const char *format, va_list args)
{
	char message[256];

	(void)arg;
	if (!log_enabled(LOG_LEVEL_DEBUG))
		return;
	(void)vsnprintf(message, sizeof(message), format, args);
	message[strcspn(message, "\n")] = '\0';
	log_debug("http: %s", message);
}

/*
 * Percent-decodes @text in place. A decoded NUL would end the text early, and "/%00" would be
 * served as "/". It is replaced by 0x01, which occurs in no path and no name.
 */
static size_t decode_percent(void *arg, struct MHD_Connection *connection, char *text)
{
	size_t length = MHD_http_unescape(text);

	(void)arg;
	(void)connection;
	for (size_t i = 0; i < length; i++)
		if (text[i] == '\0')
			text[i] = '\1';
	return length;
}

static struct MHD_Daemon *start_daemon(struct http_server *server, int fd)
{
	unsigned int connections =
		MAX(server->host.options.max_connections, IO_THREADS_PER_ADDRESS);

	return MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
		connections_on_accept, server->host.connections, exchange_on_access, &server->host,
		MHD_OPTION_EXTERNAL_LOGGER, log_library_message, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_THREAD_POOL_SIZE, IO_THREADS_PER_ADDRESS, MHD_OPTION_CONNECTION_LIMIT,
		connections, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)HTTP_IDLE_TIMEOUT_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY_BYTES,
		MHD_OPTION_UNESCAPE_CALLBACK, decode_percent, NULL, MHD_OPTION_NOTIFY_COMPLETED,
		exchange_on_completed, &server->host, MHD_OPTION_NOTIFY_CONNECTION,
		connections_on_notify, server->host.connections, MHD_OPTION_END);
}

static int start_daemons(struct http_server *server, char ret_message[HTTP_SERVER_MESSAGE_SIZE])
{
	for (unsigned int i = 0; i < server->n_addresses; i++) {
		char text[LISTEN_TEXT_SIZE];
		scoped_fd int fd = -1;
		int r, port;

		r = listen_open(&server->addresses[i], &fd, ret_message);
		if (r < 0)
			return r;
		port = listen_port(fd);
		server->daemons[i] = start_daemon(server, fd);
		if (!server->daemons[i]) {
			listen_address_format(&server->addresses[i], text);
			(void)snprintf(
				ret_message, HTTP_SERVER_MESSAGE_SIZE,
				"cannot serve on '%s': too few threads or file descriptors; reduce "
				"max_connections, or raise the service's limits of tasks and open "
				"files",
				text);
			return -ENOMEM;
		}
		(void)take_fd(fd);
		server->n_daemons++;
		if (i == 0)
			server->port = (unsigned int)MAX(port, 0);
	}
	return 0;
}

static const struct {
	unsigned int n_workers, max_waiting;
} lanes[] = {
#define X(id, name, n_workers, max_waiting, ...) { n_workers, max_waiting },
	HTTP_LANES(X)
#undef X
};

static unsigned int n_workers(const struct http_server_options *options, unsigned int lane)
{
	return lanes[lane].n_workers ? lanes[lane].n_workers : options->n_workers;
}

static unsigned int max_waiting(const struct http_server_options *options, unsigned int lane)
{
	if (options->max_waiting > 0)
		return options->max_waiting;
	return lanes[lane].max_waiting ? lanes[lane].max_waiting : 2 * options->max_connections;
}

/* Returns the share of @all for one token; the rest stays for the other tokens. */
static uint64_t most_of(uint64_t all)
{
	return all - (all + 3) / 4;
}

/*
 * Sets the limits per token. All agents of a fleet may share one token. Each agent has two
 * connections (batches and uploads), so half of max_connections are for batches, and all batches
 * fit at the same moment. A lane with a queue for all connections refuses no token.
 */
static int limit_tokens(struct exchange_host *host)
{
	const struct http_server_options *options = &host->options;
	struct token_limits limits = {
		.max = {
			[TOKEN_REQUESTS] = options->limits.max_requests_per_token,
			[TOKEN_UPLOADS] = MAX(options->max_connections / 8, 1u),
			[TOKEN_BODIES] = most_of(HTTP_MAX_HELD_BODY_BYTES),
			[TOKEN_ANSWERS] = options->max_held_answer_bytes / 2,
		},
	};

	for (unsigned int lane = 0; lane < HTTP_LANE_COUNT; lane++)
		limits.max[TOKEN_LANES + lane] =
			worker_pool_client_share(n_workers(options, lane)) +
			most_of(max_waiting(options, lane));
	return token_usage_new(&limits, &host->token_usage);
}

static int host_init(struct exchange_host *host, const struct http_server_options *options)
{
	int r;

	host->options = *options;
	if (host->options.max_held_answer_bytes == 0)
		host->options.max_held_answer_bytes = HTTP_MAX_HELD_ANSWER_BYTES;
	(void)pthread_mutex_init(&host->lock, NULL);
	condition_init(&host->idle);
	for (unsigned int lane = 0; lane < HTTP_LANE_COUNT; lane++) {
		r = worker_pool_new(n_workers(options, lane), max_waiting(options, lane),
				    &host->workers[lane]);
		if (r < 0)
			return r;
	}
	r = limit_tokens(host);
	return r < 0 ? r : connections_new(options, host->token_usage, &host->connections);
}

int http_server_start(const struct http_server_options *options, struct http_server **ret_server,
		      char ret_message[HTTP_SERVER_MESSAGE_SIZE])
{
	scoped(http_server_freep) struct http_server *server = calloc(1, sizeof(*server));
	int r;

	(void)snprintf(
		ret_message, HTTP_SERVER_MESSAGE_SIZE,
		"cannot start the HTTP server: out of memory; free memory, or raise the memory "
		"limit of the service");
	if (!server)
		return -ENOMEM;
	r = host_init(&server->host, options);
	if (r < 0) {
		(void)snprintf(
			ret_message, HTTP_SERVER_MESSAGE_SIZE,
			"cannot start the HTTP server with %u threads for each kind of request: "
			"%s; reduce threads, or raise the service's limits of tasks and memory",
			options->n_workers, strerror(-r));
		return r;
	}
	r = parse_addresses(server, options->listen, ret_message);
	if (r < 0)
		return r;
	r = check_exposure(server, ret_message);
	if (r < 0)
		return r;
	r = start_daemons(server, ret_message);
	if (r < 0)
		return r;
	*ret_server = take_ptr(server);
	return 0;
}

unsigned int http_server_port(const struct http_server *server)
{
	return server->port;
}

unsigned int http_server_connections(const struct http_server *server)
{
	unsigned int connections = 0;

	for (unsigned int i = 0; i < server->n_daemons; i++) {
		const union MHD_DaemonInfo *info = MHD_get_daemon_info(
			server->daemons[i], MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

		if (info)
			connections += info->num_connections;
	}
	return connections;
}

static void wait_until_idle(struct exchange_host *host)
{
	uint64_t deadline_ns = clock_monotonic_ns(&system_clock) + STOP_PATIENCE_S * NSEC_PER_SEC;

	(void)pthread_mutex_lock(&host->lock);
	while (host->n_exchanges > 0 && condition_wait_until(&host->idle, &host->lock, deadline_ns))
		;
	if (host->n_exchanges > 0)
		log_warn("%u requests did not finish within %d s, dropping them", host->n_exchanges,
			 STOP_PATIENCE_S);
	(void)pthread_mutex_unlock(&host->lock);
}

/*
 * Stops accepting connections. MHD_quiesce_daemon() cannot be used: with a thread pool its
 * epoll_ctl() races with that of its threads, and the loser ends the process (libmicrohttpd 0.9.75
 * and later, "Failed to remove listen FD from epoll set"). Instead, dup3() replaces the listening
 * socket by a descriptor that is never ready: the kernel closes the socket and removes it from the
 * epoll sets. The library closes the rest.
 */
static void close_listener(struct MHD_Daemon *daemon)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_LISTEN_FD);
	scoped_fd int never_ready = eventfd(0, EFD_CLOEXEC);

	if (info && (never_ready < 0 || dup3(never_ready, info->listen_fd, O_CLOEXEC) < 0))
		(void)shutdown(info->listen_fd,
			       SHUT_RDWR); /* the threads busy-wait until they end */
}

struct http_server *http_server_free(struct http_server *server)
{
	if (!server)
		return NULL;

	atomic_store(&server->host.stopping, true);
	for (unsigned int i = 0; i < server->n_daemons; i++)
		close_listener(server->daemons[i]);
	if (server->n_daemons > 0)
		wait_until_idle(&server->host);

	/* The library requires that no connection is suspended when it stops. So let the workers
	 * finish their jobs first. */
	for (unsigned int lane = 0; lane < HTTP_LANE_COUNT; lane++) {
		if (server->host.workers[lane])
			worker_pool_close(server->host.workers[lane]);
	}
	for (unsigned int i = 0; i < server->n_daemons; i++)
		MHD_stop_daemon(server->daemons[i]);
	(void)connections_free(server->host.connections);
	(void)token_usage_free(server->host.token_usage);

	for (unsigned int lane = 0; lane < HTTP_LANE_COUNT; lane++)
		(void)worker_pool_free(server->host.workers[lane]);
	(void)pthread_cond_destroy(&server->host.idle);
	(void)pthread_mutex_destroy(&server->host.lock);
	free(server);
	return NULL;
}
