/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who this host is: what the batches carry, and the agent's id.
 */

#include <sys/utsname.h>

#include "agent/config.h"
#include "agent/sample/window.h"
#include "common/vec.h"

VEC_DEFINE(text_vec, char *);
VEC_DEFINE(label_vec, struct window_label);

struct host_info {
	char *name; /* configured, or the system's */
	struct utsname system;
	char machine_id[64];
	char boot_id[64];
	struct text_vec ips;
	struct label_vec labels; /* texts owned */
	struct window_host host; /* borrows from the above */
	/* XXH3-128 of host name, machine-id and boot id: one id per boot of a host */
	uint8_t agent_id[16];
};

/*
 * Whether @path (/proc/self/ns/pid but in tests) is the PID namespace that the machine was started
 * with. The kernel side tells pids of that one: in any other, /proc would show other processes
 * under them. 1, 0, or negative errno.
 */
int host_info_sees_all_processes(const char *path);

/* Sets label @name of the host from now on; an empty @value removes it. 0 or -ENOMEM. */
int host_info_set_label(struct host_info *info, const char *name, const char *value);

/* -EINVAL with a log line when host.labels is not name=value. */
int host_info_init(struct host_info *info, const struct agent_config *config);
/* One more label of all profiles of this host. */
int host_info_add_label(struct host_info *info, const char *name, const char *value);
void host_info_release(struct host_info *info);
