/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reports the state of the service to systemd (protocol of sd_notify(3)). @state is for example
 * "READY=1". @socket_path is the value of NOTIFY_SOCKET; if it is NULL or "", nothing is sent.
 * Returns 0 or a negative errno.
 */
int service_manager_notify(const char *socket_path, const char *state);
