/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nursery waits for each child and thereby learns its CPU time. Until then the kernel does not
 * reuse the child's pid, so children can safely be killed by pid.
 */
#include "agent/helper/nursery.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/helper/finder_process.h"
#include "agent/helper/message.h"
#include "agent/helper/parser_process.h"
#include "agent/helper/process_facts.h"
#include "agent/helper/reader_process.h"
#include "common/capabilities.h"
#include "common/sandbox.h"

/* Maximum number of helpers at a time, including those that hang and cannot be killed. */
#define MAX_CHILDREN 64

/* Descriptor number of the socket in each helper. */
#define HELPER_SOCKET_FD 3

enum order_type {
	ORDER_FORK,
	ORDER_KILL,
	ORDER_REPORT, /* answered by a struct nursery_usage */
};

struct order {
	uint32_t type; /* enum order_type */
	uint32_t id;
	uint32_t kind; /* enum helper_kind */
};

/*
 * At most MAX_CHILDREN helpers run, and as many again may have been ordered and not forked.
 */
#define MAX_KEPT_KILLS (2 * MAX_CHILDREN)

struct nursery {
	int socket;
	atomic_uint last_id;
	struct nursery_usage usage; /* the latest report */
	pthread_mutex_t lock;       /* protects the following fields */
	uint32_t kept_kills[MAX_KEPT_KILLS];
	size_t n_kept_kills;
};

/* ---- in the nursery process ---------------------------------------------------------------- */

struct child {
	uint32_t id;
	pid_t pid; /* 0: free entry */
	bool is_compiler;
};

struct nursery_state {
	int socket;
	int signal_fd; /* SIGCHLD */
	struct child children[MAX_CHILDREN];
	uint64_t ended_cpu_ns;           /* of children that have ended, without compilers */
	uint64_t ended_compilers_cpu_ns; /* of compilers that have ended */
};

static struct child *find_free_entry(struct nursery_state *state)
{
	for (size_t i = 0; i < MAX_CHILDREN; i++)
		if (state->children[i].pid == 0)
			return &state->children[i];
	return NULL;
}

static uint64_t ns_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * NSEC_PER_SEC + (uint64_t)time->tv_usec * NSEC_PER_USEC;
}

/* Waits for all children that have ended, because one signal may stand for several. */
static void reap(struct nursery_state *state)
{
	struct signalfd_siginfo signal;
	struct rusage usage;

	(void)read(state->signal_fd, &signal, sizeof(signal));
	for (size_t i = 0; i < MAX_CHILDREN; i++) {
		struct child *child = &state->children[i];

		if (child->pid == 0 || wait4(child->pid, NULL, WNOHANG, &usage) != child->pid)
			continue;
		*(child->is_compiler ? &state->ended_compilers_cpu_ns : &state->ended_cpu_ns) +=
			ns_of(&usage.ru_utime) + ns_of(&usage.ru_stime);
		child->pid = 0;
	}
}

/*
 * Moves the socket to HELPER_SOCKET_FD, opens /dev/null as 0 to 2, and closes all other
 * descriptors.
 */
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
	sigset_t none;

	/* The signals that the nursery ignores stay ignored: helpers end with the nursery. */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (arrange_descriptors(socket) < 0)
		_exit(EXIT_FAILURE);
	if (kind == HELPER_FINDER)
		finder_process_run(HELPER_SOCKET_FD, parent);
	if (kind == HELPER_READER || kind == HELPER_TOUCHER)
		reader_process_run(HELPER_SOCKET_FD, parent,
				   kind == HELPER_READER ? "hearth-reader" : "hearth-toucher");
	parser_process_run(HELPER_SOCKET_FD, parent,
			   kind == HELPER_PARSER ? "hearth-parser" : "hearth-compiler",
			   &parser_limits);
}

static void fork_child(struct nursery_state *state, const struct order *order, int socket)
{
	struct child *child = find_free_entry(state);
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
	child->pid = pid;
	child->is_compiler = order->kind == HELPER_COMPILER || order->kind == HELPER_SLOW_COMPILER;
}

static void kill_child(struct nursery_state *state, uint32_t id)
{
	for (size_t i = 0; i < MAX_CHILDREN; i++)
		if (state->children[i].pid > 0 && state->children[i].id == id)
			(void)kill(state->children[i].pid, SIGKILL);
}

/* Does not wait: an agent that does not read its reports misses some. */
static void report(struct nursery_state *state, struct helper_message *message)
{
	struct nursery_usage usage = {
		.cpu_ns = state->ended_cpu_ns + process_cpu_ns(getpid()),
		.memory_bytes = process_anon_bytes(getpid()),
		.compilers_cpu_ns = state->ended_compilers_cpu_ns,
	};

	for (size_t i = 0; i < MAX_CHILDREN; i++) {
		const struct child *child = &state->children[i];

		if (child->pid == 0)
			continue;
		*(child->is_compiler ? &usage.compilers_cpu_ns : &usage.cpu_ns) +=
			process_cpu_ns(child->pid);
		*(child->is_compiler ? &usage.compilers_memory_bytes : &usage.memory_bytes) +=
			process_anon_bytes(child->pid);
		usage.n_helpers++;
	}
	memcpy(message->bytes, &usage, sizeof(usage));
	message->size = sizeof(usage);
	message->n_fds = 0;
	(void)helper_send(state->socket, message, MSG_DONTWAIT);
}

static void handle_order(struct nursery_state *state, struct helper_message *message)
{
	struct order order;

	if (message->size != sizeof(order))
		return;
	memcpy(&order, message->bytes, sizeof(order));
	if (order.type == ORDER_KILL)
		kill_child(state, order.id);
	else if (order.type == ORDER_FORK && message->n_fds == 1)
		fork_child(state, &order, message->fds[0]);
	helper_message_close(message);
	if (order.type == ORDER_REPORT)
		report(state, message);
}

static int watch_children(void)
{
	sigset_t ended;

	(void)sigemptyset(&ended);
	(void)sigaddset(&ended, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &ended, NULL) < 0)
		return -errno;
	return signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK);
}

_Noreturn static void run(int socket)
{
	struct helper_message message;
	struct nursery_state state = { .socket = socket, .signal_fd = watch_children() };
	struct pollfd polled[] = { { .fd = socket, .events = POLLIN },
				   { .fd = state.signal_fd, .events = POLLIN } };
	int r = state.signal_fd < 0 ? 0 : 1;

	/* 0: the agent ended or called nursery_free(). */
	while (r != 0) {
		(void)poll(polled, ARRAY_SIZE(polled), -1);
		if (polled[1].revents)
			reap(&state);
		r = helper_receive(socket, &message, MSG_DONTWAIT);
		if (r == 1)
			handle_order(&state, &message);
	}
	for (size_t i = 0; i < MAX_CHILDREN; i++)
		if (state.children[i].pid > 0)
			(void)kill(state.children[i].pid, SIGKILL);
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

/* So that a reader of the agent's output sees end of file when the agent ends. */
static void close_standard_descriptors(void)
{
	scoped_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
}

/*
 * Keeps the capabilities that finders and readers need, and those for running parsers as another
 * user and for killing helpers.
 */
static int give_up_capabilities(void)
{
	const uint64_t own =
		CAPABILITY_BIT(CAP_SETUID) | CAPABILITY_BIT(CAP_SETGID) | CAPABILITY_BIT(CAP_KILL);
	uint64_t permitted;
	int r;

	r = capabilities_permitted(&permitted);
	if (r < 0)
		return r;
	return capabilities_limit(finder_process_capabilities(permitted) |
				  reader_process_capabilities(permitted) | (permitted & own));
}

_Noreturn static void become_nursery(int socket, pid_t parent, int argc, char **argv)
{
	/*
	 * A signal to the process group must end only the agent, which may still need helpers. The
	 * nursery and its helpers end with the agent.
	 */
	static const int ignored[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE };

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	/* If SIGCHLD were ignored, the kernel would discard the CPU time of ended children. */
	(void)signal(SIGCHLD, SIG_DFL);
	forget_arguments(argc, argv);
	close_standard_descriptors();
	(void)prctl(PR_SET_NAME, "hearth-nursery", 0, 0, 0);
	if (give_up_capabilities() < 0 || sandbox_end_with_parent(parent) < 0)
		_exit(EXIT_FAILURE);
	run(socket);
}

/* ---- in the agent -------------------------------------------------------------------------- */

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
	(void)pthread_mutex_init(&nursery->lock, NULL);
	*ret_nursery = take_ptr(nursery);
	return 0;
}

struct nursery *nursery_free(struct nursery *nursery)
{
	if (!nursery)
		return NULL;
	(void)close(nursery->socket);
	(void)pthread_mutex_destroy(&nursery->lock);
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
	/* While kills are kept, those helpers may fill the nursery's table of children. */
	r = nursery_flush(nursery) == 0 ? send_order(nursery, &order, sockets[1]) : -EAGAIN;
	(void)close(sockets[1]);
	if (r < 0) {
		(void)close(sockets[0]);
		return r;
	}
	*ret_id = order.id;
	*ret_socket = sockets[0];
	return 0;
}

static int send_kill(struct nursery *nursery, uint32_t id)
{
	const struct order order = { .type = ORDER_KILL, .id = id };

	return send_order(nursery, &order, -1);
}

void nursery_kill(struct nursery *nursery, uint32_t id)
{
	int r;

	(void)nursery_flush(nursery);
	r = send_kill(nursery, id);
	if (r == 0 || r == -EPIPE)
		return;
	(void)pthread_mutex_lock(&nursery->lock);
	/* There is room for all helpers, because nothing is forked while kills are kept. */
	if (nursery->n_kept_kills < MAX_KEPT_KILLS)
		nursery->kept_kills[nursery->n_kept_kills++] = id;
	(void)pthread_mutex_unlock(&nursery->lock);
}

size_t nursery_flush(struct nursery *nursery)
{
	size_t n_kept, n_sent = 0;

	(void)pthread_mutex_lock(&nursery->lock);
	while (n_sent < nursery->n_kept_kills) {
		int r = send_kill(nursery, nursery->kept_kills[n_sent]);

		if (r < 0 && r != -EPIPE)
			break;
		n_sent++;
	}
	n_kept = nursery->n_kept_kills - n_sent;
	memmove(nursery->kept_kills, nursery->kept_kills + n_sent,
		n_kept * sizeof(*nursery->kept_kills));
	nursery->n_kept_kills = n_kept;
	(void)pthread_mutex_unlock(&nursery->lock);
	return n_kept;
}

/*
 * The CPU time of a running helper has a different precision than that of an ended one. The sums
 * must not decrease.
 */
static void take_report(struct nursery *nursery, const struct helper_message *message)
{
	struct nursery_usage usage;

	if (message->size != sizeof(usage))
		return;
	memcpy(&usage, message->bytes, sizeof(usage));
	usage.cpu_ns = MAX(usage.cpu_ns, nursery->usage.cpu_ns);
	usage.compilers_cpu_ns = MAX(usage.compilers_cpu_ns, nursery->usage.compilers_cpu_ns);
	nursery->usage = usage;
}

void nursery_usage(struct nursery *nursery, struct nursery_usage *ret_usage)
{
	scoped_free struct helper_message *message = malloc(sizeof(*message));
	const struct order order = { .type = ORDER_REPORT };

	while (message && helper_receive(nursery->socket, message, MSG_DONTWAIT) == 1) {
		take_report(nursery, message);
		helper_message_close(message);
	}
	(void)send_order(nursery, &order, -1);
	*ret_usage = nursery->usage;
}
