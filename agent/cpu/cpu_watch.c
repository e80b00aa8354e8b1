/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listens to the kernel's uevents with a socket filter that passes only "online@" and "offline@".
 * Without the filter, each start and stop of a container would wake the agent with hundreds of
 * uevents about network devices.
 */
#include "agent/cpu/cpu_watch.h"

#include <linux/filter.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/file.h"
#include "common/log.h"

#define UEVENT_GROUP_KERNEL 1

/* The first line of a message is enough. The kernel's messages are shorter than 2 KiB. */
#define UEVENT_BYTES 2048

struct cpu_watch {
	int fd;
	struct cpu_vec online;
};

static void scoped_release(struct cpu_vec *cpus)
{
	vec_release(cpus);
}

static int filter_uevents(int fd)
{
	/* Compares the first four bytes of the message. */
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x6f6e6c69 /* "onli" */, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x6f66666c /* "offl" */, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UEVENT_BYTES),
	};
	struct sock_fprog program = { .len = ARRAY_SIZE(steps), .filter = steps };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno
											   : 0;
}

static int open_socket(void)
{
	const struct sockaddr_nl address = { .nl_family = AF_NETLINK,
					     .nl_groups = UEVENT_GROUP_KERNEL };
	scoped_fd int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				  NETLINK_KOBJECT_UEVENT);
	int r;

	if (fd < 0)
		return -errno;
	r = filter_uevents(fd);
	if (r < 0)
		return r;
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return take_fd(fd);
}

int cpu_watch_new(struct cpu_watch **ret_watch)
{
	scoped(cpu_watch_freep) struct cpu_watch *watch = calloc(1, sizeof(*watch));
	int r;

	if (!watch)
		return -ENOMEM;
	/* Open the socket before the list is read, so that no change in between is missed. */
	watch->fd = open_socket();
	if (watch->fd < 0)
		log_warn_errno(
			watch->fd,
			"cannot listen to the kernel's uevents, CPUs that go offline or online are "
			"detected up to a second later: %m");
	r = cpu_list_online(&watch->online);
	if (r < 0)
		return r;
	*ret_watch = take_ptr(watch);
	return 0;
}

struct cpu_watch *cpu_watch_free(struct cpu_watch *watch)
{
	if (!watch)
		return NULL;
	scoped_close(&watch->fd);
	vec_release(&watch->online);
	free(watch);
	return NULL;
}

int cpu_watch_fd(const struct cpu_watch *watch)
{
	return watch->fd < 0 ? -1 : watch->fd;
}

const struct cpu_vec *cpu_watch_online(const struct cpu_watch *watch)
{
	return &watch->online;
}

/* The message is "ACTION@/devices/system/cpu/cpuN", then a NUL. */
enum cpu_uevent cpu_uevent_parse(const char *message, size_t size, uint32_t *ret_cpu)
{
	static const struct {
		enum cpu_uevent event;
		const char *head;
	} known[] = {
		{ CPU_UEVENT_ONLINE, "online@/devices/system/cpu/cpu" },
		{ CPU_UEVENT_OFFLINE, "offline@/devices/system/cpu/cpu" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		size_t head_size = strlen(known[i].head);
		char number[8];
		char *end;
		size_t length;

		if (size <= head_size || memcmp(message, known[i].head, head_size) != 0)
			continue;
		length = strnlen(message + head_size, size - head_size);
		if (length == 0 || length >= sizeof(number))
			return CPU_UEVENT_OTHER;
		memcpy(number, message + head_size, length);
		number[length] = '\0';
		if (number[0] < '0' || number[0] > '9')
			return CPU_UEVENT_OTHER;
		*ret_cpu = (uint32_t)strtoul(number, &end, 10);
		return *end == '\0' ? known[i].event : CPU_UEVENT_OTHER;
	}
	return CPU_UEVENT_OTHER;
}

/* Passes the CPUs that went offline to @function. Returns whether there was any event. */
static bool read_uevents(struct cpu_watch *watch, void (*function)(void *arg, uint32_t cpu),
			 void *arg)
{
	bool any = false;

	while (watch->fd >= 0) {
		struct sockaddr_nl from = {};
		socklen_t from_size = sizeof(from);
		char message[UEVENT_BYTES];
		enum cpu_uevent event;
		uint32_t cpu;
		ssize_t size = recvfrom(watch->fd, message, sizeof(message), 0,
					(struct sockaddr *)&from, &from_size);

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0 && errno == ENOBUFS) {
			/* A message was lost, so each CPU may have been offline. */
			for (size_t i = 0; i < watch->online.count; i++)
				function(arg, watch->online.items[i]);
			any = true;
			continue;
		}
		if (size < 0)
			break;
		event = from.nl_pid == 0 ? cpu_uevent_parse(message, (size_t)size, &cpu)
					 : CPU_UEVENT_OTHER;
		if (event == CPU_UEVENT_OFFLINE)
			function(arg, cpu);
		any = any || event != CPU_UEVENT_OTHER;
	}
	return any;
}

static bool same(const struct cpu_vec *a, const struct cpu_vec *b)
{
	return a->count == b->count &&
	       (a->count == 0 || memcmp(a->items, b->items, a->count * sizeof(*a->items)) == 0);
}

int cpu_watch_changed(struct cpu_watch *watch, bool look, void (*function)(void *arg, uint32_t cpu),
		      void *arg)
{
	scoped(scoped_release) struct cpu_vec online = {};
	bool announced = read_uevents(watch, function, arg);
	bool changed;
	struct cpu_vec before;
	int r;

	if (!announced && !look)
		return 0;
	r = cpu_list_online(&online);
	/*
	 * An empty list means that it could not be read, because at least one CPU runs this code.
	 */
	if (r < 0 || online.count == 0)
		return r;
	changed = announced || !same(&online, &watch->online);
	before = watch->online;
	watch->online = online;
	online = before;
	return changed;
}
