/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tells systemd how the service is doing (the protocol of sd_notify(3)): @state is e.g. "READY=1".
 * @socket_path is the value of NOTIFY_SOCKET; NULL or "" does nothing. 0 or a negative errno.
 */
int service_manager_notify(const char *socket_path, const char *state);
