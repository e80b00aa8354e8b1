/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One agent for each (host, server): a second one with the same host name and the same server would
 * have every sample counted twice. The first binds an abstract UNIX socket whose name is made from
 * both; the kernel frees the name when the agent ends, however it ends. Agents in different network
 * namespaces do not see each other's names.
 *
 * Any local user can bind such a name. A holder that has none of the capabilities of an agent is
 * therefore ignored, so that an unprivileged program cannot keep the agent from starting.
 */

#include <sys/socket.h>
#include <sys/un.h>

#include "common/base.h"

/*
 * To be closed at the end. -EEXIST: there is another agent, which was logged; never with
 * @allow_second.
 */
int instance_claim(const char *server, const uint8_t agent_id[16], bool allow_second, int *ret_fd);

/* ---- parts, for tests ---- */

/* The name for @server and @agent_id. */
void instance_address(const char *server, const uint8_t agent_id[16],
		      struct sockaddr_un *ret_address, socklen_t *ret_size);

/*
 * 1: the name is ours while *ret_fd is open. 0: somebody holds it, and *ret_holder says who; its
 * pid is 0 when the kernel did not say. Or negative errno.
 */
int instance_bind(const struct sockaddr_un *address, socklen_t size, int *ret_fd,
		  struct ucred *ret_holder);

/* Whether the text of /proc/PID/status is that of a process that may load BPF programs. */
bool instance_status_is_privileged(const char *status);
