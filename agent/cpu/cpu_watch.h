/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Detects CPUs that go offline or online: by hotplug, the SMT switch, or suspend.
 *
 * The kernel announces each change on a netlink socket (kobject uevents). The socket may be
 * unavailable, and a message may be lost. Therefore the caller also requests a reading of the list
 * of online CPUs from time to time (@look). The list does not show that a CPU was offline between
 * two readings; announcements do. Used by the agent's main thread.
 */

#include "agent/cpu/cpu_list.h"

struct cpu_watch;

/*
 * If the socket is unavailable, this is logged and only the list is read. Returns 0 or a negative
 * errno.
 */
int cpu_watch_new(struct cpu_watch **ret_watch);
struct cpu_watch *cpu_watch_free(struct cpu_watch *watch);

/*
 * Readable when a CPU went offline or online; -1 if there is no socket. Add it to the caller's
 * epoll.
 */
int cpu_watch_fd(const struct cpu_watch *watch);

/*
 * Returns 1 if the set of online CPUs may have changed since the last call: an event was announced,
 * or the list differs. Else 0, or a negative errno. The list is read only if @look is true or an
 * event was announced. Calls @function for each CPU that was announced to go offline; if
 * announcements were lost, for all CPUs that were online.
 */
int cpu_watch_changed(struct cpu_watch *watch, bool look, void (*function)(void *arg, uint32_t cpu),
		      void *arg);

/* The online CPUs at the last reading of the list. */
const struct cpu_vec *cpu_watch_online(const struct cpu_watch *watch);

enum cpu_uevent {
	CPU_UEVENT_OTHER,
	CPU_UEVENT_ONLINE,
	CPU_UEVENT_OFFLINE,
};

/*
 * Parses a uevent of the kernel, such as "offline@/devices/system/cpu/cpu3". Sets *ret_cpu unless
 * the result is CPU_UEVENT_OTHER.
 */
enum cpu_uevent cpu_uevent_parse(const char *message, size_t size, uint32_t *ret_cpu);

#include "common/scoped.h"
DEFINE_SCOPED(struct cpu_watch *, cpu_watch_free);
