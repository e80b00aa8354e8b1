/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent that bound the name (the holder) listens and never accepts a connection. If bind() of a
 * second agent fails, this agent connects to the name, and reads the holder's pid and user with
 * SO_PEERCRED.
 */
#include "agent/instance.h"

#include <linux/capability.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/capabilities.h"
#include "common/file.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/scoped.h"

/* The holder accepts no connection, so later agents can connect only while this queue has room. */
#define BACKLOG 64

#define STATUS_MAX_BYTES ((size_t)(64 * KIB))

void instance_address(const char *server, const uint8_t agent_id[16],
		      struct sockaddr_un *ret_address, socklen_t *ret_size)
{
	struct bytes identity = BYTES_INIT(64 * KIB);
	char *name =
		ret_address->sun_path + 1; /* a path that begins with NUL is abstract: no file */
	struct hash128 hash;
	char text[2 * sizeof(hash.bytes) + 1];
	int length;

	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	(void)bytes_append(&identity, agent_id, 16);
	(void)bytes_append_text(&identity, server);
	hash = hash128_of(identity.data, identity.size);
	bytes_release(&identity);
	hex_encode(hash.bytes, sizeof(hash.bytes), text);
	length = snprintf(name, sizeof(ret_address->sun_path) - 1, "hearth-agent/%s", text);
	*ret_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int find_holder(const struct sockaddr_un *address, socklen_t size, struct ucred *ret_holder)
{
	scoped_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t holder_size = sizeof(*ret_holder);

	*ret_holder = (struct ucred){};
	if (fd < 0)
		return -errno;
	/*
	 * ECONNREFUSED: the holder has exited, or does not listen yet. EAGAIN: the queue is full.
	 */
	if (connect(fd, (const struct sockaddr *)address, size) < 0)
		return errno == ECONNREFUSED || errno == EAGAIN ? 0 : -errno;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_holder, &holder_size) < 0 ? -errno : 0;
}

int instance_bind(const struct sockaddr_un *address, socklen_t size, int *ret_fd,
		  struct ucred *ret_holder)
{
	scoped_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)address, size) < 0)
		return errno == EADDRINUSE ? find_holder(address, size, ret_holder) : -errno;
	if (listen(fd, BACKLOG) < 0)
		return -errno;
	*ret_fd = take_fd(fd);
	return 1;
}

bool instance_status_is_privileged(const char *status)
{
	const uint64_t wanted = CAPABILITY_BIT(CAP_BPF) | CAPABILITY_BIT(CAP_SYS_ADMIN);
	const char *line = strstr(status, "\nCapPrm:");

	return line && strtoull(line + strlen("\nCapPrm:"), NULL, 16) & wanted;
}

/* Also returns false if the process has exited. */
static bool is_privileged(pid_t pid)
{
	struct bytes text = BYTES_INIT(STATUS_MAX_BYTES);
	bool privileged = false;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (file_read(path, &text) == 0 && bytes_append_byte(&text, 0) == 0)
		privileged = instance_status_is_privileged((const char *)text.data);
	bytes_release(&text);
	return privileged;
}

static int judge_holder(const char *server, const struct ucred *holder, bool allow_second)
{
	if (holder->pid > 0 && !is_privileged(holder->pid)) {
		log_warn("process %d of user %u, which is no agent, holds the name by which agents "
			 "of this host detect each other: ignoring it, a second agent would not be "
			 "detected",
			 (int)holder->pid, (unsigned int)holder->uid);
		return 0;
	}
	if (allow_second) {
		log_warn("another agent (pid %d) sends to '%s' as this host: every sample counts "
			 "twice there",
			 (int)holder->pid, server);
		return 0;
	}
	log_error("another agent (pid %d) sends to '%s' as this host, every sample would count "
		  "twice: not starting; stop it, give this one another host.name, or set "
		  "allow_second_agent",
		  (int)holder->pid, server);
	return -EEXIST;
}

int instance_claim(const char *server, const uint8_t agent_id[16], bool allow_second, int *ret_fd)
{
	struct sockaddr_un address;
	struct ucred holder;
	socklen_t size;
	int r;

	instance_address(server, agent_id, &address, &size);
	r = instance_bind(&address, size, ret_fd, &holder);
	if (r < 0) {
		(void)log_warn_errno(
			r, "cannot look for another agent on this host, a second one would not be "
			   "detected: %m");
		return 0;
	}
	return r == 1 ? 0 : judge_holder(server, &holder, allow_second);
}
