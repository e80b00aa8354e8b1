/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel reaps the children, because SIGCHLD is ignored. They are killed by their pidfds, which, unlike pids, never
 * refer to another process later.
 */
#include "agent/helper/nursery.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/helper/finder_process.h"
#include "agent/helper/message.h"
#include "agent/helper/parser_process.h"
#include "agent/helper/reader_process.h"
#include "common/capabilities.h"
#include "common/sandbox.h"

/* Most helpers at a time, including those that hang and cannot be killed. */
#define MAX_CHILDREN 64

/* The number of the socket in each helper. */
#define HELPER_SOCKET_FD 3

enum order_type {
	ORDER_FORK,
	ORDER_KILL,
};

struct order {
	uint32_t type; /* enum order_type */
	uint32_t id;
	uint32_t kind; /* enum helper_kind */
};

struct nursery {
	int socket;
	atomic_uint last_id;
};

/* ---- in the nursery process ----------------------------------------------------------------------------------- */

struct child {
	uint32_t id;
	int pidfd; /* -1: the entry is free */
};

struct keeper {
	int socket;
	struct child children[MAX_CHILDREN];
};

static bool has_ended(int pidfd)
{
	struct pollfd polled = { .fd = pidfd, .events = POLLIN };

	return poll(&polled, 1, 0) > 0;
}

static struct child *find_free_entry(struct keeper *keeper)
{
	for (size_t i = 0; i < MAX_CHILDREN; i++) {
		struct child *child = &keeper->children[i];

		if (child->pidfd >= 0 && has_ended(child->pidfd)) {
			(void)close(child->pidfd);
			child->pidfd = -1;
		}
		if (child->pidfd < 0)
			return child;
	}
	return NULL;
}

/* Leaves the socket at HELPER_SOCKET_FD and /dev/null at 0 to 2, and closes all other descriptors. */
static int arrange_descriptors(int socket)
{
	scoped_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -errno;
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (dup2(null, fd) < 0)
			return -errno;
	if (socket != HELPER_SOCKET_FD && dup2(socket, HELPER_SOCKET_FD) < 0)
		return -errno;
	if (null == HELPER_SOCKET_FD)
		null = -1;
	return close_range(HELPER_SOCKET_FD + 1, ~0U, 0) < 0 ? -errno : 0;
}

_Noreturn static void run_child(int socket, enum helper_kind kind, pid_t parent)
{
	/* The other signals that the nursery ignores are ignored here as well: helpers end with the nursery. */
	(void)signal(SIGCHLD, SIG_DFL);
	if (arrange_descriptors(socket) < 0)
		_exit(EXIT_FAILURE);
	if (kind == HELPER_FINDER)
		finder_process_run(HELPER_SOCKET_FD, parent);
	if (kind == HELPER_READER || kind == HELPER_TOUCHER)
		reader_process_run(HELPER_SOCKET_FD, parent,
				   kind == HELPER_READER ? "hearth-reader" : "hearth-toucher");
	parser_process_run(HELPER_SOCKET_FD, parent, kind == HELPER_PARSER ? "hearth-parser" : "hearth-compiler");
}

static void fork_child(struct keeper *keeper, const struct order *order, int socket)
{
	struct child *child = find_free_entry(keeper);
	const pid_t self = getpid();
	pid_t pid;

	if (!child || order->kind >= HELPER_KINDS)
		return;
	pid = fork();
	if (pid == 0)
		run_child(socket, order->kind, self);
	if (pid < 0)
		return;
	child->id = order->id;
	child->pidfd = pidfd_open(pid, 0);
	if (child->pidfd < 0)
		(void)kill(pid, SIGKILL);
}

static void kill_child(struct keeper *keeper, uint32_t id)
{
	for (size_t i = 0; i < MAX_CHILDREN; i++)
		if (keeper->children[i].pidfd >= 0 && keeper->children[i].id == id)
			(void)pidfd_send_signal(keeper->children[i].pidfd, SIGKILL, NULL, 0);
}

static void obey(struct keeper *keeper, struct helper_message *message)
{
	struct order order;

	if (message->size != sizeof(order))
		return;
	memcpy(&order, message->bytes, sizeof(order));
	if (order.type == ORDER_KILL)
		kill_child(keeper, order.id);
	else if (message->n_fds == 1)
		fork_child(keeper, &order, message->fds[0]);
}

_Noreturn static void run(int socket)
{
	struct helper_message message;
	struct keeper keeper = { .socket = socket };

	for (size_t i = 0; i < MAX_CHILDREN; i++)
		keeper.children[i].pidfd = -1;
	for (;;) {
		int r = helper_receive(socket, &message, 0);

		/* The agent ended, or called nursery_free(). */
		if (r == 0)
			break;
		if (r < 0)
			continue;
		obey(&keeper, &message);
		helper_message_close(&message);
	}
	for (size_t i = 0; i < MAX_CHILDREN; i++)
		if (keeper.children[i].pidfd >= 0)
			(void)pidfd_send_signal(keeper.children[i].pidfd, SIGKILL, NULL, 0);
	_exit(EXIT_SUCCESS);
}

/* Arguments and environment may contain the server's token, which no helper may read. */
static void forget_arguments(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		explicit_bzero(argv[i], strlen(argv[i]));
	for (char **variable = environ; variable && *variable; variable++)
		explicit_bzero(*variable, strlen(*variable));
	(void)clearenv();
}

/* So that a reader of the agent's output sees its end when the agent ends, not when the nursery does. */
static void close_standard_descriptors(void)
{
	scoped_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
}

/* Keeps what finders and readers need, and what is needed to run parsers as another user and to kill them. */
static int give_up_capabilities(void)
{
	const uint64_t own = CAPABILITY_BIT(CAP_SETUID) | CAPABILITY_BIT(CAP_SETGID) | CAPABILITY_BIT(CAP_KILL);
	uint64_t permitted;
	int r;

	r = capabilities_permitted(&permitted);
	return r < 0 ? r : capabilities_limit(finder_process_capabilities(permitted) |
					      reader_process_capabilities(permitted) | (permitted & own));
}

_Noreturn static void become_nursery(int socket, pid_t parent, int argc, char **argv)
{
	/* A signal to the process group must end the agent alone, which may still need helpers; they end with it. */
	static const int ignored[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGCHLD };

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	forget_arguments(argc, argv);
	close_standard_descriptors();
	(void)prctl(PR_SET_NAME, "hearth-nursery", 0, 0, 0);
	if (give_up_capabilities() < 0 || sandbox_end_with_parent(parent) < 0)
		_exit(EXIT_FAILURE);
	run(socket);
}

/* ---- in the agent --------------------------------------------------------------------------------------------- */

int nursery_start(int argc, char **argv, struct nursery **ret_nursery)
{
	scoped_free struct nursery *nursery = calloc(1, sizeof(*nursery));
	const pid_t self = getpid();
	int sockets[2];
	pid_t pid;
	int r;

	if (!nursery)
		return -ENOMEM;
	r = helper_socketpair(sockets);
	if (r < 0)
		return r;
	pid = fork();
	if (pid == 0) {
		(void)close(sockets[0]);
		become_nursery(sockets[1], self, argc, argv);
	}
	r = pid < 0 ? -errno : 0;
	(void)close(sockets[1]);
	if (r < 0) {
		(void)close(sockets[0]);
		return r;
	}
	nursery->socket = sockets[0];
	*ret_nursery = take_ptr(nursery);
	return 0;
}

struct nursery *nursery_free(struct nursery *nursery)
{
	if (!nursery)
		return NULL;
	(void)close(nursery->socket);
	free(nursery);
	return NULL;
}

static int send_order(struct nursery *nursery, const struct order *order, int fd)
{
	scoped_free struct helper_message *message = malloc(sizeof(*message));

	if (!message)
		return -ENOMEM;
	memcpy(message->bytes, order, sizeof(*order));
	message->size = sizeof(*order);
	message->fds[0] = fd;
	message->n_fds = fd >= 0;
	return helper_send(nursery->socket, message, MSG_DONTWAIT);
}

int nursery_fork(struct nursery *nursery, enum helper_kind kind, uint32_t *ret_id, int *ret_socket)
{
	struct order order = { .type = ORDER_FORK, .kind = kind };
	int sockets[2];
	int r;

	r = helper_socketpair(sockets);
	if (r < 0)
		return r;
	order.id = atomic_fetch_add(&nursery->last_id, 1) + 1;
	r = send_order(nursery, &order, sockets[1]);
	(void)close(sockets[1]);
	if (r < 0) {
		(void)close(sockets[0]);
		return r;
	}
	*ret_id = order.id;
	*ret_socket = sockets[0];
	return 0;
}

void nursery_kill(struct nursery *nursery, uint32_t id)
{
	const struct order order = { .type = ORDER_KILL, .id = id };

	(void)send_order(nursery, &order, -1);
}
