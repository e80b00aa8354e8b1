/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The identity of this host in batches: name, IDs, addresses, labels; and the agent's ID. */

#include <sys/utsname.h>

#include "agent/config.h"
#include "agent/sample/window.h"
#include "common/vec.h"

VEC_DEFINE(text_vec, char *);
VEC_DEFINE(label_vec, struct window_label);

struct host_info {
	char *name; /* host.name, or the name that the system has */
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
 * Whether @path, which is /proc/self/ns/pid except in tests, is the PID namespace that the host was
 * started with. Samples have the process IDs of that namespace; in another one, /proc has other
 * processes under these IDs. 1, 0, or negative errno.
 */
int host_info_sees_all_processes(const char *path);

/* Logs failures. -EINVAL: host.labels is not name=value. */
int host_info_init(struct host_info *info, const struct agent_config *config);

/* Adds a label to all profiles of this host. 0 or -ENOMEM. */
int host_info_add_label(struct host_info *info, const char *name, const char *value);

/* Replaces label @name of the host; an empty @value removes it. 0 or -ENOMEM. */
int host_info_set_label(struct host_info *info, const char *name, const char *value);
void host_info_release(struct host_info *info);
