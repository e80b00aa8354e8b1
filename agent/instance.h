/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Allows one agent for each (host, server): with a second one, the server would count every sample
 * twice. The first agent binds an abstract UNIX socket with a name that is made from both. The
 * kernel frees the name when the agent exits or crashes. Agents in different network namespaces do
 * not detect each other.
 *
 * Any local user can bind such a name. A holder without the capabilities of an agent is therefore
 * ignored, so that an unprivileged program cannot prevent the agent from starting.
 */

#include <sys/socket.h>
#include <sys/un.h>

#include "common/base.h"

/*
 * Claims the name; the caller closes *@ret_fd at the end. 0: there is no other agent, or
 * @allow_second is set, or the name could not be claimed, which was logged; -EEXIST: there is
 * another agent (logged).
 */
int instance_claim(const char *server, const uint8_t agent_id[16], bool allow_second, int *ret_fd);

/* ---- parts, for tests ---- */

/* The name for @server and @agent_id. */
void instance_address(const char *server, const uint8_t agent_id[16],
		      struct sockaddr_un *ret_address, socklen_t *ret_size);

/*
 * 1: this process holds the name while *ret_fd is open; 0: another process holds it, *ret_holder
 * has its pid, or 0 if that is not known; or negative errno.
 */
int instance_bind(const struct sockaddr_un *address, socklen_t size, int *ret_fd,
		  struct ucred *ret_holder);

/* Whether the text of /proc/PID/status is that of a process that may load BPF programs. */
bool instance_status_is_privileged(const char *status);
